#include <nanobind/stl/shared_ptr.h>

#include <memory>
#include <mutex>

#include "base/arrays.hpp"
#include "tjoin/matching.hpp"

namespace planaris::bindings {

namespace {

using State = std::shared_ptr<TJoinState>;
using Arrays =
    std::tuple<Out1<int32_t>, Out1<int32_t>, Out1<int32_t>, Out1<int32_t>, Out1<int32_t>,
               Out1<int64_t>, Out1<int64_t>, Out1<int64_t>, Out1<int64_t>, Out1<int64_t>>;
using Result = std::tuple<int32_t, bool, int32_t, int32_t, Arrays, std::optional<State>>;

struct Call {
  int32_t num_vertices;
  In2<int32_t> edges;
  In1<int32_t> odd, boundary;
  bool perfect;
  std::optional<State> start;
  Progress progress;
  double seconds;
  int32_t threads;
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
                       call.perfect, call.threads},
                      call.start ? call.start->get() : nullptr, control);
  }
  std::optional<State> state;
  if (s.state) state = std::const_pointer_cast<TJoinState>(s.state);
  return {s.infeasible, s.exact, s.exponent, s.num_digits,
          Arrays{to_numpy(std::move(s.join)), to_numpy(std::move(s.order)),
                 to_numpy(std::move(s.start)), to_numpy(std::move(s.stop)),
                 to_numpy(std::move(s.parent)), to_numpy(std::move(s.values)),
                 to_numpy(std::move(s.objective)), to_numpy(std::move(s.offset)),
                 to_numpy(std::move(s.counters)), to_numpy(std::move(s.lower))},
          std::move(state)};
}

Result tjoin_int(int32_t num_vertices, In2<int32_t> edges, In1<int64_t> weights, In1<int32_t> odd,
                 In1<int32_t> boundary, bool perfect, std::optional<State> start, Progress progress,
                 double seconds, int32_t threads) {
  TJoinWeights w;
  w.mantissas.assign(weights.data(), weights.data() + weights.size());
  return run({num_vertices, edges, odd, boundary, perfect, start, progress, seconds, threads}, w);
}

Result tjoin_float(int32_t num_vertices, In2<int32_t> edges, In1<double> weights, In1<int32_t> odd,
                   In1<int32_t> boundary, bool perfect, std::optional<State> start,
                   Progress progress, double seconds, int32_t threads) {
  return run({num_vertices, edges, odd, boundary, perfect, start, progress, seconds, threads},
             dyadic_weights({weights.data(), weights.size()}));
}

class Solver {
 public:
  Solver(int32_t num_vertices, In2<int32_t> edges, const TJoinWeights& weights,
         In1<int32_t> boundary)
      : solver_(prepare_tjoins({num_vertices,
                                {edges.data(), edges.size()},
                                &weights,
                                {},
                                {boundary.data(), boundary.size()}})) {}

  // Set k holds odd[offsets[k]], ..., odd[offsets[k + 1] - 1]. Returns the sets that were done
  // before one could not be joined, a vertex of that one or -1, and for those that were done:
  // where their edges begin, the edges, and the digits of the weights.
  std::tuple<int64_t, int32_t, Out1<int64_t>, Out1<int32_t>, Out1<int64_t>> solve(
      In1<int64_t> offsets, In1<int32_t> odd, Progress progress, double seconds) {
    Control control = make_control(progress, seconds);
    std::vector<int64_t> begins{0}, digits;
    std::vector<int32_t> join;
    int32_t infeasible = -1;
    {
      nb::gil_scoped_release release;
      const std::lock_guard lock(mutex_);
      const size_t sets = offsets.size() - 1;
      for (size_t k = 0; k < sets && infeasible < 0; ++k) {
        const int64_t begin = offsets.data()[k], end = offsets.data()[k + 1];
        if (begin < 0 || end < begin || size_t(end) > odd.size()) {
          throw std::invalid_argument("offsets must rise from 0 to the length of odd");
        }
        control.poll(double(k) / double(sets));
        infeasible = solver_->solve({odd.data() + begin, size_t(end - begin)}, control, join, digits);
        if (infeasible < 0) begins.push_back(int64_t(join.size()));
      }
    }
    return {int64_t(begins.size()) - 1, infeasible, to_numpy(std::move(begins)),
            to_numpy(std::move(join)), to_numpy(std::move(digits))};
  }

  int32_t num_digits() const { return solver_->num_digits; }
  int32_t exponent() const { return solver_->exponent; }

 private:
  std::unique_ptr<TJoinSolver> solver_;
  std::mutex mutex_;
};

}  // namespace

void bind_matching(nb::module_& m) {
  nb::class_<TJoinState>(m, "TJoinState", "What a later solve on the same graph can start from.");
  const auto define = [&m](const char* name, auto function) {
    m.def(name, function, nb::arg("num_vertices"), nb::arg("edges").noconvert(),
          nb::arg("weights").noconvert(), nb::arg("odd").noconvert(),
          nb::arg("boundary").noconvert(), nb::arg("perfect"), nb::arg("start").none(),
          nb::arg("progress").none(), nb::arg("seconds"), nb::arg("threads"));
  };
  nb::class_<Solver>(m, "TJoinSolver", "Joins many sets of odd vertices on one graph.")
      .def(
          "__init__",
          [](Solver* self, int32_t num_vertices, In2<int32_t> edges, In1<int64_t> weights,
             In1<int32_t> boundary) {
            TJoinWeights w;
            w.mantissas.assign(weights.data(), weights.data() + weights.size());
            new (self) Solver(num_vertices, edges, w, boundary);
          },
          nb::arg("num_vertices"), nb::arg("edges").noconvert(), nb::arg("weights").noconvert(),
          nb::arg("boundary").noconvert())
      .def(
          "__init__",
          [](Solver* self, int32_t num_vertices, In2<int32_t> edges, In1<double> weights,
             In1<int32_t> boundary) {
            new (self) Solver(num_vertices, edges,
                              dyadic_weights({weights.data(), weights.size()}), boundary);
          },
          nb::arg("num_vertices"), nb::arg("edges").noconvert(), nb::arg("weights").noconvert(),
          nb::arg("boundary").noconvert())
      .def("solve", &Solver::solve, nb::arg("offsets").noconvert(), nb::arg("odd").noconvert(),
           nb::arg("progress").none(), nb::arg("seconds"))
      .def_prop_ro("num_digits", &Solver::num_digits)
      .def_prop_ro("exponent", &Solver::exponent);
  define("minimum_tjoin_int", &tjoin_int);
  define("minimum_tjoin_float", &tjoin_float);
}

}  // namespace planaris::bindings
