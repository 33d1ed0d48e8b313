#include "base/arrays.hpp"
#include "graph/heaviest_forest.hpp"

namespace planaris::bindings {

void bind_heaviest_forest(nb::module_& m) {
  m.def(
      "heaviest_forest",
      [](int32_t num_vertices, In2<int32_t> edges, In1<double> weights, Progress progress,
         double seconds) {
        Control control = make_control(progress, seconds);
        std::vector<int32_t> found;
        {
          nb::gil_scoped_release release;
          found = heaviest_forest(num_vertices, flat(edges), flat(weights), control);
        }
        return to_numpy(std::move(found));
      },
      nb::arg("num_vertices"), nb::arg("edges").noconvert(), nb::arg("weights").noconvert(),
      nb::arg("progress").none(), nb::arg("seconds"));
}

}  // namespace planaris::bindings
