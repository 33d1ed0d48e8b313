#include "pfaffian/leg_logarithms.hpp"

#include <cmath>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "base/splitmix64.hpp"
#include "base/team.hpp"

namespace planaris {

double leg_shift(uint64_t leg) {
  return static_cast<double>(mix64((leg + 1) * kGoldenGamma) >> 11) * 0x1p-52 - 1.0;
}

double leg_logarithms(std::span<const double> scale, std::span<const double> gauged,
                      std::span<double> face, std::span<double> shifted, int threads,
                      Control& control) {
  const size_t legs = 2 * gauged.size();
  if (scale.size() != legs || face.size() != legs || (!shifted.empty() && shifted.size() != legs)) {
    throw std::invalid_argument("scale, face and shifted must hold one number per leg");
  }
  Team team(threads, control);
  const int parts = Team::parts(3.0 * static_cast<double>(legs));
  std::vector<double> sizes(parts, 0.0);
  team.split(static_cast<int64_t>(legs), parts, [&](int64_t begin, int64_t end, int part) {
    if (shifted.empty()) {
      for (int64_t leg = begin; leg < end; ++leg) face[leg] = scale[leg] - gauged[leg / 2];
    } else {
      for (int64_t leg = begin; leg < end; ++leg) {
        shifted[leg] = scale[leg] + leg_shift(leg);
        face[leg] = shifted[leg] - gauged[leg / 2];
      }
    }
    double size[4] = {};
    for (int64_t leg = begin; leg < end; ++leg) size[leg % 4] += std::fabs(face[leg]);
    sizes[part] = (size[0] + size[1]) + (size[2] + size[3]);
  });
  return std::accumulate(sizes.begin(), sizes.end(), 0.0);
}

}  // namespace planaris
