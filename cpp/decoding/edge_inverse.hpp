// The inverse of the Kasteleyn matrix of an error-free syndrome, for every pair of mechanisms.
//
// K = J + F: J joins the two legs of an edge by its sign, F joins legs of one face by the square
// root of both their odds. At low noise F is small, and K⁻¹ differs little from J⁻¹. What is kept
// is the difference, found from K z = -F J⁻¹ e_j: nothing of size one is ever subtracted, so that
// the entries keep their digits however small they are. See docs/theory/decoding.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "decoding/large_array.hpp"
#include "embedding/embedding.hpp"

namespace planaris {

struct EdgeInverse {
  int32_t num_edges = 0;         // without chords
  double log_pfaffian = 0.0;     // of the whole matrix: log Σ over even sets of the product of odds
  std::vector<double> diagonal;  // by edge: probability that a random even set holds it
  // e < f: K⁻¹ of legs (2e, 2e + 1) × (2f, 2f + 1), row by row; legs 2e + 1 are multiplied by the
  // sign of their join, so that the signs appear nowhere else.
  LargeArray blocks;

  size_t place(int32_t e, int32_t f) const {
    const int64_t m = num_edges, i = e;
    return size_t(i * (2 * m - i - 1) / 2 + f - i - 1);
  }
  const double* block(int32_t e, int32_t f) const { return &blocks[4 * place(e, f)]; }
};

// `rotation` is the plane graph whose cuts are the even sets of mechanisms, chords after the first
// `log_odds.size()` edges; log_odds ≤ 0.
EdgeInverse edge_inverse(const RotationView& rotation, std::span<const double> log_odds,
                         int threads, Control& control);

}  // namespace planaris
