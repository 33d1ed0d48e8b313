// Scaling of a Kasteleyn matrix by the dual of its best assignment, as MC64 does for LU.
//
// With costs c_ij = -log |K_ij| (g_i + g_j for two legs of a face, 0 for the two of an edge),
// the dual variables y of the cheapest assignment satisfy y_i + y_j ≤ c_ij with equality on the
// assignment: scaled by exp(y_i + y_j), no entry exceeds 1 and every row has an entry 1 that it
// shares with no other. Duff & Koster, SIAM J. Matrix Anal. Appl. 22 (2001) 973.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/control.hpp"
#include "embedding/embedding.hpp"

namespace planaris {

// `gauged` holds one coupling per edge, relative to a good state: mostly not negative. The state
// need not be optimal; the better it is, the faster this runs.
std::vector<double> leg_scaling(const Faces& faces, std::span<const double> gauged,
                                Control& control);

}  // namespace planaris
