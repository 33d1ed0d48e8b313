// Couplings of many models as the caller gave them: checked and copied by several threads, as one
// would take longer for it than sixteen for the models.
#pragma once

#include <span>
#include <vector>

#include "base/control.hpp"

namespace planaris {

// Σ |x| of every row: not finite where a number is not. The rows are copied to `copy` unless that
// is empty.
std::vector<double> row_totals(std::span<const double> couplings, size_t rows,
                               std::span<double> copy, int threads, Control& control);

}  // namespace planaris
