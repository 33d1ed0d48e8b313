#include "text/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#if !defined(__cpp_lib_to_chars)
#include <locale>
#include <sstream>
#endif

namespace planaris {

namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool has_nonzero_digit(std::string_view token) {
  for (const char c : token) {
    if (c == 'e' || c == 'E') return false;
    if (c >= '1' && c <= '9') return true;
  }
  return false;
}

bool spells_infinity(std::string_view token) {
  return token.find_first_of("nN") != std::string_view::npos;
}

#if !defined(__cpp_lib_to_chars)
// digits [. digits] [e [sign] digits], with a digit before the exponent.
bool is_decimal(std::string_view token) {
  size_t k = 0, digits = 0;
  const auto skip_digits = [&] {
    for (; k < token.size() && token[k] >= '0' && token[k] <= '9'; ++k) ++digits;
  };
  skip_digits();
  if (k < token.size() && token[k] == '.') ++k;
  skip_digits();
  if (digits == 0 || k == token.size()) return digits > 0;
  if (token[k] != 'e' && token[k] != 'E') return false;
  if (++k < token.size() && (token[k] == '+' || token[k] == '-')) ++k;
  digits = 0;
  skip_digits();
  return digits > 0 && k == token.size();
}

// For standard libraries without from_chars for double: slower, same answers.
bool parse_slowly(std::string_view token, double& value) {
  const bool negative = token[0] == '-';
  if (token.substr(negative) == "inf" || token.substr(negative) == "nan") {
    value = token.back() == 'f' ? std::numeric_limits<double>::infinity()
                                : std::numeric_limits<double>::quiet_NaN();
    if (negative) value = -value;
    return true;
  }
  if (!is_decimal(token.substr(negative))) return false;
  std::istringstream stream{std::string(token)};
  stream.imbue(std::locale::classic());
  stream >> value;
  if (stream.fail() && std::abs(value) == std::numeric_limits<double>::max()) {
    value = std::numeric_limits<double>::infinity();
    return true;
  }
  return true;
}
#endif

// What is shown of a token in an error: short, printable.
std::string shown(std::string_view token) {
  if (token.empty()) return "the end of the file";
  std::string text = "'";
  for (const char c : token.substr(0, 40)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      text += c;
    } else {
      const char* digits = "0123456789abcdef";
      text += "\\x";
      text += digits[byte >> 4];
      text += digits[byte & 15];
    }
  }
  return text + (token.size() > 40 ? "…'" : "'");
}

}  // namespace

NumberStatus parse_double(std::string_view token, double& value) {
  if (!token.empty() && token[0] == '+') {
    token.remove_prefix(1);
    if (!token.empty() && token[0] == '-') return NumberStatus::kNotANumber;
  }
  if (token.empty()) return NumberStatus::kNotANumber;
  value = 0.0;
#if defined(__cpp_lib_to_chars)
  const auto [end, code] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (end != token.data() + token.size()) return NumberStatus::kNotANumber;
  if (code == std::errc::invalid_argument) return NumberStatus::kNotANumber;
  if (code == std::errc::result_out_of_range) return NumberStatus::kOutOfRange;
#else
  if (!parse_slowly(token, value)) return NumberStatus::kNotANumber;
#endif
  // Some libraries round to zero or infinity without a word.
  if (value == 0.0 && has_nonzero_digit(token)) return NumberStatus::kOutOfRange;
  if (std::isinf(value) && !spells_infinity(token)) return NumberStatus::kOutOfRange;
  return NumberStatus::kOk;
}

TextCursor::TextCursor(std::string_view text, std::string_view comment_starts) : text_(text) {
  for (const char c : comment_starts) is_comment_[static_cast<unsigned char>(c)] = true;
  for (int c = '\t'; c <= '\r'; ++c) token_ends_at_[c] = true;
  token_ends_at_[static_cast<unsigned char>(' ')] = true;
  token_ends_at_[static_cast<unsigned char>('#')] = is_comment_[static_cast<unsigned char>('#')];
  if (text_.substr(0, 3) == "\xEF\xBB\xBF") place_ = 3;  // byte order mark
}

std::string_view TextCursor::take_token() {
  const size_t begin = place_;
  while (place_ < text_.size() && !token_ends_at_[static_cast<unsigned char>(text_[place_])]) {
    ++place_;
  }
  return last_ = text_.substr(begin, place_ - begin);
}

void TextCursor::next_line() {
  while (place_ < text_.size() && text_[place_] != '\n') ++place_;
  if (place_ < text_.size()) ++place_;
}

std::string_view TextCursor::next() {
  while (place_ < text_.size()) {
    const char c = text_[place_];
    if (is_space(c)) {
      ++place_;
    } else if (is_comment_[static_cast<unsigned char>(c)]) {
      next_line();
    } else {
      return take_token();
    }
  }
  return text_.substr(place_, 0);
}

std::string_view TextCursor::next_in_line() {
  while (place_ < text_.size()) {
    const char c = text_[place_];
    if (c == '\n' || is_comment_[static_cast<unsigned char>(c)]) break;
    if (!is_space(c)) return take_token();
    ++place_;
  }
  return text_.substr(place_, 0);
}

int64_t TextCursor::line_of(std::string_view token) const {
  const auto* end = std::max(token.data(), text_.data());
  return 1 + std::count(text_.data(), end, '\n');
}

ScanError TextCursor::error(std::string_view token, std::string expected) const {
  const size_t at = static_cast<size_t>(token.data() - text_.data());
  const size_t newline = at == 0 ? std::string_view::npos : text_.rfind('\n', at - 1);
  const size_t start = newline == std::string_view::npos ? 0 : newline + 1;
  return {line_of(token), static_cast<int64_t>(at - start) + 1, std::move(expected), shown(token)};
}

TextRows scan_rows(std::string_view text, std::string_view comment_starts, Control& control) {
  TextRows rows;
  rows.row_offsets.push_back(0);
  TextCursor cursor(text, comment_starts);
  for (int64_t line = 1; !cursor.at_end(); ++line, cursor.next_line()) {
    control.poll();
    for (;;) {
      const std::string_view token = cursor.next_in_line();
      if (token.empty()) break;
      double value;
      const NumberStatus status = parse_double(token, value);
      if (status != NumberStatus::kOk || !std::isfinite(value)) {
        rows.error =
            cursor.error(token, status == NumberStatus::kOutOfRange ? "a number that fits a double"
                                                                    : "a finite number");
        return rows;
      }
      rows.values.push_back(value);
    }
    if (static_cast<int64_t>(rows.values.size()) > rows.row_offsets.back()) {
      rows.row_offsets.push_back(static_cast<int64_t>(rows.values.size()));
      rows.row_lines.push_back(line);
    }
  }
  return rows;
}

}  // namespace planaris
