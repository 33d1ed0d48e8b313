#include "base/arrays.hpp"
#include "embedding/embedding.hpp"

namespace planaris::bindings {

namespace {

std::tuple<Out1<int32_t>, Out1<int32_t>, Out1<int32_t>> trace_faces_of(In2<int32_t> edges,
                                                                       In1<int32_t> rotation,
                                                                       In1<int32_t> offsets,
                                                                       int32_t threads) {
  Faces faces;
  {
    nb::gil_scoped_release release;
    Control quiet;
    Team team(threads, quiet);
    faces = trace_faces({flat(edges), flat(rotation), flat(offsets)}, team);
  }
  return {to_numpy(std::move(faces.face_of)), to_numpy(std::move(faces.walk)),
          to_numpy(std::move(faces.offsets))};
}

// Of an embedding: its walk and offsets are trusted.
Out2<double> centres_of(In2<int32_t> edges, In1<int32_t> walk, In1<int32_t> offsets,
                        In2<double> positions) {
  std::vector<double> centres;
  {
    nb::gil_scoped_release release;
    centres = face_centres(flat(edges), flat(walk), flat(offsets), flat(positions));
  }
  const size_t faces = centres.size() / 2;
  return to_numpy(std::move(centres), faces, 2);
}

Out1<int32_t> components_of(int32_t num_vertices, In2<int32_t> edges, int32_t threads) {
  std::vector<int32_t> component;
  {
    nb::gil_scoped_release release;
    Control quiet;
    Team team(threads, quiet);
    component = connected_components(num_vertices, flat(edges), team);
  }
  return to_numpy(std::move(component));
}

}  // namespace

void bind_embedding(nb::module_& m) {
  m.def("trace_faces", &trace_faces_of, nb::arg("edges").noconvert(),
        nb::arg("rotation").noconvert(), nb::arg("offsets").noconvert(), nb::arg("threads"));
  m.def("face_centres", &centres_of, nb::arg("edges").noconvert(), nb::arg("walk").noconvert(),
        nb::arg("offsets").noconvert(), nb::arg("positions").noconvert());
  m.def("connected_components", &components_of, nb::arg("num_vertices"),
        nb::arg("edges").noconvert(), nb::arg("threads"));
}

}  // namespace planaris::bindings
