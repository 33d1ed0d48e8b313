#include <nanobind/stl/string.h>

#include <string>

#include "base/arrays.hpp"
#include "text/text.hpp"

namespace planaris::bindings {

namespace {

std::string_view view(const In1<uint8_t>& text) {
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

UaiModel scan_uai_text(In1<uint8_t> text, bool log) {
  Control control = make_control(std::nullopt);
  nb::gil_scoped_release release;
  return scan_uai(view(text), log, control);
}

TextRows scan_text_rows(In1<uint8_t> text, const std::string& comment_starts) {
  Control control = make_control(std::nullopt);
  nb::gil_scoped_release release;
  return scan_rows(view(text), comment_starts, control);
}

}  // namespace

void bind_text(nb::module_& m) {
  nb::class_<ScanError>(m, "ScanError")
      .def_ro("line", &ScanError::line)
      .def_ro("column", &ScanError::column)
      .def_ro("expected", &ScanError::expected)
      .def_ro("found", &ScanError::found);
  nb::class_<UaiModel>(m, "UaiModel")
      .def_prop_ro("cardinalities", array_of(&UaiModel::cardinalities))
      .def_prop_ro("scopes", array_of(&UaiModel::scopes))
      .def_prop_ro("scope_offsets", array_of(&UaiModel::scope_offsets))
      .def_prop_ro("values", array_of(&UaiModel::values))
      .def_prop_ro("table_offsets", array_of(&UaiModel::table_offsets))
      .def_ro("error", &UaiModel::error);
  nb::class_<TextRows>(m, "TextRows")
      .def_prop_ro("values", array_of(&TextRows::values))
      .def_prop_ro("row_offsets", array_of(&TextRows::row_offsets))
      .def_prop_ro("row_lines", array_of(&TextRows::row_lines))
      .def_ro("error", &TextRows::error);
  m.def("scan_uai", &scan_uai_text, nb::arg("text").noconvert(), nb::arg("log"));
  m.def("scan_rows", &scan_text_rows, nb::arg("text").noconvert(), nb::arg("comment_starts"));
}

}  // namespace planaris::bindings
