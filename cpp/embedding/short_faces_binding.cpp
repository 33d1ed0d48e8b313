#include "base/arrays.hpp"
#include "embedding/short_faces.hpp"

namespace planaris::bindings {

namespace {

ShortFaces embed_by_short_faces_of(int32_t num_vertices, In2<int32_t> edges, Progress progress,
                                   double seconds) {
  Control control = make_control(progress, seconds);
  nb::gil_scoped_release release;
  return embed_by_short_faces(num_vertices, flat(edges), control);
}

}  // namespace

void bind_short_faces(nb::module_& m) {
  nb::class_<ShortFaces>(m, "ShortFaces")
      .def_ro("found", &ShortFaces::found)
      .def_prop_ro("rotation", array_of(&ShortFaces::rotation))
      .def_prop_ro("offsets", array_of(&ShortFaces::offsets))
      .def_prop_ro("left_out", array_of(&ShortFaces::left_out));
  m.def("embed_by_short_faces", &embed_by_short_faces_of, nb::arg("num_vertices"),
        nb::arg("edges").noconvert(), nb::arg("progress").none(), nb::arg("seconds"));
}

}  // namespace planaris::bindings
