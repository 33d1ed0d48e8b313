#include "text/text.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "third_party/doctest/doctest.h"

using namespace planaris;

// A copy of exactly the text's size on the heap: a read beyond it is caught by the sanitizer.
static UaiModel scan(const std::string& text, bool log = false) {
  const std::vector<char> exact(text.begin(), text.end());
  Control control;
  return scan_uai({exact.data(), exact.size()}, log, control);
}

static TextRows scan_lines(const std::string& text, std::string_view comments = "#") {
  const std::vector<char> exact(text.begin(), text.end());
  Control control;
  return scan_rows({exact.data(), exact.size()}, comments, control);
}

static const std::string kModel =
    "MARKOV\n3\n2 2 3\n3\n1 0\n2 0 1\n2 1 2\n\n2\n .5 0\n4\n1 2e-3 +3 4\n6\n1 1 0.25 1 1 1e300\n";

TEST_CASE("a model is read") {
  const UaiModel model = scan(kModel);
  CHECK(!model.error);
  CHECK((model.scopes == std::vector<int32_t>{0, 0, 1, 1, 2}));
  CHECK((model.table_offsets == std::vector<int64_t>{0, 2, 6, 12}));
  CHECK(model.values[0] == 0.5);
  CHECK(model.values[3] == 2e-3);
  CHECK(model.values[4] == 3);
}

TEST_CASE("errors say where") {
  const UaiModel wrong_size = scan("MARKOV\n1\n2\n1\n1 0\n\n  3\n1 2 3");
  CHECK(wrong_size.error.line == 7);
  CHECK(wrong_size.error.column == 3);
  CHECK(wrong_size.error.found == "'3'");
  CHECK(scan("").error.line == 1);
  CHECK(scan("MARKOV 1 2 1 1 0 2 0.5").error.found == "the end of the file");
  CHECK(scan("MARKOV 1 2 1 1 0 2 0.5 -1").error);
  CHECK(scan("MARKOV 1 2 1 1 0 2 0.5 nan").error);
  CHECK(scan("MARKOV 1 2 1 1 0 2 0.5 inf").error);
  CHECK(scan("MARKOV 1 2 1 1 0 2 0.5 1e-400").error);
  CHECK(scan("MARKOV 1 2 1 1 0 2 0.5 1e400").error);
  CHECK(scan("MARKOV 1 2 1 1 0 2 0.5 +-1").error);
  CHECK(scan("MARKOV 1 2 1 1 0 2 0.5 1 2").error);
  CHECK(scan("MARKOV 2 2 2 1 2 1 1 4 1 1 1 1").error);  // a variable twice
  CHECK(scan("MARKOV 1 0 0").error);
  CHECK(!scan("MARKOV 1 2 1 1 0 2 -inf -1e300", true).error);
  CHECK(scan("MARKOV 1 2 1 1 0 2 -inf -1e301", true).error);
}

TEST_CASE("announced tables must fit the file") {
  CHECK(scan("MARKOV 2 2147483647 2147483647 1 2 0 1 4 1 1 1 1").error);
  CHECK(scan("MARKOV 999999999 2 2 2").error);
  CHECK(scan("MARKOV 1 2 888888888 1 0").error);
  std::string wide = "MARKOV 64";
  for (int k = 0; k < 64; ++k) wide += " 1000000";
  wide += " 1 64";
  for (int k = 0; k < 64; ++k) wide.append(" ").append(std::to_string(k));
  CHECK(scan(wide + " 1 1").error);
  // The smallest file that holds its table: one digit and one space a number.
  CHECK(!scan("MARKOV 1 5 1 1 0 5 1 1 1 1 1").error);
}

TEST_CASE("numbers are read to the last bit") {
  std::mt19937_64 random(7);
  for (int k = 0; k < 20000; ++k) {
    const uint64_t bits = random();
    double wanted;
    static_assert(sizeof bits == sizeof wanted);
    __builtin_memcpy(&wanted, &bits, sizeof bits);
    if (!std::isfinite(wanted)) continue;
    char text[64];
    std::snprintf(text, sizeof text, "%.17g", wanted);
    double found;
    CHECK(parse_double(text, found) == NumberStatus::kOk);
    CHECK(found == wanted);
  }
  double value;
  CHECK(parse_double("4.9e-324", value) == NumberStatus::kOk);
  CHECK(value > 0);
  CHECK(parse_double("0e999", value) == NumberStatus::kOk);
  CHECK(value == 0);
  CHECK(parse_double("0.000", value) == NumberStatus::kOk);
  CHECK(value == 0);
  CHECK(parse_double("2e-324", value) == NumberStatus::kOutOfRange);
  CHECK(parse_double("1e309", value) == NumberStatus::kOutOfRange);
  for (const char* bad : {"", "+", "-", "1e", "0x10", "1.2.3", "1,5", "e5", "--1", "1_0"}) {
    CHECK(parse_double(bad, value) == NumberStatus::kNotANumber);
  }
}

TEST_CASE("rows know their lines") {
  const TextRows rows = scan_lines("\xEF\xBB\xBF# head\n1 2 3\r\n\n 4 5#six\n\n7");
  CHECK(!rows.error);
  CHECK((rows.row_offsets == std::vector<int64_t>{0, 3, 5, 6}));
  CHECK((rows.row_lines == std::vector<int64_t>{2, 4, 6}));
  CHECK(scan_lines("1\n2 x").error.line == 2);
}

// Thousands of damaged files: no crash, and what is accepted is consistent.
TEST_CASE("damaged files are harmless") {
  std::mt19937 random(1);
  const auto below = [&random](size_t n) { return static_cast<size_t>(random() % n); };
  const std::string pieces[] = {"-1",
                                "nan",
                                "1e999",
                                "99999999999999999999",
                                std::string(2, '\0'),
                                "#",
                                "inf",
                                " ",
                                "\n",
                                "2147483647",
                                "\xff",
                                "e"};
  int accepted = 0;
  for (int round = 0; round < 30000; ++round) {
    std::string text = kModel;
    for (size_t k = below(4); k < 4; ++k) {
      const size_t at = below(text.size() + 1);
      switch (below(5)) {
        case 0: text.resize(at); break;
        case 1:
          if (at < text.size()) text[at] ^= static_cast<char>(1 << below(8));
          break;
        case 2: text.insert(at, pieces[below(12)]); break;
        case 3: text.erase(at, 1 + below(8)); break;
        default: text.insert(at, text.substr(below(text.size() + 1), below(20)));
      }
      if (text.empty()) text.assign(1, 'M');
    }
    const UaiModel model = scan(text, round % 2 == 0);
    scan_lines(text);
    if (model.error) {
      CHECK(model.error.line >= 1);
      CHECK(model.error.column >= 1);
      CHECK(!model.error.expected.empty());
      continue;
    }
    ++accepted;
    CHECK(model.values.size() == static_cast<size_t>(model.table_offsets.back()));
    CHECK(model.scopes.size() == static_cast<size_t>(model.scope_offsets.back()));
    for (const double x : model.values) {
      CHECK(!std::isnan(x));
      CHECK(x != std::numeric_limits<double>::infinity());
    }
    for (const int32_t v : model.scopes) {
      CHECK(v >= 0);
      CHECK(v < static_cast<int32_t>(model.cardinalities.size()));
    }
  }
  CHECK(accepted > 100);
}
