// Arrays out of fuzzer bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace planaris::fuzz {

class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  uint8_t byte() { return place_ < size_ ? data_[place_++] : 0; }
  // Mostly small, now and then any number at all.
  int32_t index(int32_t near) {
    const uint8_t b = byte();
    if (b < 250) return near > 0 ? b % near : 0;
    int32_t any = 0;
    for (int k = 0; k < 4; ++k) any = static_cast<int32_t>(uint32_t(any) << 8 | byte());
    return any;
  }
  double number() {
    const uint8_t b = byte();
    if (b < 240) return (b - 120) / 16.0;
    uint64_t bits = 0;
    for (int k = 0; k < 8; ++k) bits = bits << 8 | byte();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  std::vector<int32_t> indices(size_t count, int32_t near) {
    std::vector<int32_t> out(count);
    for (auto& v : out) v = index(near);
    return out;
  }
  std::vector<double> numbers(size_t count) {
    std::vector<double> out(count);
    for (auto& v : out) v = number();
    return out;
  }

 private:
  const uint8_t* data_;
  size_t size_, place_ = 0;
};

}  // namespace planaris::fuzz
