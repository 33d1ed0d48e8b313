#include "labels/search.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "third_party/doctest/doctest.h"

using namespace planaris;
using namespace planaris::labels;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A model with arrays of its own, as Part has them.
struct Model : Part {
  void add(std::vector<int32_t> scope, std::vector<double> energies) {
    scopes.insert(scopes.end(), scope.begin(), scope.end());
    scope_offsets.push_back(static_cast<int64_t>(scopes.size()));
    for (double energy : energies) log_values.push_back(-energy);
    table_offsets.push_back(static_cast<int64_t>(log_values.size()));
  }
};

double enumerate(const Model& model) {
  const FactorGraph graph(model.factors());
  std::vector<int32_t> state(model.cardinalities.size(), 0);
  double best = kInfinity;
  while (true) {
    best = std::min(best, graph.energy_of(state));
    size_t i = 0;
    while (i < state.size() && ++state[i] == model.cardinalities[i]) state[i++] = 0;
    if (i == state.size()) return best;
  }
}

Model random_model(uint32_t seed, int32_t variables, int count, int widest) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Model model;
  for (int32_t i = 0; i < variables; ++i) {
    model.cardinalities.push_back(1 + static_cast<int32_t>(random() % 4));
  }
  for (int f = 0; f < count; ++f) {
    std::vector<int32_t> scope(variables);
    for (int32_t i = 0; i < variables; ++i) scope[i] = i;
    std::shuffle(scope.begin(), scope.end(), random);
    scope.resize(1 + random() % widest);
    size_t size = 1;
    for (int32_t i : scope) size *= static_cast<size_t>(model.cardinalities[i]);
    std::vector<double> energies(size);
    for (double& energy : energies) {
      energy = seed % 3 == 0 ? std::round(normal(random)) : 3 * normal(random);
      if (seed % 4 == 0 && random() % 6 == 0) energy = kInfinity;
    }
    model.add(scope, energies);
  }
  return model;
}

}  // namespace

TEST_CASE("the least energy is that of enumeration") {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Model model = random_model(seed, 5, 9, seed % 2 ? 2 : 3);
    const double least = enumerate(model);
    Control control;
    SearchOptions options;
    options.tolerance = 1e-9;
    options.prove = seed % 5 == 0;
    Search search(model.factors(), options, control);
    CHECK(search.run(control) == Status::kFinished);
    if (least == kInfinity) {
      CHECK(search.lower() == kInfinity);
      continue;
    }
    CHECK(search.lower() <= least + 1e-12);
    CHECK(std::abs(search.upper() - least) < 1e-9);
    CHECK(search.upper() - search.lower() < 1e-8);
    const std::vector<int32_t> state(search.state().begin(),
                                     search.state().begin() + model.cardinalities.size());
    CHECK(std::abs(FactorGraph(model.factors()).energy_of(state) - least) < 1e-9);
  }
}

TEST_CASE("reductions solve a tree") {
  Model chain;
  for (int32_t i = 0; i < 50; ++i) chain.cardinalities.push_back(3);
  chain.add({0}, {0, 9, 9});
  chain.add({49}, {9, 9, 0});
  for (int32_t i = 0; i + 1 < 50; ++i) chain.add({i, i + 1}, {0, 1, 2, 1, 0, 1, 2, 1, 0});
  Control control;
  Problem problem(chain.factors(), control);
  CHECK(problem.reduce(2, nullptr, control));
  CHECK(problem.size() == 0);
  CHECK(std::abs(problem.base - 2) < 1e-12);
  const auto state = problem.lift({});
  CHECK(state[0] == 0);
  CHECK(state[49] == 2);
}

TEST_CASE("a bound is no more than any energy, with one label left of a variable, too") {
  for (uint32_t seed = 1; seed < 40; seed += 2) {
    const Model model = random_model(seed, 5, 8, 2);
    Control control;
    Problem problem(model.factors(), control);
    problem.sweep(5, control);
    const Evaluation found = problem.evaluate();
    CHECK(found.bound <= enumerate(model) + 1e-12);
    size_t at = 0;
    for (int32_t i = 0; i < problem.size(); ++i) {
      for (int32_t a = 0; a < problem.labels_of(i); ++a, ++at) {
        Model held = model;
        std::vector<double> only(problem.labels_of(i), kInfinity);
        only[a] = 0;
        held.add({i}, only);
        CHECK(found.bound + found.slack[at] <= enumerate(held) + 1e-9);
      }
    }
  }
}

TEST_CASE("a part given the rest has the energies of the model, up to a constant") {
  const Model model = random_model(7, 6, 10, 3);
  const FactorGraph graph(model.factors());
  std::vector<int32_t> state(6, 0);
  const std::vector<int32_t> inside{1, 3, 4};
  const Part part = graph.condition(inside, state);
  const FactorGraph inner(part.factors());
  const double shift = graph.energy_of(state) - inner.energy_of(std::vector<int32_t>(3, 0));
  for (size_t k = 0; k < inside.size(); ++k) {
    std::vector<int32_t> labels(3, 0), all(state);
    labels[k] = all[inside[k]] = model.cardinalities[inside[k]] - 1;
    CHECK(std::abs(graph.energy_of(all) - inner.energy_of(labels) - shift) < 1e-12);
  }
}

TEST_CASE("a packed problem is the same problem") {
  Control control;
  int tried = 0;
  for (uint32_t seed = 1; seed < 60; seed += 2) {
    const Model model = random_model(seed, 24, 240, 2);
    Problem problem(model.factors(), control);
    problem.sweep(2, control);
    if (!problem.reduce(2, nullptr, control) || problem.size() == 0) continue;
    ++tried;
    const PackedProblem packed = problem.pack();
    CHECK(packed.bytes() < problem.bytes());
    Problem again(packed);
    for (size_t e = 0; e < problem.edges.size(); ++e) {
      CHECK(again.edges[e].error == problem.edges[e].error);
      CHECK(again.edges[e].turned == problem.edges[e].turned);
    }
    for (Problem* each : {&problem, &again}) {
      each->restrict_to(0, 0, seed % 4 == 1);
      each->sweep(3, control);
      each->reduce(2, nullptr, control);
    }
    CHECK(again.evaluate().bound == problem.evaluate().bound);
    CHECK(again.evaluate().slack == problem.evaluate().slack);
    CHECK(again.variable == problem.variable);
    CHECK(again.label == problem.label);
    CHECK(again.lift(again.decode()) == problem.lift(problem.decode()));
    CHECK(again.work == problem.work);
  }
  CHECK(tried >= 10);
}
