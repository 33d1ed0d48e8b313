#include "base/arrays.hpp"
#include "frontier/piece_bounds.hpp"

namespace planaris::bindings {

namespace {

// Pieces laid out one after the other: spins and edges of piece k lie between offsets k and k + 1.
std::vector<Piece> pieces_of(const In1<int64_t>& spin_offsets, const In1<int64_t>& edge_offsets,
                             const In2<int32_t>& edges, const In1<uint8_t>& shared,
                             const In1<int32_t>& context) {
  const size_t count = spin_offsets.size() - 1;
  if (spin_offsets.size() == 0 || edge_offsets.size() != count + 1 ||
      spin_offsets.data()[count] != static_cast<int64_t>(shared.size()) ||
      edge_offsets.data()[count] != static_cast<int64_t>(edges.shape(0)) ||
      context.size() != shared.size()) {
    throw std::invalid_argument("offsets must cover all spins and edges");
  }
  std::vector<Piece> pieces(count);
  for (size_t k = 0; k < count; ++k) {
    const int64_t a = spin_offsets.data()[k], b = spin_offsets.data()[k + 1];
    const int64_t c = edge_offsets.data()[k], d = edge_offsets.data()[k + 1];
    if (a > b || c > d || a < 0 || c < 0) throw std::invalid_argument("offsets must not decrease");
    pieces[k].shared.assign(shared.data() + a, shared.data() + b);
    pieces[k].context.assign(context.data() + a, context.data() + b);
    pieces[k].edges.assign(edges.data() + 2 * c, edges.data() + 2 * d);
  }
  return pieces;
}

PieceSums above(const PieceSweep& sweep, In1<double> couplings, In1<double> fields,
                In1<double> weights, int threads, Progress progress, double seconds) {
  Control control = make_control(progress, seconds, threads);
  nb::gil_scoped_release release;
  return sweep.above({flat(couplings), flat(fields), flat(weights)}, control);
}

PieceSums below(const PieceSweep& sweep, In1<double> couplings, In1<double> fields,
                In1<double> weights, In1<double> up, int threads, Progress progress,
                double seconds) {
  Control control = make_control(progress, seconds, threads);
  nb::gil_scoped_release release;
  return sweep.below({flat(couplings), flat(fields), flat(weights)}, flat(up), control);
}

}  // namespace

void bind_piece_bounds(nb::module_& m) {
  nb::class_<PieceSums>(m, "PieceSums")
      .def_prop_ro("logs", array_of(&PieceSums::logs))
      .def_prop_ro("errors", array_of(&PieceSums::errors))
      .def_prop_ro("by_field", array_of(&PieceSums::by_field))
      .def_prop_ro("by_coupling", array_of(&PieceSums::by_coupling))
      .def_prop_ro("by_weight", array_of(&PieceSums::by_weight))
      .def_prop_ro("reached", pairs_of(&PieceSums::reached))
      .def_prop_ro("gain", pairs_of(&PieceSums::gain));
  nb::class_<PieceSweep>(m, "PieceSweep")
      .def(
          "__init__",
          [](PieceSweep* self, In1<int64_t> spin_offsets, In1<int64_t> edge_offsets,
             In2<int32_t> edges, In1<uint8_t> shared, In1<int32_t> context, int32_t max_bits) {
            new (self)
                PieceSweep(pieces_of(spin_offsets, edge_offsets, edges, shared, context), max_bits);
          },
          nb::arg("spin_offsets").noconvert(), nb::arg("edge_offsets").noconvert(),
          nb::arg("edges").noconvert(), nb::arg("shared").noconvert(),
          nb::arg("context").noconvert(), nb::arg("max_bits"))
      .def("bits", [](const PieceSweep& sweep) { return to_numpy(std::vector(sweep.bits())); })
      .def_prop_ro("entries", &PieceSweep::entries)
      .def_prop_ro("kept_bytes", &PieceSweep::kept_bytes)
      .def("above", &above, nb::arg("couplings").noconvert(), nb::arg("fields").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("threads"), nb::arg("progress").none(),
           nb::arg("seconds"))
      .def("below", &below, nb::arg("couplings").noconvert(), nb::arg("fields").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("up").noconvert(), nb::arg("threads"),
           nb::arg("progress").none(), nb::arg("seconds"));
}

}  // namespace planaris::bindings
