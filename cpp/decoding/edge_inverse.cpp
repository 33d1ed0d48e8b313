#include "decoding/edge_inverse.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/double_double.hpp"
#include "base/team.hpp"
#include "decoding/wide_inverse.hpp"
#include "fronts/front_tree.hpp"
#include "pfaffian/pfaffian.hpp"

namespace planaris {

namespace {

constexpr int32_t kLeafFaces = 4;
constexpr int kLanes = 16;  // columns that are solved for at once: the two of eight edges

// Solves K z = r along the fronts of an elimination that refused no row.
template <class T>
class FrontSolver {
 public:
  FrontSolver(const Faces& faces, const FrontTree& tree, const Factors<T>& factors,
              std::span<const T> root, std::span<const int8_t> sign)
      : faces_(faces), tree_(tree), factors_(factors), root_(root), sign_(sign) {
    const size_t legs = root.size();
    place_in_face_.resize(legs);
    for (size_t k = 0; k < faces.walk.size(); ++k) place_in_face_[faces.walk[k]] = int32_t(k);
    node_of_.resize(legs / 2);
    for (int32_t node = 0; node < tree.num_nodes(); ++node) {
      for (int32_t k = tree.own[node]; k < tree.own[node + 1]; ++k) {
        node_of_[tree.edge_order[k]] = node;
      }
    }
  }

  int32_t node_of(int32_t edge) const { return node_of_[edge]; }

  struct Work {
    std::vector<T> z;           // legs × kLanes
    std::vector<int32_t> legs;  // of the front's rows
  };

  // Adds -F J⁻¹ e_leg to lane `lane`; returns the first node that it touches.
  int32_t add_column(Work& w, int32_t leg, int lane) const {
    const int32_t twin = leg ^ 1, face = faces_.face_of[twin], at = place_in_face_[twin];
    // J⁻¹ e_2e = sign e_2e+1, J⁻¹ e_2e+1 = -sign e_2e.
    const int factor = (leg & 1) == 0 ? -sign_[leg >> 1] : sign_[leg >> 1];
    int32_t first = tree_.num_nodes();
    for (int32_t k = faces_.offsets[face]; k < faces_.offsets[face + 1]; ++k) {
      if (k == at) continue;
      const int32_t other = faces_.walk[k];
      const T value = root_[other] * root_[twin];
      w.z[size_t(other) * kLanes + lane] += (k < at) == (factor > 0) ? value : -value;
      first = std::min(first, node_of_[other >> 1]);
    }
    return first;
  }

  // Forwards from node `first`, backwards down to node `last`.
  void solve(Work& w, int32_t first, int32_t last) const {
    for (int32_t node = first; node < tree_.num_nodes(); ++node) forward(w, node);
    for (int32_t node = tree_.num_nodes() - 1; node >= last; --node) backward(w, node);
  }

 private:
  const FrontFactor<T>& open(Work& w, int32_t node) const {
    const FrontFactor<T>& f = factors_[node];
    w.legs.resize(f.rows);
    for (int32_t row = 0; row < f.rows; ++row) {
      const int32_t leg = row < f.eliminated
                              ? 2 * tree_.edge_order[tree_.own[node] + row / 2] + (row & 1)
                              : tree_.boundary_legs[tree_.boundary[node] + row - f.eliminated];
      w.legs[f.place[row]] = leg;
    }
    return f;
  }

  void forward(Work& w, int32_t node) const {
    const FrontFactor<T>& f = open(w, node);
    T pair[2 * kLanes];
    for (int32_t k = 0; k < f.eliminated; k += 2) {
      const T *y0 = &w.z[size_t(w.legs[k]) * kLanes], *y1 = &w.z[size_t(w.legs[k + 1]) * kLanes];
      bool zero = true;
      for (int l = 0; l < kLanes; ++l) {
        pair[l] = y0[l];
        pair[kLanes + l] = y1[l];
        zero = zero && is_zero(y0[l]) && is_zero(y1[l]);
      }
      if (zero) continue;
      const T *l0 = &f.lower[size_t(k) * f.rows], *l1 = l0 + f.rows;
      for (int32_t i = k + 2; i < f.rows; ++i) {
        const T a = l0[i], b = l1[i];
        T* to = &w.z[size_t(w.legs[i]) * kLanes];
        for (int l = 0; l < kLanes; ++l) to[l] += -(a * pair[l] + b * pair[kLanes + l]);
      }
    }
  }

  void backward(Work& w, int32_t node) const {
    const FrontFactor<T>& f = open(w, node);
    for (int32_t k = f.eliminated - 2; k >= 0; k -= 2) {
      const T *l0 = &f.lower[size_t(k) * f.rows], *l1 = l0 + f.rows;
      const T inverse = T(1.0) / l0[k + 1];
      T *z0 = &w.z[size_t(w.legs[k]) * kLanes], *z1 = &w.z[size_t(w.legs[k + 1]) * kLanes];
      T s0[kLanes], s1[kLanes];
      for (int l = 0; l < kLanes; ++l) {
        s0[l] = -(z1[l] * inverse);
        s1[l] = z0[l] * inverse;
      }
      for (int32_t i = k + 2; i < f.rows; ++i) {
        const T a = l0[i], b = l1[i];
        const T* from = &w.z[size_t(w.legs[i]) * kLanes];
        for (int l = 0; l < kLanes; ++l) {
          s0[l] += -(a * from[l]);
          s1[l] += -(b * from[l]);
        }
      }
      for (int l = 0; l < kLanes; ++l) {
        z0[l] = s0[l];
        z1[l] = s1[l];
      }
    }
  }

  const Faces& faces_;
  const FrontTree& tree_;
  const Factors<T>& factors_;
  std::span<const T> root_;
  std::span<const int8_t> sign_;
  std::vector<int32_t> place_in_face_, node_of_;
};

// Fills a result of numbers T: its diagonal, its blocks, the logarithm of the Pfaffian.
template <class T, class Result>
void fill_inverse(const RotationView& rotation, std::span<const double> log_odds, int threads,
                  Control& control, Result& result) {
  const auto m = static_cast<int32_t>(log_odds.size());
  const int32_t legs = rotation.num_half_edges(), pieces = legs / 2;
  if (m > pieces) throw std::invalid_argument("log_odds must hold at most one number per edge");
  result.num_edges = m;
  result.diagonal.assign(m, T(0.0));
  result.blocks.assign(size_t(m) * size_t(m > 0 ? m - 1 : 0) * 2, T(0.0));
  if (pieces == 0) return;

  const Faces faces = trace_faces(rotation);
  const FrontTree tree = dissect_faces(faces, {}, kLeafFaces, control);
  const std::vector<int8_t> sign = kasteleyn_signs(rotation, faces);
  std::vector<double> face(legs, 0.0), join(legs, 0.0);
  std::vector<T> root(legs, T(1.0));
  for (int32_t leg = 0; leg < 2 * m; ++leg) {
    if (!(log_odds[leg >> 1] <= 0.0)) throw std::invalid_argument("log_odds must not be positive");
    face[leg] = log_odds[leg >> 1] / 2;
    root[leg] = exponential<T>(face[leg]);
  }
  // No odds exceed one: every edge may be eliminated by its own join, in the order of the tree.
  const std::vector<int32_t> at_once(pieces, 0);
  Factors<T> factors;
  const LogPfaffian found =
      eliminate<T>(tree, {face, join, sign, at_once, at_once}, {0.1, threads}, control, &factors);
  result.log_pfaffian = found.log_magnitude;
  const FrontSolver<T> solver(faces, tree, factors, root, sign);

  std::vector<int32_t> order(m);  // as eliminated, so that lanes share their way up the tree
  for (int32_t e = 0, k = 0; e < pieces; ++e) {
    if (tree.edge_order[e] < m) order[k++] = tree.edge_order[e];
  }
  constexpr int32_t kEdges = kLanes / 2;
  const int32_t chunks = (m + kEdges - 1) / kEdges;
  Team team(std::min(threads, std::max(chunks, 1)), control);
  std::vector<typename FrontSolver<T>::Work> work(team.threads());
  team.work(size_t(chunks), [&](int worker, int chunk) {
    team.check(worker, double(chunk) / chunks);
    auto& w = work[worker];
    w.z.assign(size_t(legs) * kLanes, T(0.0));
    const int32_t begin = chunk * kEdges, end = std::min(m, begin + kEdges);
    int32_t first = tree.num_nodes();
    for (int32_t k = begin; k < end; ++k) {
      for (int side = 0; side < 2; ++side) {
        const int32_t touched = solver.add_column(w, 2 * order[k] + side, 2 * (k - begin) + side);
        first = std::min(first, touched);
      }
    }
    solver.solve(w, first, solver.node_of(order[begin]));
    for (int32_t k = begin; k < end; ++k) {
      const int32_t e = order[k];
      const T* column = &w.z[2 * (k - begin)];
      const auto z = [&](int32_t leg, int side) -> const T& {
        return column[size_t(leg) * kLanes + side];
      };
      result.diagonal[e] = sign[e] > 0 ? z(2 * e, 1) : -z(2 * e, 1);
      for (int32_t j = k + 1; j < m; ++j) {
        const int32_t f = order[j];
        T* to = &result.blocks[4 * result.place(std::min(e, f), std::max(e, f))];
        for (int b = 0; b < 2; ++b) {
          for (int a = 0; a < 2; ++a) {
            const bool turned = ((a && sign[e] < 0) != (b && sign[f] < 0)) != (e < f);
            to[e < f ? 2 * a + b : 2 * b + a] = turned ? -z(2 * f + b, a) : z(2 * f + b, a);
          }
        }
      }
    }
  });
}

}  // namespace

EdgeInverse edge_inverse(const RotationView& rotation, std::span<const double> log_odds,
                         int threads, Control& control) {
  EdgeInverse result;
  fill_inverse<double>(rotation, log_odds, threads, control, result);
  return result;
}

WideInverse wide_inverse(const RotationView& rotation, std::span<const double> log_odds,
                         int threads, Control& control) {
  WideInverse result;
  fill_inverse<DoubleDouble>(rotation, log_odds, threads, control, result);
  return result;
}

}  // namespace planaris
