#include "base/arrays.hpp"
#include "messages/mplp.hpp"

namespace planaris::bindings {

namespace {

class Messages {
 public:
  Messages(In1<int32_t> cardinalities, In1<double> node_energies, In2<int32_t> edges,
           In1<double> edge_energies, Progress progress, double seconds)
      : passing_(make(cardinalities, node_energies, edges, edge_energies, progress, seconds)) {}

  // (bound as computed, whether the time was enough)
  std::tuple<double, bool> run(int32_t rounds, double tolerance, Progress progress,
                               double seconds) {
    Control control = make_control(progress, seconds);
    nb::gil_scoped_release release;
    try {
      return {passing_.run(rounds, tolerance, control), true};
    } catch (const DeadlinePassed&) {
      return {0.0, false};
    }
  }
  double safe_bound(Progress progress, double seconds) const {
    Control control = make_control(progress, seconds);
    nb::gil_scoped_release release;
    return passing_.safe_bound(control);
  }
  Out1<int32_t> decode(Progress progress, double seconds) const {
    Control control = make_control(progress, seconds);
    std::vector<int32_t> labels;
    {
      nb::gil_scoped_release release;
      labels = passing_.decode(control);
      passing_.improve(labels, control);
    }
    return to_numpy(std::move(labels));
  }
  Out1<int32_t> improve(In1<int32_t> state, Progress progress, double seconds) const {
    std::vector<int32_t> labels(state.data(), state.data() + state.size());
    Control control = make_control(progress, seconds);
    {
      nb::gil_scoped_release release;
      passing_.improve(labels, control);
    }
    return to_numpy(std::move(labels));
  }
  int64_t forbid_beyond(double room) { return passing_.forbid_beyond(room); }
  Out2<int32_t> triangles(double min_gain, size_t most, Progress progress, double seconds) const {
    Control control = make_control(progress, seconds);
    std::vector<int32_t> out;
    {
      nb::gil_scoped_release release;
      for (const ScoredTriplet& found : passing_.triangles(min_gain, most, control)) {
        out.insert(out.end(), found.variables.begin(), found.variables.end());
      }
    }
    const size_t count = out.size() / 3;
    return to_numpy(std::move(out), count, 3);
  }
  Projection projection(double min_gain, int32_t most, Progress progress, double seconds) const {
    Control control = make_control(progress, seconds);
    nb::gil_scoped_release release;
    return passing_.projection(min_gain, most, control);
  }
  bool add_triplet(int32_t a, int32_t b, int32_t c) { return passing_.add_triplet(a, b, c); }
  Out2<int32_t> edges() const {
    std::vector<int32_t> ends;
    for (int32_t e = 0; e < passing_.num_edges(); ++e) {
      ends.push_back(passing_.edge_ends(e)[0]);
      ends.push_back(passing_.edge_ends(e)[1]);
    }
    return to_numpy(std::move(ends), passing_.num_edges(), 2);
  }
  Out2<int32_t> triplets() const {
    std::vector<int32_t> out;
    for (int32_t t = 0; t < passing_.num_triplets(); ++t) {
      for (int k : {0, 1, 2}) out.push_back(passing_.triplet(t)[k]);
    }
    return to_numpy(std::move(out), passing_.num_triplets(), 3);
  }
  Out1<double> messages() const { return to_numpy(passing_.messages()); }
  int32_t num_triplets() const { return passing_.num_triplets(); }

 private:
  static MessagePassing make(In1<int32_t> cardinalities, In1<double> node_energies,
                             In2<int32_t> edges, In1<double> edge_energies,
                             const Progress& progress, double seconds) {
    Control control = make_control(progress, seconds);
    nb::gil_scoped_release release;
    return {{cardinalities.data(), cardinalities.data() + cardinalities.size()},
            flat(node_energies),
            flat(edges),
            flat(edge_energies),
            control};
  }

  MessagePassing passing_;
};

}  // namespace

void bind_mplp(nb::module_& m) {
  nb::class_<Projection>(m, "LabelProjection")
      .def_prop_ro("owners", array_of(&Projection::owners))
      .def_prop_ro("ends", array_of(&Projection::ends))
      .def_prop_ro("weights", array_of(&Projection::weights));
  nb::class_<Messages>(m, "MessagePassing")
      .def(nb::init<In1<int32_t>, In1<double>, In2<int32_t>, In1<double>, Progress, double>(),
           nb::arg("cardinalities").noconvert(), nb::arg("node_energies").noconvert(),
           nb::arg("edges").noconvert(), nb::arg("edge_energies").noconvert(),
           nb::arg("progress").none(), nb::arg("seconds"))
      .def("run", &Messages::run, nb::arg("rounds"), nb::arg("tolerance"),
           nb::arg("progress").none(), nb::arg("seconds"))
      .def("safe_bound", &Messages::safe_bound, nb::arg("progress").none(), nb::arg("seconds"))
      .def("decode", &Messages::decode, nb::arg("progress").none(), nb::arg("seconds"))
      .def("improve", &Messages::improve, nb::arg("state").noconvert(), nb::arg("progress").none(),
           nb::arg("seconds"))
      .def("forbid_beyond", &Messages::forbid_beyond, nb::arg("room"))
      .def("triangles", &Messages::triangles, nb::arg("min_gain"), nb::arg("most"),
           nb::arg("progress").none(), nb::arg("seconds"))
      .def("projection", &Messages::projection, nb::arg("min_gain"), nb::arg("most"),
           nb::arg("progress").none(), nb::arg("seconds"))
      .def("add_triplet", &Messages::add_triplet, nb::arg("a"), nb::arg("b"), nb::arg("c"))
      .def("edges", &Messages::edges)
      .def("triplets", &Messages::triplets)
      .def("messages", &Messages::messages)
      .def_prop_ro("num_triplets", &Messages::num_triplets);
}

}  // namespace planaris::bindings
