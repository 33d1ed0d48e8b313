#include "base/arrays.hpp"
#include "embedding/best_face.hpp"
#include "embedding/chords.hpp"
#include "embedding/drawing.hpp"
#include "embedding/kuratowski.hpp"
#include "embedding/planar_subgraph.hpp"
#include "embedding/planarity.hpp"
#include "graph/biconnected.hpp"

namespace planaris::bindings {

namespace {

Drawing embed_drawing_of(int32_t num_vertices, In2<int32_t> edges, In2<double> positions,
                         int32_t threads, Progress progress, double seconds) {
  Control control = make_control(progress, seconds, threads);
  nb::gil_scoped_release release;
  return embed_drawing(num_vertices, flat(edges), flat(positions), control);
}

std::tuple<bool, Out1<int32_t>, Out1<int32_t>> embed_planar_of(int32_t num_vertices,
                                                               In2<int32_t> edges,
                                                               Progress progress, double seconds) {
  Control control = make_control(progress, seconds);
  std::vector<int32_t> rotation, offsets;
  bool planar = false;
  {
    nb::gil_scoped_release release;
    LeftRight test(num_vertices, flat(edges), control);
    planar = test.test();
    if (planar) {
      rotation = test.rotation();
      offsets = std::move(test).offsets();
    }
  }
  return {planar, to_numpy(std::move(rotation)), to_numpy(std::move(offsets))};
}

bool is_planar_of(int32_t num_vertices, In2<int32_t> edges, Progress progress, double seconds) {
  Control control = make_control(progress, seconds);
  nb::gil_scoped_release release;
  return LeftRight(num_vertices, flat(edges), control).test();
}

Out1<uint8_t> maximal_planar_of(int32_t num_vertices, In2<int32_t> edges, In1<int64_t> order,
                                int64_t max_tests, Progress progress, double seconds) {
  const int64_t count = static_cast<int64_t>(edges.shape(0));
  for (const int64_t e : flat(order)) {
    if (e < 0 || e >= count) throw std::invalid_argument("`order` names an edge out of range");
  }
  Control control = make_control(progress, seconds);
  std::vector<uint8_t> chosen;
  {
    nb::gil_scoped_release release;
    chosen = maximal_planar(num_vertices, flat(edges), flat(order), max_tests, control);
  }
  return to_numpy(std::move(chosen));
}

std::tuple<bool, Out1<int32_t>> find_kuratowski_of(int32_t num_vertices, In2<int32_t> edges,
                                                   Progress progress, double seconds) {
  Control control = make_control(progress, seconds);
  Kuratowski found;
  {
    nb::gil_scoped_release release;
    found = find_kuratowski(num_vertices, flat(edges), control);
  }
  return {found.is_k5, to_numpy(std::move(found.edges))};
}

Split split_faces_of(In2<int32_t> edges, In1<int32_t> rotation, In1<int32_t> offsets,
                     int32_t max_length, Progress progress, double seconds) {
  Control control = make_control(progress, seconds);
  nb::gil_scoped_release release;
  return split_faces({flat(edges), flat(rotation), flat(offsets)}, max_length, control);
}

std::tuple<int32_t, Out1<int32_t>, Out1<uint8_t>> biconnected_of(int32_t num_vertices,
                                                                 In2<int32_t> edges,
                                                                 Progress progress,
                                                                 double seconds) {
  Control control = make_control(progress, seconds);
  Blocks blocks;
  {
    nb::gil_scoped_release release;
    blocks = biconnected_components(num_vertices, flat(edges), control);
  }
  return {blocks.count, to_numpy(std::move(blocks.component_of)),
          to_numpy(std::move(blocks.is_cut))};
}

std::tuple<Out1<uint8_t>, Out1<uint8_t>> find_best_faces_of(In2<int32_t> edges,
                                                            In1<int32_t> rotation,
                                                            In1<int32_t> offsets,
                                                            In1<double> weights) {
  BestFace best;
  {
    nb::gil_scoped_release release;
    best = find_best_faces({flat(edges), flat(rotation), flat(offsets)}, flat(weights));
  }
  return {to_numpy(std::move(best.chosen)), to_numpy(std::move(best.is_unique))};
}

}  // namespace

void bind_planarity(nb::module_& m) {
  nb::class_<Drawing>(m, "Drawing")
      .def_prop_ro("flaw", [](const Drawing& d) { return static_cast<int32_t>(d.flaw); })
      .def_ro("first", &Drawing::first)
      .def_ro("second", &Drawing::second)
      .def_prop_ro("rotation", array_of(&Drawing::rotation))
      .def_prop_ro("offsets", array_of(&Drawing::offsets))
      .def_prop_ro("outer", array_of(&Drawing::outer));
  nb::class_<Split>(m, "SplitFaces")
      .def_prop_ro("chords", pairs_of(&Split::chords))
      .def_prop_ro("rotation", array_of(&Split::rotation))
      .def_prop_ro("offsets", array_of(&Split::offsets))
      .def_prop_ro("centre", array_of(&Split::centre));
  m.def("embed_drawing", &embed_drawing_of, nb::arg("num_vertices"), nb::arg("edges").noconvert(),
        nb::arg("positions").noconvert(), nb::arg("threads"), nb::arg("progress").none(),
        nb::arg("seconds"));
  m.def("embed_planar", &embed_planar_of, nb::arg("num_vertices"), nb::arg("edges").noconvert(),
        nb::arg("progress").none(), nb::arg("seconds"));
  m.def("is_planar", &is_planar_of, nb::arg("num_vertices"), nb::arg("edges").noconvert(),
        nb::arg("progress").none(), nb::arg("seconds"));
  m.def("maximal_planar", &maximal_planar_of, nb::arg("num_vertices"), nb::arg("edges").noconvert(),
        nb::arg("order").noconvert(), nb::arg("max_tests"), nb::arg("progress").none(),
        nb::arg("seconds"));
  m.def("find_kuratowski", &find_kuratowski_of, nb::arg("num_vertices"),
        nb::arg("edges").noconvert(), nb::arg("progress").none(), nb::arg("seconds"));
  m.def("split_faces", &split_faces_of, nb::arg("edges").noconvert(),
        nb::arg("rotation").noconvert(), nb::arg("offsets").noconvert(), nb::arg("max_length"),
        nb::arg("progress").none(), nb::arg("seconds"));
  m.def("find_best_faces", &find_best_faces_of, nb::arg("edges").noconvert(),
        nb::arg("rotation").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("weights").noconvert());
  m.def("biconnected_components", &biconnected_of, nb::arg("num_vertices"),
        nb::arg("edges").noconvert(), nb::arg("progress").none(), nb::arg("seconds"));
}

}  // namespace planaris::bindings
