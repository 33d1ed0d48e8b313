// Marginals of binary variables by elimination, in doubles.
//
// Tables are formed a piece at a time, which stays in the cache, and only messages are kept. They
// are plain doubles, scaled by powers of two so that the largest entry of each is between 1/2 and
// 1: a few nanoseconds for every entry of a table, where numbers with exponents of their own take
// ten times as long.
#pragma once

#include <optional>

#include "elimination/elimination.hpp"

namespace planaris {

// As `eliminate_sum` with marginals; nothing where a variable is not binary, a factor has no
// variables, or entries of a message differ by more than doubles can hold, as with weights of zero.
// Twice the error bounds that of every probability.
std::optional<SumResult> eliminate_binary(const FactorGraphView& graph, const EliminationTree& tree,
                                          Control& control);

}  // namespace planaris
