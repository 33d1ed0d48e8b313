#include "base/arrays.hpp"
#include "embedding/best_face.hpp"
#include "embedding/chords.hpp"
#include "embedding/drawing.hpp"
#include "embedding/kuratowski.hpp"
#include "embedding/planarity.hpp"
#include "graph/biconnected.hpp"

namespace planaris::bindings {

namespace {

std::tuple<int32_t, int32_t, int32_t, Out1<int32_t>, Out1<int32_t>, Out1<int32_t>>
embed_drawing_of(int32_t num_vertices, In2<int32_t> edges, In2<double> positions) {
  Control control = make_control({});
  Drawing drawing;
  {
    nb::gil_scoped_release release;
    drawing = embed_drawing(num_vertices, {edges.data(), edges.size()},
                            {positions.data(), positions.size()}, control);
  }
  return {static_cast<int32_t>(drawing.flaw), drawing.first,
          drawing.second, to_numpy(std::move(drawing.rotation)),
          to_numpy(std::move(drawing.offsets)), to_numpy(std::move(drawing.outer))};
}

std::tuple<bool, Out1<int32_t>, Out1<int32_t>> embed_planar_of(int32_t num_vertices,
                                                               In2<int32_t> edges) {
  Control control = make_control({});
  std::vector<int32_t> rotation, offsets;
  bool planar = false;
  {
    nb::gil_scoped_release release;
    LeftRight test(num_vertices, {edges.data(), edges.size()}, control);
    planar = test.test();
    if (planar) {
      rotation = test.rotation();
      offsets = std::move(test).offsets();
    }
  }
  return {planar, to_numpy(std::move(rotation)), to_numpy(std::move(offsets))};
}

bool is_planar_of(int32_t num_vertices, In2<int32_t> edges) {
  Control control = make_control({});
  nb::gil_scoped_release release;
  return LeftRight(num_vertices, {edges.data(), edges.size()}, control).test();
}

std::tuple<bool, Out1<int32_t>> find_kuratowski_of(int32_t num_vertices, In2<int32_t> edges) {
  Control control = make_control({});
  Kuratowski found;
  {
    nb::gil_scoped_release release;
    found = find_kuratowski(num_vertices, {edges.data(), edges.size()}, control);
  }
  return {found.is_k5, to_numpy(std::move(found.edges))};
}

std::tuple<Out2<int32_t>, Out1<int32_t>, Out1<int32_t>, Out1<int32_t>> split_faces_of(
    In2<int32_t> edges, In1<int32_t> rotation, In1<int32_t> offsets, int32_t max_length) {
  Control control = make_control({});
  Split split;
  {
    nb::gil_scoped_release release;
    split = split_faces({{edges.data(), edges.size()},
                         {rotation.data(), rotation.size()},
                         {offsets.data(), offsets.size()}},
                        max_length, control);
  }
  const size_t num_chords = split.chords.size() / 2;
  return {to_numpy(std::move(split.chords), num_chords, 2), to_numpy(std::move(split.rotation)),
          to_numpy(std::move(split.offsets)), to_numpy(std::move(split.centre))};
}

std::tuple<int32_t, Out1<int32_t>, Out1<uint8_t>> biconnected_of(int32_t num_vertices,
                                                                 In2<int32_t> edges) {
  Blocks blocks;
  {
    nb::gil_scoped_release release;
    blocks = biconnected_components(num_vertices, {edges.data(), edges.size()});
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
    best = find_best_faces({{edges.data(), edges.size()},
                            {rotation.data(), rotation.size()},
                            {offsets.data(), offsets.size()}},
                           {weights.data(), weights.size()});
  }
  return {to_numpy(std::move(best.chosen)), to_numpy(std::move(best.is_unique))};
}

}  // namespace

void bind_planarity(nb::module_& m) {
  m.def("embed_drawing", &embed_drawing_of, nb::arg("num_vertices"), nb::arg("edges").noconvert(),
        nb::arg("positions").noconvert());
  m.def("embed_planar", &embed_planar_of, nb::arg("num_vertices"), nb::arg("edges").noconvert());
  m.def("is_planar", &is_planar_of, nb::arg("num_vertices"), nb::arg("edges").noconvert());
  m.def("find_kuratowski", &find_kuratowski_of, nb::arg("num_vertices"),
        nb::arg("edges").noconvert());
  m.def("split_faces", &split_faces_of, nb::arg("edges").noconvert(),
        nb::arg("rotation").noconvert(), nb::arg("offsets").noconvert(), nb::arg("max_length"));
  m.def("find_best_faces", &find_best_faces_of, nb::arg("edges").noconvert(),
        nb::arg("rotation").noconvert(), nb::arg("offsets").noconvert(),
        nb::arg("weights").noconvert());
  m.def("biconnected_components", &biconnected_of, nb::arg("num_vertices"),
        nb::arg("edges").noconvert());
}

}  // namespace planaris::bindings
