#include <nanobind/stl/shared_ptr.h>

#include <cstdlib>
#include <memory>
#include <mutex>

#include "base/arrays.hpp"
#include "tjoin/matching.hpp"

namespace planaris::bindings {

namespace {

using State = std::shared_ptr<TJoinState>;
struct Call {
  int32_t num_vertices;
  In2<int32_t> edges;
  In1<int32_t> odd, boundary;
  bool perfect;
  std::optional<State> start;
  Progress progress;
  double seconds;
  int32_t threads;
  bool give_up;
};

TJoinSolution run(const Call& call, const TJoinWeights& weights) {
  Control control = make_control(call.progress, call.seconds);
  nb::gil_scoped_release release;
  TJoinProblem problem{call.num_vertices,   flat(call.edges), &weights,    flat(call.odd),
                       flat(call.boundary), call.perfect,     call.threads};
  problem.give_up = call.give_up;
  return minimum_tjoin(problem, call.start ? call.start->get() : nullptr, control);
}

TJoinWeights exact(const In1<int64_t>& weights, int32_t = 1, bool absolute = false) {
  TJoinWeights result{{weights.data(), weights.data() + weights.size()}, {}, 0};
  if (absolute) {
    for (int64_t& w : result.mantissas) w = std::abs(w);
  }
  return result;
}
TJoinWeights exact(const In1<double>& weights, int32_t threads = 1, bool absolute = false) {
  return dyadic_weights(flat(weights), threads, absolute);
}

Out1<uint8_t> parity_of(int32_t num_vertices, In2<int32_t> edges, In1<double> values,
                        int32_t threads) {
  std::vector<uint8_t> parity;
  {
    nb::gil_scoped_release release;
    parity = negative_parity(num_vertices, flat(edges), flat(values), threads);
  }
  return to_numpy(std::move(parity));
}

template <typename Weight>
TJoinSolution tjoin(int32_t num_vertices, In2<int32_t> edges, In1<Weight> weights, In1<int32_t> odd,
                    In1<int32_t> boundary, bool perfect, std::optional<State> start,
                    Progress progress, double seconds, int32_t threads, bool give_up,
                    bool absolute) {
  return run(
      {num_vertices, edges, odd, boundary, perfect, start, progress, seconds, threads, give_up},
      exact(weights, threads, absolute));
}

// Joins of several sets: how many were done before one could not be joined, a vertex of that one
// or -1, and for those that were done where their edges begin, the edges, the digits of weights.
struct Joins {
  int64_t num_done = 0;
  int32_t infeasible = -1;
  std::vector<int64_t> offsets{0}, digits;
  std::vector<int32_t> edges;
};

class Solver {
 public:
  Solver(int32_t num_vertices, In2<int32_t> edges, const TJoinWeights& weights,
         In1<int32_t> boundary)
      : solver_(prepare_tjoins({num_vertices, flat(edges), &weights, {}, flat(boundary)})) {}

  // Set k holds odd[offsets[k]], ..., odd[offsets[k + 1] - 1].
  Joins solve(In1<int64_t> offsets, In1<int32_t> odd, Progress progress, double seconds) {
    Control control = make_control(progress, seconds);
    Joins joins;
    nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    const size_t sets = offsets.size() - 1;
    for (size_t k = 0; k < sets && joins.infeasible < 0; ++k) {
      const int64_t begin = offsets.data()[k], end = offsets.data()[k + 1];
      if (begin < 0 || end < begin || size_t(end) > odd.size()) {
        throw std::invalid_argument("offsets must rise from 0 to the length of odd");
      }
      control.poll_now(double(k) / double(sets));  // a set may take a tenth of a millisecond
      joins.infeasible = solver_->solve({odd.data() + begin, size_t(end - begin)}, control,
                                        joins.edges, joins.digits);
      if (joins.infeasible < 0) joins.offsets.push_back(int64_t(joins.edges.size()));
    }
    joins.num_done = int64_t(joins.offsets.size()) - 1;
    return joins;
  }

  int32_t num_digits() const { return solver_->num_digits; }
  int32_t exponent() const { return solver_->exponent; }

 private:
  std::unique_ptr<TJoinSolver> solver_;
  std::mutex mutex_;
};

template <typename Weight>
void make_solver(Solver* self, int32_t num_vertices, In2<int32_t> edges, In1<Weight> weights,
                 In1<int32_t> boundary) {
  new (self) Solver(num_vertices, edges, exact(weights), boundary);
}

}  // namespace

void bind_matching(nb::module_& m) {
  nb::class_<TJoinState>(m, "TJoinState", "What a later solve on the same graph can start from.");
  nb::class_<TJoinSolution>(m, "TJoinSolution")
      .def_ro("infeasible", &TJoinSolution::infeasible)
      .def_ro("exact", &TJoinSolution::exact)
      .def_ro("exponent", &TJoinSolution::exponent)
      .def_ro("num_digits", &TJoinSolution::num_digits)
      .def_prop_ro("join", array_of(&TJoinSolution::join))
      .def_prop_ro("order", array_of(&TJoinSolution::order))
      .def_prop_ro("start", array_of(&TJoinSolution::start))
      .def_prop_ro("stop", array_of(&TJoinSolution::stop))
      .def_prop_ro("parent", array_of(&TJoinSolution::parent))
      .def_prop_ro("values", array_of(&TJoinSolution::values))
      .def_prop_ro("objective", array_of(&TJoinSolution::objective))
      .def_prop_ro("lower", array_of(&TJoinSolution::lower))
      .def_prop_ro("offset", array_of(&TJoinSolution::offset))
      .def_prop_ro("counters", array_of(&TJoinSolution::counters))
      .def_prop_ro("seconds", array_of(&TJoinSolution::seconds))
      .def_prop_ro("state", [](const TJoinSolution& s) -> std::optional<State> {
        if (!s.state) return std::nullopt;
        return std::const_pointer_cast<TJoinState>(s.state);
      });
  nb::class_<Joins>(m, "Joins")
      .def_ro("num_done", &Joins::num_done)
      .def_ro("infeasible", &Joins::infeasible)
      .def_prop_ro("offsets", array_of(&Joins::offsets))
      .def_prop_ro("edges", array_of(&Joins::edges))
      .def_prop_ro("digits", array_of(&Joins::digits));
  const auto define = [&m](const char* name, auto function) {
    m.def(name, function, nb::arg("num_vertices"), nb::arg("edges").noconvert(),
          nb::arg("weights").noconvert(), nb::arg("odd").noconvert(),
          nb::arg("boundary").noconvert(), nb::arg("perfect"), nb::arg("start").none(),
          nb::arg("progress").none(), nb::arg("seconds"), nb::arg("threads"), nb::arg("give_up"),
          nb::arg("absolute"));
  };
  nb::class_<Solver>(m, "TJoinSolver", "Joins many sets of odd vertices on one graph.")
      .def("__init__", &make_solver<int64_t>, nb::arg("num_vertices"), nb::arg("edges").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("boundary").noconvert())
      .def("__init__", &make_solver<double>, nb::arg("num_vertices"), nb::arg("edges").noconvert(),
           nb::arg("weights").noconvert(), nb::arg("boundary").noconvert())
      .def("solve", &Solver::solve, nb::arg("offsets").noconvert(), nb::arg("odd").noconvert(),
           nb::arg("progress").none(), nb::arg("seconds"))
      .def_prop_ro("num_digits", &Solver::num_digits)
      .def_prop_ro("exponent", &Solver::exponent);
  m.def("negative_parity", &parity_of, nb::arg("num_vertices"), nb::arg("edges").noconvert(),
        nb::arg("values").noconvert(), nb::arg("threads"));
  define("minimum_tjoin_int", &tjoin<int64_t>);
  define("minimum_tjoin_float", &tjoin<double>);
}

}  // namespace planaris::bindings
