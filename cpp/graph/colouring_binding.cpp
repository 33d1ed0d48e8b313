#include "base/arrays.hpp"
#include "graph/breadth_first.hpp"
#include "graph/colouring.hpp"

namespace planaris::bindings {

void bind_colouring(nb::module_& m) {
  m.def(
      "colour_breadth_first",
      [](int32_t num_vertices, In2<int32_t> edges) {
        Colouring found;
        {
          nb::gil_scoped_release release;
          found = colour_breadth_first(num_vertices, flat(edges));
        }
        return std::tuple(to_numpy(std::move(found.order)), to_numpy(std::move(found.offsets)));
      },
      nb::arg("num_vertices"), nb::arg("edges").noconvert());
  m.def(
      "breadth_first_order",
      [](int32_t num_vertices, In2<int32_t> edges, int32_t root) {
        std::vector<int32_t> found;
        {
          nb::gil_scoped_release release;
          found = breadth_first_order(neighbours_of(num_vertices, flat(edges)), root);
        }
        return to_numpy(std::move(found));
      },
      nb::arg("num_vertices"), nb::arg("edges").noconvert(), nb::arg("root"));
}

}  // namespace planaris::bindings
