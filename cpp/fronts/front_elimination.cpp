#include "fronts/front_elimination.hpp"

namespace planaris {

namespace {

PLANARIS_CLONES void take_pair_of_doubles(int rows, int k, int stop, double* column, double* keep,
                                          double d) {
  take_pair_by_rows(rows, k, stop, column, keep, d);
}

}  // namespace

template <>
void take_pair(int rows, int k, int stop, double* column, double* keep, const double& d) {
  take_pair_of_doubles(rows, k, stop, column, keep, d);
}

}  // namespace planaris
