#include <nanobind/stl/string.h>

#include <string>

#include "base/arrays.hpp"
#include "text/text.hpp"

namespace planaris::bindings {

namespace {

using Error = std::tuple<int64_t, int64_t, std::string, std::string>;

Error to_tuple(const ScanError& e) { return {e.line, e.column, e.expected, e.found}; }

std::string_view view(const In1<uint8_t>& text) {
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

std::tuple<bool, Out1<int32_t>, Out1<int32_t>, Out1<int64_t>, Out1<double>, Out1<int64_t>, Error>
scan_uai_text(In1<uint8_t> text, bool log) {
  UaiModel model;
  Control control = make_control(std::nullopt);
  {
    nb::gil_scoped_release release;
    model = scan_uai(view(text), log, control);
  }
  const Error error = to_tuple(model.error);
  return {model.bayes,
          to_numpy(std::move(model.cardinalities)),
          to_numpy(std::move(model.scopes)),
          to_numpy(std::move(model.scope_offsets)),
          to_numpy(std::move(model.values)),
          to_numpy(std::move(model.table_offsets)),
          error};
}

std::tuple<Out1<double>, Out1<int64_t>, Out1<int64_t>, Error> scan_text_rows(
    In1<uint8_t> text, const std::string& comment_starts) {
  TextRows rows;
  Control control = make_control(std::nullopt);
  {
    nb::gil_scoped_release release;
    rows = scan_rows(view(text), comment_starts, control);
  }
  const Error error = to_tuple(rows.error);
  return {to_numpy(std::move(rows.values)), to_numpy(std::move(rows.row_offsets)),
          to_numpy(std::move(rows.row_lines)), error};
}

}  // namespace

void bind_text(nb::module_& m) {
  m.def("scan_uai", &scan_uai_text, nb::arg("text").noconvert(), nb::arg("log"));
  m.def("scan_rows", &scan_text_rows, nb::arg("text").noconvert(), nb::arg("comment_starts"));
}

}  // namespace planaris::bindings
