#include "tensor/program.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/grouping.hpp"

namespace planaris::tensor {

namespace {

struct Neighbour {
  int32_t vertex;
  int64_t edge;
};

class Compiler {
 public:
  // `restore`: a variable that was brought next to another goes back to its place.
  Compiler(const NetworkView& network, std::span<const int32_t> order,
           std::span<const double> heights, bool restore)
      : order_(order), heights_(heights), restore_(restore) {
    const int32_t n = network.num_variables();
    auto [begins, leaving] = group_by_key<int64_t>(n, network.edges);
    offsets_ = std::move(begins);
    for (const int32_t h : leaving) neighbours_.push_back({network.edges[h ^ 1], h / 2});
    left_.resize(n);
    for (int32_t v = 0; v < n; ++v) left_[v] = static_cast<int32_t>(offsets_[v + 1] - offsets_[v]);
    place_.assign(n, -1);
  }

  Program run(Control& control) {
    for (const int32_t v : order_) {
      const size_t before = program_.steps.size();
      enter(v);
      control.spend(static_cast<int64_t>(16 * (program_.steps.size() - before) + line_.size()));
    }
    return std::move(program_);
  }

 private:
  using Kind = Step::Kind;

  void enter(int32_t v) {
    std::vector<Neighbour> known;
    for (int64_t k = offsets_[v]; k < offsets_[v + 1]; ++k) {
      if (place_[neighbours_[k].vertex] >= 0) known.push_back(neighbours_[k]);
    }
    std::sort(known.begin(), known.end(), [&](const Neighbour& a, const Neighbour& b) {
      return place_[a.vertex] < place_[b.vertex];
    });
    int anchor = anchor_of(known);
    if (anchor >= 0 && left_[known[anchor].vertex] == 1) {
      const int32_t u = known[anchor].vertex, at = place_[u];
      emit({Kind::kTransfer, false, at, u, v, known[anchor].edge});
      line_[at] = v;
      place_[v] = at;
      place_[u] = -1;
      --left_[u];
      --left_[v];
    } else if (anchor >= 0) {
      const int32_t at =
          place_[known[anchor].vertex] + (heights_[v] < heights_[known[anchor].vertex] ? 0 : 1);
      insert(v, at);
      meet(v, known[anchor]);
    } else {
      int32_t at = 0;
      while (at < static_cast<int32_t>(line_.size()) && heights_[line_[at]] <= heights_[v]) ++at;
      insert(v, at);
    }
    if (anchor >= 0) known.erase(known.begin() + anchor);
    std::sort(known.begin(), known.end(), [&](const Neighbour& a, const Neighbour& b) {
      const int da = std::abs(place_[a.vertex] - place_[v]);
      const int db = std::abs(place_[b.vertex] - place_[v]);
      return da != db ? da < db : a.edge < b.edge;
    });
    std::vector<int32_t> swaps;
    for (const Neighbour& u : known) {
      swaps.clear();
      bring(u.vertex, v, swaps);
      meet(v, u);
      for (; restore_ && place_[u.vertex] >= 0 && !swaps.empty(); swaps.pop_back()) {
        swap(swaps.back());
      }
    }
    if (left_[v] == 0) eliminate(v);
  }

  // Of the neighbours on the line: the middle one of those that end here, else the middle one.
  int anchor_of(const std::vector<Neighbour>& known) const {
    std::vector<int> ending;
    for (size_t k = 0; k < known.size(); ++k) {
      if (left_[known[k].vertex] == 1) ending.push_back(static_cast<int>(k));
    }
    if (!ending.empty()) return ending[ending.size() / 2];
    return known.empty() ? -1 : static_cast<int>(known.size() / 2);
  }

  void insert(int32_t v, int32_t at) {
    emit({Kind::kInsert, false, at, v, -1, -1});
    line_.insert(line_.begin() + at, v);
    renumber(at);
    program_.width = std::max(program_.width, static_cast<int32_t>(line_.size()));
  }

  void eliminate(int32_t u) {
    const int32_t at = place_[u];
    emit({Kind::kEliminate, false, at, u, -1, -1});
    line_.erase(line_.begin() + at);
    place_[u] = -1;
    renumber(at);
  }

  // The table of two variables that stand next to each other.
  void meet(int32_t v, const Neighbour& u) {
    const int32_t at = std::min(place_[v], place_[u.vertex]);
    emit({Kind::kPair, false, at, line_[at], line_[at + 1], u.edge});
    --left_[v];
    if (--left_[u.vertex] == 0) eliminate(u.vertex);
  }

  void bring(int32_t u, int32_t v, std::vector<int32_t>& swaps) {
    while (std::abs(place_[u] - place_[v]) > 1) {
      const int32_t at = place_[u] < place_[v] ? place_[u] : place_[u] - 1;
      swap(at);
      swaps.push_back(at);
    }
  }

  void swap(int32_t at) {
    emit({Kind::kPair, true, at, line_[at], line_[at + 1], -1});
    std::swap(line_[at], line_[at + 1]);
    place_[line_[at]] = at;
    place_[line_[at + 1]] = at + 1;
  }

  void renumber(int32_t from) {
    for (size_t k = from; k < line_.size(); ++k) place_[line_[k]] = static_cast<int32_t>(k);
  }

  void emit(Step step) { program_.steps.push_back(step); }

  std::span<const int32_t> order_;
  std::span<const double> heights_;
  bool restore_;
  std::vector<int64_t> offsets_;
  std::vector<Neighbour> neighbours_;
  std::vector<int32_t> left_;   // edges not seen yet
  std::vector<int32_t> place_;  // on the line, -1: not there
  std::vector<int32_t> line_;
  Program program_;
};

int64_t num_pairs(const Program& program) {
  return std::count_if(program.steps.begin(), program.steps.end(),
                       [](const Step& step) { return step.kind == Step::Kind::kPair; });
}

// Where the centre should be after a step, for the one that comes after it.
Side centre_after(const Program& program, int64_t at, Direction direction) {
  const int64_t next = direction == Direction::kForward ? at + 1 : at - 1;
  if (next < 0 || next >= static_cast<int64_t>(program.steps.size())) return Side::kLeft;
  return program.steps[next].place > program.steps[at].place ? Side::kRight : Side::kLeft;
}

}  // namespace

Program compile(const NetworkView& network, std::span<const int32_t> order,
                std::span<const double> heights, Control& control) {
  Program drifting = Compiler(network, order, heights, false).run(control);
  const int64_t pairs = num_pairs(drifting);
  const bool swaps = std::any_of(drifting.steps.begin(), drifting.steps.end(),
                                 [](const Step& step) { return step.swap; });
  if (!swaps) return drifting;
  Program kept = Compiler(network, order, heights, true).run(control);
  return num_pairs(kept) < pairs ? kept : drifting;
}

template <class T>
void apply(ChainOf<T>& chain, const NetworkView& network, const Program& program, int64_t at,
           Direction direction) {
  using Kind = Step::Kind;
  const Step& step = program.steps[at];
  const bool forward = direction == Direction::kForward;
  const int labels = network.cardinalities[step.first];
  if (step.kind == Kind::kPair) {
    const bool turned = !forward && step.swap;
    chain.pair(step.place, network.table(step.edge, turned ? step.second : step.first), step.swap,
               centre_after(program, at, direction));
  } else if (step.kind == Kind::kTransfer && forward) {
    chain.transfer(step.place, {}, network.table(step.edge, step.first),
                   network.cardinalities[step.second], network.node(step.second));
  } else if (step.kind == Kind::kTransfer) {
    chain.transfer(step.place, network.node(step.second), network.table(step.edge, step.second),
                   labels, {});
  } else if ((step.kind == Kind::kInsert) == forward) {
    const std::vector<double> zeros(forward ? 0 : labels, 0.0);
    chain.insert(step.place, forward ? network.node(step.first) : std::span<const double>(zeros));
  } else {
    chain.sum_out(step.place, forward ? std::span<const double>() : network.node(step.first));
  }
}

template void apply(ChainOf<double>&, const NetworkView&, const Program&, int64_t, Direction);
template void apply(ChainOf<Pair>&, const NetworkView&, const Program&, int64_t, Direction);
template void apply(ChainOf<Quad>&, const NetworkView&, const Program&, int64_t, Direction);

}  // namespace planaris::tensor
