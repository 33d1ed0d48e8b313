#include "lanes/lane_program.hpp"

#include <map>
#include <numeric>
#include <span>
#include <utility>

namespace planaris {

namespace {

// Rows of fronts that are written out; in larger ones few products are zero.
constexpr int32_t kSmallLeaf = 24, kSmallFront = 12;

bool is_small(const FrontTree& tree, int32_t node) {
  return tree.rows(node) <= (tree.is_leaf(node) ? kSmallLeaf : kSmallFront);
}

std::vector<uint8_t> alternating_sides(const FrontTree& tree) {
  std::vector<uint8_t> side(tree.num_nodes(), 0);
  for (int32_t node = tree.num_nodes() - 1; node >= 0; --node) {
    if (tree.parent[node] >= 0) side[node] = 1 - side[tree.parent[node]];
  }
  return side;
}

std::span<const int32_t> places(const FrontTree& tree, int32_t child) {
  return std::span(tree.place).subspan(tree.boundary[child], tree.boundary_rows(child));
}

// Fronts with the same key have the same program.
std::vector<int32_t> front_key(const FrontTree& tree, int32_t node) {
  std::vector<int32_t> key{tree.own_rows(node), tree.is_leaf(node)};
  if (tree.is_leaf(node)) {
    const int64_t first = tree.face_begin[tree.leaf_faces[node]];
    for (int32_t f = tree.leaf_faces[node]; f < tree.leaf_faces[node + 1]; ++f) {
      key.push_back(static_cast<int32_t>(tree.face_begin[f + 1] - first));
    }
    const auto rows = std::span(tree.face_rows).subspan(first, tree.rows(node));
    key.insert(key.end(), rows.begin(), rows.end());
  } else {
    key.push_back(tree.boundary_rows(tree.left[node]));
    for (const int32_t child : {tree.left[node], tree.right[node]}) {
      const auto rows = places(tree, child);
      key.insert(key.end(), rows.begin(), rows.end());
    }
  }
  return key;
}

uint32_t packed(int32_t low, int32_t high) {
  return static_cast<uint32_t>(low) | static_cast<uint32_t>(high) << 16;
}

// Writes the program of one front.
class FrontWriter {
 public:
  FrontWriter(const FrontTree& tree, int32_t node)
      : n_(tree.rows(node)), own_(tree.own_rows(node)), entries_(size_t(n_) * n_) {
    if (tree.is_leaf(node)) {
      start_leaf(tree, node);
    } else {
      start_inner(tree, node);
    }
  }

  FrontProgram write() {
    for (int32_t k = 0; k < own_; k += 2) {
      Entry& pivot = entry(k + 1, k);
      program_.pivots.push_back(pivot.start);
      pivot.start = FrontProgram::start(FrontProgram::kFront, place(k + 1, k));
    }
    for (int32_t k = 0; k < own_; k += 2) eliminate(k);
    Runs rest;
    for (int32_t j = own_; j < n_; ++j) {
      for (int32_t i = j + 1; i < n_; ++i) add(rest, i, j);
    }
    append(rest);
    return std::move(program_);
  }

 private:
  struct Entry {
    uint32_t start = FrontProgram::start(FrontProgram::kZero, 0);
    std::vector<uint32_t> terms;

    bool is_zero() const { return start >> 28 == FrontProgram::kZero && terms.empty(); }
  };
  // Entries with as many terms.
  using Runs = std::map<size_t, std::vector<std::pair<int32_t, int32_t>>>;

  Entry& entry(int32_t i, int32_t j) { return entries_[size_t(j) * n_ + i]; }
  int32_t place(int32_t i, int32_t j) const {
    const int32_t b = n_ - own_;
    return j < own_ ? b * (b + 1) + j * n_ + i : (j - own_) * (b + 1) + i - own_;
  }

  void start_leaf(const FrontTree& tree, int32_t node) {
    const int64_t first = tree.face_begin[tree.leaf_faces[node]];
    for (int32_t f = tree.leaf_faces[node]; f < tree.leaf_faces[node + 1]; ++f) {
      for (int64_t i = tree.face_begin[f]; i < tree.face_begin[f + 1]; ++i) {
        for (int64_t j = i + 1; j < tree.face_begin[f + 1]; ++j) {
          const int32_t row = tree.face_rows[i], other = tree.face_rows[j];
          const int32_t to = place(std::max(row, other), std::min(row, other));
          entry(std::max(row, other), std::min(row, other)).start =
              FrontProgram::start(FrontProgram::kFront, to);
          (row > other ? program_.products : program_.negative)
              .push_back({to, static_cast<int32_t>(i - first), static_cast<int32_t>(j - first)});
        }
      }
    }
  }

  void start_inner(const FrontTree& tree, int32_t node) {
    uint32_t from = 0;
    for (const int32_t child : {tree.left[node], tree.right[node]}) {
      const auto rows = places(tree, child);
      const auto count = static_cast<uint32_t>(rows.size());
      for (uint32_t j = 0; j < count; ++j) {
        for (uint32_t i = j + 1; i < count; ++i) {
          entry(rows[i], rows[j]).start =
              FrontProgram::start(FrontProgram::kChild, from + j * (count + 1) + i);
        }
      }
      from += count * (count + 1);
    }
  }

  void eliminate(int32_t k) {
    Runs columns;
    add(columns, k + 1, k);
    std::vector<int32_t> in_u, in_v;
    for (int32_t i = k + 2; i < n_; ++i) {
      for (const int32_t column : {k, k + 1}) {
        auto& rows = column == k ? in_u : in_v;
        if (entry(i, column).is_zero()) {
          program_.zeros.push_back((column == k ? k + 1 : k) * n_ + i);
        } else {
          rows.push_back(i);
          add(columns, i, column);
        }
      }
    }
    append(columns);
    const auto runs = static_cast<int32_t>(program_.runs.size());
    const int32_t turned = n_ * own_;  // from here on, the same with the other sign
    for (const int32_t i : in_u) program_.scalings.push_back({place(i, k), (k + 1) * n_ + i});
    const auto of_u = static_cast<int32_t>(program_.scalings.size());
    for (const int32_t i : in_v) program_.scalings.push_back({place(i, k + 1), k * n_ + i});
    program_.pairs.push_back({runs, of_u, static_cast<int32_t>(program_.scalings.size())});
    // Entry (i, j) gets -(u(i) / d) v(j) and then v(i) (u(j) / d).
    for (const int32_t j : in_v) {
      for (const int32_t i : in_u) {
        if (i > j) entry(i, j).terms.push_back(packed(place(j, k + 1), turned + (k + 1) * n_ + i));
      }
    }
    for (const int32_t j : in_u) {
      for (const int32_t i : in_v) {
        if (i > j) entry(i, j).terms.push_back(packed(place(i, k + 1), (k + 1) * n_ + j));
      }
    }
  }

  void add(Runs& runs, int32_t i, int32_t j) { runs[entry(i, j).terms.size()].emplace_back(i, j); }

  void append(const Runs& runs) {
    for (const auto& [terms, entries] : runs) {
      program_.runs.push_back({static_cast<int32_t>(entries.size()), static_cast<int32_t>(terms)});
      for (const auto& [i, j] : entries) {
        const Entry& e = entry(i, j);
        program_.code.push_back(static_cast<uint32_t>(place(i, j)));
        program_.code.push_back(e.start);
        program_.code.insert(program_.code.end(), e.terms.begin(), e.terms.end());
      }
    }
  }

  int32_t n_, own_;
  std::vector<Entry> entries_;
  FrontProgram program_;
};

}  // namespace

LaneSizes lane_sizes(const FrontTree& tree) {
  LaneSizes sizes;
  const std::vector<uint8_t> side = alternating_sides(tree);
  int64_t numbers[2] = {0, 0}, columns[2] = {0, 0};
  const auto push = [&](int32_t node, int64_t sign) {
    const int64_t b = tree.boundary_rows(node);
    numbers[side[node]] += sign * b * b;
    columns[side[node]] += sign * b;
  };
  for (int32_t node = 0; node < tree.num_nodes(); ++node) {
    const int64_t n = tree.rows(node), own = tree.own_rows(node);
    const int at = side[node];
    sizes.rows = std::max(sizes.rows, n);
    sizes.factors += n * own;
    sizes.own = std::max(sizes.own, is_small(tree, node) ? 2 * n * own : (n + 6) * own);
    if (tree.is_leaf(node)) sizes.leaf = std::max(sizes.leaf, n * (n + 1));
    push(node, 1);
    sizes.up[at] = std::max(sizes.up[at], numbers[at] + n * own);
    sizes.up_columns[at] = std::max(sizes.up_columns[at], columns[at] + own);
    if (tree.is_leaf(node)) continue;
    push(tree.left[node], -1);
    push(tree.right[node], -1);
  }
  int64_t down = 0;
  const auto waiting = [&](int32_t left) {
    return int64_t(tree.boundary_rows(left)) * tree.boundary_rows(left);
  };
  for (int32_t node = tree.num_nodes() - 1; node >= 0; --node) {
    if (tree.parent[node] >= 0 && tree.parent[node] != node + 1) down -= waiting(node);
    if (!tree.is_leaf(node)) down += waiting(tree.left[node]);
    sizes.down = std::max(sizes.down, down);
  }
  return sizes;
}

size_t lane_bytes(const LaneSizes& sizes, size_t edges, size_t vertices, bool marginals) {
  const int64_t numbers = sizes.scratch(marginals) + (marginals ? sizes.factors : 0);
  return 64 * (size_t(numbers) + (marginals ? 19 : 13) * edges + 3 * vertices);
}

LaneProgram::LaneProgram(const FrontTree& tree)
    : sizes(lane_sizes(tree)), side(alternating_sides(tree)), front_of(tree.num_nodes(), -1) {
  std::map<std::vector<int32_t>, int32_t> known;
  for (int32_t node = 0; node < tree.num_nodes(); ++node) {
    if (!is_small(tree, node)) continue;
    const auto [at, fresh] = known.try_emplace(front_key(tree, node), std::ssize(fronts));
    front_of[node] = at->second;
    if (fresh) fronts.push_back(FrontWriter(tree, node).write());
  }
  int64_t count = 0;
  for (int32_t node = 0; node < tree.num_nodes(); ++node) {
    rows.push_back(count);
    count += tree.rows(node);
  }
  child.assign(count, 0);
  place.resize(2 * count);
  for (int32_t node = 0; node < tree.num_nodes(); ++node) {
    const int32_t n = tree.rows(node);
    int32_t* of_row = place.data() + 2 * rows[node];
    if (tree.is_leaf(node)) {
      std::iota(of_row, of_row + n, 0);
      continue;
    }
    for (const uint8_t which : {0, 1}) {
      const int32_t from = which == 0 ? tree.left[node] : tree.right[node];
      std::fill(of_row + which * n, of_row + (which + 1) * n, tree.boundary_rows(from));
      const int32_t* to = tree.place.data() + tree.boundary[from];
      for (int32_t i = 0; i < tree.boundary_rows(from); ++i) {
        of_row[which * n + to[i]] = i;
        child[rows[node] + to[i]] = which;
      }
    }
  }
}

}  // namespace planaris
