#include "base/arrays.hpp"
#include "labels/search.hpp"

namespace planaris::bindings {

namespace {

// The steps of all nodes, one after the other.
struct SearchRecords {
  std::vector<int64_t> step_offsets{0}, number_offsets{0};
  std::vector<int32_t> steps, branch_variable, branch_label, child;
  std::vector<double> numbers;
};

class LabelSearch {
 public:
  LabelSearch(In1<int32_t> cardinalities, In1<int32_t> scopes, In1<int64_t> scope_offsets,
              In1<double> log_values, In1<int64_t> table_offsets, double tolerance, double constant,
              double gap, bool prove, int64_t max_bytes, Progress progress, double seconds)
      : cardinalities_(cardinalities), scopes_(scopes), scope_offsets_(scope_offsets),
        log_values_(log_values), table_offsets_(table_offsets), search_([&] {
          labels::SearchOptions options;
          options.tolerance = tolerance;
          options.constant = constant;
          options.gap = gap;
          options.prove = prove;
          options.max_bytes = max_bytes;
          const labels::Factors factors{flat(cardinalities_), flat(scopes_), flat(scope_offsets_),
                                        flat(log_values_), flat(table_offsets_)};
          Control control = make_control(progress, seconds);
          nb::gil_scoped_release release;
          return labels::Search(factors, options, control);
        }()) {}

  const char* run(Progress progress, double seconds) {
    Control control = make_control(progress, seconds);
    nb::gil_scoped_release release;
    switch (search_.run(control)) {
      case labels::Status::kFinished: return "optimal";
      case labels::Status::kGap: return "gap";
      case labels::Status::kTime: return "time_limit";
      default: return "memory_limit";  // no limit on nodes is set here
    }
  }
  void offer(In1<int32_t> state, double energy) { search_.offer(flat(state), energy); }
  double lower() const { return search_.lower(); }
  double upper() const { return search_.upper(); }
  int64_t nodes() const { return search_.nodes(); }
  int64_t open() const { return search_.open(); }
  int64_t sweeps() const { return search_.sweeps(); }
  int32_t reduced_variables() const { return search_.reduced_variables(); }
  int32_t reduced_edges() const { return search_.reduced_edges(); }
  Out1<int32_t> state() const { return to_numpy(std::vector<int32_t>(search_.state())); }
  Out2<double> trace() const {
    std::vector<double> rows;
    for (const auto& point : search_.trace()) {
      rows.insert(rows.end(), {point.seconds, point.lower, point.upper});
    }
    const size_t count = rows.size() / 3;
    return to_numpy(std::move(rows), count, 3);
  }
  SearchRecords records() {
    SearchRecords out;
    for (const auto& node : search_.finish_records()) {
      out.steps.insert(out.steps.end(), node.steps.begin(), node.steps.end());
      out.numbers.insert(out.numbers.end(), node.numbers.begin(), node.numbers.end());
      out.step_offsets.push_back(static_cast<int64_t>(out.steps.size()));
      out.number_offsets.push_back(static_cast<int64_t>(out.numbers.size()));
      out.branch_variable.push_back(node.variable);
      out.branch_label.push_back(node.label);
      out.child.insert(out.child.end(), node.children, node.children + 2);
    }
    return out;
  }

 private:
  // The search reads them as long as it lives.
  In1<int32_t> cardinalities_, scopes_;
  In1<int64_t> scope_offsets_;
  In1<double> log_values_;
  In1<int64_t> table_offsets_;
  labels::Search search_;
};

}  // namespace

void bind_label_search(nb::module_& m) {
  nb::class_<SearchRecords>(m, "LabelSearchRecords")
      .def_prop_ro("step_offsets", array_of(&SearchRecords::step_offsets))
      .def_prop_ro("steps", array_of(&SearchRecords::steps))
      .def_prop_ro("number_offsets", array_of(&SearchRecords::number_offsets))
      .def_prop_ro("numbers", array_of(&SearchRecords::numbers))
      .def_prop_ro("branch_variable", array_of(&SearchRecords::branch_variable))
      .def_prop_ro("branch_label", array_of(&SearchRecords::branch_label))
      .def_prop_ro("child", pairs_of(&SearchRecords::child));
  nb::class_<LabelSearch>(m, "LabelSearch")
      .def(nb::init<In1<int32_t>, In1<int32_t>, In1<int64_t>, In1<double>, In1<int64_t>, double,
                    double, double, bool, int64_t, Progress, double>(),
           nb::arg("cardinalities").noconvert(), nb::arg("scopes").noconvert(),
           nb::arg("scope_offsets").noconvert(), nb::arg("log_values").noconvert(),
           nb::arg("table_offsets").noconvert(), nb::arg("tolerance"), nb::arg("constant"),
           nb::arg("gap"), nb::arg("prove"), nb::arg("max_bytes"), nb::arg("progress").none(),
           nb::arg("seconds"))
      .def("run", &LabelSearch::run, nb::arg("progress").none(), nb::arg("seconds"))
      .def("offer", &LabelSearch::offer, nb::arg("state").noconvert(), nb::arg("energy"))
      .def_prop_ro("lower", &LabelSearch::lower)
      .def_prop_ro("upper", &LabelSearch::upper)
      .def("state", &LabelSearch::state)
      .def_prop_ro("nodes", &LabelSearch::nodes)
      .def_prop_ro("open", &LabelSearch::open)
      .def_prop_ro("sweeps", &LabelSearch::sweeps)
      .def_prop_ro("reduced_variables", &LabelSearch::reduced_variables)
      .def_prop_ro("reduced_edges", &LabelSearch::reduced_edges)
      .def("trace", &LabelSearch::trace)
      .def("records", &LabelSearch::records);
}

}  // namespace planaris::bindings
