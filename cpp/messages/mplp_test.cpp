#include "messages/mplp.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/check.hpp"
#include "polytope/wheel_separation.hpp"

using namespace planaris;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

static void a_chain_is_solved_exactly() {
  // min over x of sum f_i + sum |x_i - x_{i+1}|, pulled to 0 at one end and to 2 at the other.
  const std::vector<double> nodes{0, 5, 5, 0, 0, 0, 5, 5, 0};
  const std::vector<int32_t> edges{0, 1, 1, 2};
  std::vector<double> tables;
  for (int e = 0; e < 2; ++e) {
    for (int a = 0; a < 3; ++a) {
      for (int b = 0; b < 3; ++b) tables.push_back(std::abs(a - b));
    }
  }
  MessagePassing passing({3, 3, 3}, nodes, edges, tables);
  Control control;
  CHECK(std::abs(passing.run(20, 1e-12, control) - 2) < 1e-9);
  CHECK(passing.safe_bound() <= 2 && passing.safe_bound() > 2 - 1e-9);
  auto state = passing.decode();
  passing.improve(state, control);
  CHECK(state[0] == 0 && state[2] == 2);
}

static void a_frustrated_triangle_needs_its_triplet() {
  const std::vector<int32_t> edges{0, 1, 0, 2, 1, 2};
  const std::vector<double> differ{1, 0, 0, 1}, nodes(6, 0.0);
  std::vector<double> tables;
  for (int e = 0; e < 3; ++e) tables.insert(tables.end(), differ.begin(), differ.end());
  MessagePassing passing({2, 2, 2}, nodes, edges, tables);
  Control control;
  CHECK(passing.run(50, 0, control) < 1e-9);
  CHECK(passing.add_triplet(2, 0, 1));
  CHECK(!passing.add_triplet(0, 1, 2));
  passing.run(50, 1e-12, control);
  CHECK(passing.safe_bound() > 1 - 1e-6 && passing.safe_bound() <= 1);
}

static void hard_constraints_remove_labels_and_states() {
  const std::vector<int32_t> edges{0, 1};
  const std::vector<double> nodes{0, 0, 1, 0}, only_equal{0, kInfinity, kInfinity, 0};
  MessagePassing passing({2, 2}, nodes, edges, only_equal);
  Control control;
  passing.run(10, 1e-12, control);
  CHECK(passing.decode() == (std::vector<int32_t>{1, 1}));
  passing.set_alive(std::vector<uint8_t>{1, 0, 1, 1});
  passing.run(10, 1e-12, control);
  CHECK(passing.alive()[3] == 0);
  CHECK(passing.safe_bound() > 1 - 1e-9 && passing.safe_bound() <= 1);
  passing.set_alive(std::vector<uint8_t>{1, 0, 0, 1});
  CHECK(passing.run(10, 1e-12, control) == kInfinity);
  CHECK(passing.safe_bound() == kInfinity);
}

static void broken_arrays_are_refused() {
  bool refused = false;
  try {
    MessagePassing({2, 2}, std::vector<double>(4), std::vector<int32_t>{1, 0},
                   std::vector<double>(4));
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
}

static void five_spins_make_one_wheel() {
  std::vector<int32_t> edges;
  for (int32_t u = 0; u < 5; ++u) {
    for (int32_t v = u + 1; v < 5; ++v) {
      edges.push_back(u);
      edges.push_back(v);
    }
  }
  Control control;
  const auto cuts = separate_wheels(5, edges, std::vector<double>(10, 2.0 / 3), 1e-6, 100, control);
  CHECK(cuts.rim.size() == 1 && cuts.rim[0] == 3 && cuts.edges.size() == 10);
  CHECK(std::abs(cuts.violation[0] - 2.0 / 3) < 1e-6);
}

int main() {
  a_chain_is_solved_exactly();
  a_frustrated_triangle_needs_its_triplet();
  hard_constraints_remove_labels_and_states();
  broken_arrays_are_refused();
  five_spins_make_one_wheel();
}
