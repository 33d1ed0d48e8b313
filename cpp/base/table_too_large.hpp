// Thrown where a table would have more entries than the caller allows: OverflowError in Python, so
// that nobody takes another error for it.
#pragma once

#include <stdexcept>

namespace planaris {

struct TableTooLarge : std::length_error {
  using std::length_error::length_error;
};

}  // namespace planaris
