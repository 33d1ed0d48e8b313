// Reading numbers from text, at memory speed and without the locale. A scanner never throws on
// what a file holds: it stops at the first thing it did not expect and says where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/control.hpp"

namespace planaris {

// Where a scan stopped; `line` and `column` count from one, `line` is 0 when all went well.
struct ScanError {
  int64_t line = 0;
  int64_t column = 0;
  std::string expected;
  std::string found;

  explicit operator bool() const { return line != 0; }
};

// Log potentials beyond this are refused, so that no sum of 10^8 of them can overflow.
inline constexpr double kLargestLog = 1e300;

enum class NumberStatus { kOk, kNotANumber, kOutOfRange };

// Reads all of `token` as a number; "+1", "inf" and "nan" are numbers. A number too large for
// a double, or not zero but too small for one, is out of range.
NumberStatus parse_double(std::string_view token, double& value);

// Walks over tokens separated by white space, past comments that run to the end of the line.
class TextCursor {
 public:
  // A comment begins at a token that begins with one of `comment_starts`.
  TextCursor(std::string_view text, std::string_view comment_starts);

  // The next token, empty at the end of the text.
  std::string_view next();
  // The next token of this line, empty at its end (which `next_line` steps over).
  std::string_view next_in_line();
  bool at_end() const { return place_ == text_.size(); }
  // The token that `next` returned last.
  std::string_view last() const { return last_; }
  void next_line();
  size_t remaining() const { return text_.size() - place_; }

  // Describes a token that is not what was expected.
  ScanError error(std::string_view token, std::string expected) const;
  // Counts lines from the start: for errors, not for loops.
  int64_t line_of(std::string_view token) const;

 private:
  std::string_view take_token();

  std::string_view text_;
  std::string_view last_;
  size_t place_ = 0;
  bool token_ends_at_[256] = {};
  bool is_comment_[256] = {};
};

struct UaiModel {
  std::vector<int32_t> cardinalities;
  std::vector<int32_t> scopes;
  std::vector<int64_t> scope_offsets;  // factors + 1
  std::vector<double> values;
  std::vector<int64_t> table_offsets;  // factors + 1
  ScanError error;
};

// Reads a UAI model. Tables that cannot fit in what is left of the text (N numbers need 2N - 1
// bytes) are refused before anything of their size is allocated.
UaiModel scan_uai(std::string_view text, bool log, Control& control);

struct TextRows {
  std::vector<double> values;        // finite numbers, row by row
  std::vector<int64_t> row_offsets;  // rows + 1
  std::vector<int64_t> row_lines;    // line of each row, counted from one
  ScanError error;
};

// Reads lines of numbers; blank lines and comments make no row.
TextRows scan_rows(std::string_view text, std::string_view comment_starts, Control& control);

}  // namespace planaris
