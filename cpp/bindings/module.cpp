#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace planaris::bindings {
void bind_embedding(nb::module_& m);
void bind_elimination(nb::module_& m);
void bind_frontier(nb::module_& m);
}  // namespace planaris::bindings

NB_MODULE(_core, m) {
  m.doc() = "Compiled kernels of planaris: arrays in, arrays out.";
  planaris::bindings::bind_embedding(m);
  planaris::bindings::bind_elimination(m);
  planaris::bindings::bind_frontier(m);
}
