#include "batches/coupling_rows.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/team.hpp"

namespace planaris {

namespace {

constexpr size_t kNumbersPerTask = size_t{1} << 14;  // some ten microseconds

double total_size(const double* row, size_t columns) {
  constexpr size_t kSums = 8;
  double sums[kSums] = {};
  size_t e = 0;
  for (; e + kSums <= columns; e += kSums) {
    for (size_t k = 0; k < kSums; ++k) sums[k] += std::fabs(row[e + k]);
  }
  for (; e < columns; ++e) sums[0] += std::fabs(row[e]);
  double total = 0.0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace

std::vector<double> row_totals(std::span<const double> couplings, size_t rows,
                               std::span<double> copy, int threads, Control& control) {
  if (!copy.empty() && copy.size() != couplings.size()) {
    throw std::invalid_argument("copy must have room for all couplings");
  }
  const size_t columns = rows == 0 ? 0 : couplings.size() / rows;
  const size_t share = std::max<size_t>(1, kNumbersPerTask / std::max<size_t>(1, columns));
  const size_t tasks = (rows + share - 1) / share;
  std::vector<double> totals(rows);
  Team team(static_cast<int>(std::min<size_t>(threads, tasks)), control);
  team.work(tasks, [&](int worker, int task) {
    team.check(worker);
    const size_t end = std::min(rows, (size_t(task) + 1) * share);
    for (size_t k = size_t(task) * share; k < end; ++k) {
      const double* row = couplings.data() + k * columns;
      totals[k] = total_size(row, columns);
      if (!copy.empty()) std::copy(row, row + columns, copy.data() + k * columns);
    }
  });
  return totals;
}

}  // namespace planaris
