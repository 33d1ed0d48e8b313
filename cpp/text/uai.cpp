#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "text/text.hpp"

namespace planaris {

namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int32_t>::max();

// Reads one file; every step returns false once `model.error` is set.
class UaiScanner {
 public:
  UaiScanner(std::string_view text, bool log, Control& control)
      : cursor_(text, "#/"), log_(log), control_(control) {}

  UaiModel run() {
    if (header() && cardinalities() && scopes() && tables()) {
      const std::string_view token = cursor_.next();
      if (!token.empty()) fail(token, "the end of the file after the last table");
    }
    return std::move(model_);
  }

 private:
  bool fail(std::string_view token, std::string expected) {
    model_.error = cursor_.error(token, std::move(expected));
    return false;
  }

  bool header() {
    const std::string_view token = cursor_.next();
    std::string word(token);
    for (char& c : word) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (word == "BAYES" || word == "MARKOV") return true;
    return fail(token, "the header MARKOV or BAYES");
  }

  // Integers are digits only. `what` makes the words for an error, so that it costs nothing.
  template <typename What>
  bool integer(int64_t low, int64_t high, int64_t& value, What what) {
    const std::string_view token = cursor_.next();
    value = 0;
    bool good = !token.empty();
    for (size_t k = 0; good && k < token.size(); ++k) {
      const int digit = token[k] - '0';
      good = digit >= 0 && digit <= 9 && value <= high;
      if (good) value = 10 * value + digit;
    }
    if (good && value >= low && value <= high) return true;
    return fail(token, what());
  }

  // At least two bytes a token, less the one that may be missing at the end of the file.
  int64_t most_tokens() const { return static_cast<int64_t>(cursor_.remaining() / 2 + 1); }

  bool counted(int64_t& count, const char* things) {
    const int64_t most = std::min<int64_t>(kMaxInt, most_tokens());
    return integer(0, most, count, [&] {
      return std::string("the number of ") + things + ", at most " + std::to_string(most) +
             " in a file of this size";
    });
  }

  bool cardinalities() {
    int64_t count;
    if (!counted(count, "variables")) return false;
    model_.cardinalities.resize(static_cast<size_t>(count));
    for (int64_t v = 0; v < count; ++v) {
      int64_t labels;
      if (!integer(1, kMaxInt, labels, [v] {
            return "the number of labels of variable " + std::to_string(v) + ", at least 1";
          })) {
        return false;
      }
      model_.cardinalities[v] = static_cast<int32_t>(labels);
    }
    return true;
  }

  bool scopes() {
    int64_t count;
    if (!counted(count, "factors")) return false;
    model_.scope_offsets.assign(1, 0);
    model_.table_offsets.assign(1, 0);
    model_.scope_offsets.reserve(static_cast<size_t>(count) + 1);
    model_.table_offsets.reserve(static_cast<size_t>(count) + 1);
    last_factor_of_.assign(model_.cardinalities.size(), -1);
    for (int64_t factor = 0; factor < count; ++factor) {
      if (!scope(factor)) return false;
    }
    return true;
  }

  bool scope(int64_t factor) {
    control_.poll();
    const auto num_variables = static_cast<int64_t>(model_.cardinalities.size());
    int64_t arity;
    if (!integer(0, num_variables, arity, [&] {
          return "the number of variables of factor " + std::to_string(factor) + ", at most " +
                 std::to_string(num_variables);
        })) {
      return false;
    }
    // The table must fit in what is left of the file; below that bound nothing overflows.
    const int64_t room = most_tokens();
    int64_t size = 1;
    for (int64_t k = 0; k < arity; ++k) {
      int64_t v;
      if (!integer(0, num_variables - 1, v, [&] {
            return "a variable of factor " + std::to_string(factor) + ", 0 to " +
                   std::to_string(num_variables - 1);
          })) {
        return false;
      }
      if (last_factor_of_[v] == factor) {
        return fail(cursor_.last(), "different variables in factor " + std::to_string(factor));
      }
      last_factor_of_[v] = factor;
      model_.scopes.push_back(static_cast<int32_t>(v));
      const int64_t labels = model_.cardinalities[v];
      size = size > room / labels ? room + 1 : size * labels;
    }
    const int64_t total = model_.table_offsets.back() + size;
    if (size > room || total > room) {
      return fail(cursor_.last(),
                  "tables that fit in the " + std::to_string(cursor_.remaining()) +
                      " bytes left of the file, but the tables up to that of factor " +
                      std::to_string(factor) + " need more");
    }
    model_.scope_offsets.push_back(static_cast<int64_t>(model_.scopes.size()));
    model_.table_offsets.push_back(total);
    return true;
  }

  bool tables() {
    model_.values.reserve(static_cast<size_t>(model_.table_offsets.back()));
    for (size_t factor = 0; factor + 1 < model_.table_offsets.size(); ++factor) {
      control_.poll();
      const int64_t size = model_.table_offsets[factor + 1] - model_.table_offsets[factor];
      int64_t stated;
      if (!integer(size, size, stated, [&] {
            return "the table size " + std::to_string(size) + " of factor " +
                   std::to_string(factor);
          })) {
        return false;
      }
      for (int64_t k = 0; k < size; ++k) {
        if (!value(factor, k, size)) return false;
      }
    }
    return true;
  }

  bool value(size_t factor, int64_t k, int64_t size) {
    const std::string_view token = cursor_.next();
    double number;
    const NumberStatus status = parse_double(token, number);
    const bool good =
        status == NumberStatus::kOk &&
        (log_ ? number <= kLargestLog && (number >= -kLargestLog || std::isinf(number))
              : number >= 0 && !std::isinf(number));
    if (good) {
      model_.values.push_back(number);
      return true;
    }
    std::string expected;
    if (status == NumberStatus::kOutOfRange) {
      expected = "a number that fits a double (write natural logarithms to an .LG file instead)";
    } else {
      expected = log_ ? "a logarithm, at most 1e300 in size or -inf"
                      : "a potential, finite and not negative";
    }
    return fail(token, expected + " (number " + std::to_string(k + 1) + " of " +
                           std::to_string(size) + " of factor " + std::to_string(factor) + ")");
  }

  TextCursor cursor_;
  bool log_;
  Control& control_;
  UaiModel model_;
  std::vector<int64_t> last_factor_of_;
};

}  // namespace

UaiModel scan_uai(std::string_view text, bool log, Control& control) {
  return UaiScanner(text, log, control).run();
}

}  // namespace planaris
