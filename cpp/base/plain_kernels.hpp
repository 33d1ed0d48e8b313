// Vector kernels (AVX2 and beyond) have plain twins for processors without these instructions.
#pragma once

#include <cstdlib>
#include <string_view>

namespace planaris {

// True if the environment variable PLANARIS_PLAIN_KERNELS is set to anything but "" or "0": plain
// kernels then run on any processor, so that tests reach them. Read once.
inline bool plain_kernels() {
  static const bool forced = [] {
    const char* value = std::getenv("PLANARIS_PLAIN_KERNELS");
    return value != nullptr && std::string_view(value) != "" && std::string_view(value) != "0";
  }();
  return forced;
}

}  // namespace planaris
