#include <nanobind/stl/shared_ptr.h>

#include "arrays.hpp"
#include "planaris/matching.hpp"

namespace planaris::bindings {

namespace {

using State = std::shared_ptr<TJoinState>;
using Arrays =
    std::tuple<Out1<int32_t>, Out1<int32_t>, Out1<int32_t>, Out1<int32_t>, Out1<int32_t>,
               Out1<int64_t>, Out1<int64_t>, Out1<int64_t>, Out1<int64_t>>;
using Result = std::tuple<int32_t, int32_t, int32_t, Arrays, std::optional<State>>;

struct Call {
  int32_t num_vertices;
  In2<int32_t> edges;
  In1<int32_t> odd, boundary;
  bool perfect;
  std::optional<State> start;
  Progress progress;
  double seconds;
};

Result run(const Call& call, const TJoinWeights& weights) {
  Control control = make_control(call.progress, call.seconds);
  TJoinSolution s;
  {
    nb::gil_scoped_release release;
    s = minimum_tjoin({call.num_vertices,
                       {call.edges.data(), call.edges.size()},
                       &weights,
                       {call.odd.data(), call.odd.size()},
                       {call.boundary.data(), call.boundary.size()},
                       call.perfect},
                      call.start ? call.start->get() : nullptr, control);
  }
  std::optional<State> state;
  if (s.state) state = std::const_pointer_cast<TJoinState>(s.state);
  return {s.infeasible, s.exponent, s.num_digits,
          Arrays{to_numpy(std::move(s.join)), to_numpy(std::move(s.order)),
                 to_numpy(std::move(s.start)), to_numpy(std::move(s.stop)),
                 to_numpy(std::move(s.parent)), to_numpy(std::move(s.values)),
                 to_numpy(std::move(s.objective)), to_numpy(std::move(s.offset)),
                 to_numpy(std::move(s.counters))},
          std::move(state)};
}

Result tjoin_int(int32_t num_vertices, In2<int32_t> edges, In1<int64_t> weights, In1<int32_t> odd,
                 In1<int32_t> boundary, bool perfect, std::optional<State> start, Progress progress,
                 double seconds) {
  TJoinWeights w;
  w.mantissas.assign(weights.data(), weights.data() + weights.size());
  return run({num_vertices, edges, odd, boundary, perfect, start, progress, seconds}, w);
}

Result tjoin_float(int32_t num_vertices, In2<int32_t> edges, In1<double> weights, In1<int32_t> odd,
                   In1<int32_t> boundary, bool perfect, std::optional<State> start,
                   Progress progress, double seconds) {
  return run({num_vertices, edges, odd, boundary, perfect, start, progress, seconds},
             dyadic_weights({weights.data(), weights.size()}));
}

}  // namespace

void bind_matching(nb::module_& m) {
  nb::class_<TJoinState>(m, "TJoinState", "What a later solve on the same graph can start from.");
  const auto define = [&m](const char* name, auto function) {
    m.def(name, function, nb::arg("num_vertices"), nb::arg("edges").noconvert(),
          nb::arg("weights").noconvert(), nb::arg("odd").noconvert(),
          nb::arg("boundary").noconvert(), nb::arg("perfect"), nb::arg("start").none(),
          nb::arg("progress").none(), nb::arg("seconds"));
  };
  define("minimum_tjoin_int", &tjoin_int);
  define("minimum_tjoin_float", &tjoin_float);
}

}  // namespace planaris::bindings
