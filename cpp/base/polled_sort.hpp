// A stable sort that looks at the clock: runs are sorted, then merged two by two in small steps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/control.hpp"

namespace planaris {

template <class Value, class Less>
void polled_sort(std::vector<Value>& values, Less less, Control& control) {
  constexpr size_t kRun = 1 << 13;  // sorted, or merged, between two looks at the clock
  const size_t size = values.size();
  for (size_t from = 0; from < size; from += kRun) {
    control.spend(8 * kRun);
    const auto begin = values.begin() + from;
    std::stable_sort(begin, values.begin() + std::min(from + kRun, size), less);
  }
  std::vector<Value> merged(size > kRun ? size : 0);
  for (size_t run = kRun; run < size; run *= 2) {
    for (size_t from = 0; from < size; from += 2 * run) {
      size_t a = from, b = std::min(from + run, size), out = from;
      const size_t middle = b, end = std::min(from + 2 * run, size);
      while (out < end) {
        control.spend(4 * kRun);
        for (const size_t stop = std::min(out + kRun, end); out < stop; ++out) {
          const bool second = a == middle || (b < end && less(values[b], values[a]));
          merged[out] = values[second ? b++ : a++];
        }
      }
    }
    values.swap(merged);
  }
}

}  // namespace planaris
