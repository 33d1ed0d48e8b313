// Chords that split big faces of a rotation system.
#pragma once

#include <cstdint>
#include <vector>

#include "base/control.hpp"
#include "embedding/embedding.hpp"

namespace planaris {

struct Split {
  std::vector<int32_t> chords;    // ends of the added edges; they follow the given ones
  std::vector<int32_t> rotation;  // of the graph with the chords
  std::vector<int32_t> offsets;
  std::vector<int32_t> centre;  // of each given face: a half-edge on the part left last
};

// Adds chords until no face is longer than max_length >= 3. Each round replaces runs of up to
// max_length - 1 half-edges of a face by a chord, so chords nest only O(log length) deep. A
// chord never joins a vertex with itself: a run that would return to its start is cut short
// by one. A face that visits only two vertices cannot be split (none is that long in a plane
// graph).
Split split_faces(const RotationView& rotation, int32_t max_length, Control& control);

}  // namespace planaris
