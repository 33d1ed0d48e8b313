#include "embedding/chords.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace planaris {

namespace {

class Splitter {
 public:
  Splitter(const RotationView& r, int32_t max_length, Control& control)
      : r_(r), max_length_(max_length), control_(control), num_given_(r.num_half_edges()),
        faces_(trace_faces(r)), next_(num_given_), previous_(num_given_) {
    for (int32_t v = 0; v < r.num_vertices(); ++v) {
      for (int32_t k = r.offsets[v]; k < r.offsets[v + 1]; ++k) {
        const int32_t h = r.rotation[k];
        next_[h] = r.rotation[k + 1 == r.offsets[v + 1] ? r.offsets[v] : k + 1];
        previous_[next_[h]] = h;
      }
    }
    control_.spend(8 * static_cast<int64_t>(num_given_));
  }

  Split run() {
    Split split;
    for (size_t f = 0; f + 1 < faces_.offsets.size(); ++f) {
      control_.spend(4);
      ring_.assign(faces_.walk.begin() + faces_.offsets[f],
                   faces_.walk.begin() + faces_.offsets[f + 1]);
      while (static_cast<int32_t>(ring_.size()) > max_length_ && shorten()) {
      }
      split.centre.push_back(ring_[0]);
    }
    list_rotation(split);
    split.chords = std::move(chords_);
    return split;
  }

 private:
  int32_t tail(int32_t h) const { return h < num_given_ ? r_.tail(h) : chords_[h - num_given_]; }
  int32_t head(int32_t h) const { return tail(h ^ 1); }

  // Length of the run starting at `at` that a chord may replace; 1 if there is none.
  size_t run_length(size_t at, size_t wanted) const {
    size_t length = std::min(wanted, ring_.size() - at);
    if (length < 2 || tail(ring_[at]) != head(ring_[at + length - 1])) return length;
    // No edge is a loop, so a run that returns to its start does not if one step shorter or
    // longer.
    if (length > 2) return length - 1;
    const bool longer = max_length_ > 3 && at + 3 <= ring_.size() && ring_.size() > 3;
    return longer ? 3 : 1;
  }

  // One round over the ring; whether it became shorter.
  bool shorten() {
    std::vector<int32_t> shorter;
    const size_t before = ring_.size();
    auto excess = static_cast<int64_t>(before) - max_length_;
    for (size_t at = 0; at < before;) {
      control_.spend(4);
      const auto wanted =
          static_cast<size_t>(std::min<int64_t>(max_length_ - 1, std::max<int64_t>(excess, 0) + 1));
      const size_t length = wanted < 2 ? 1 : run_length(at, wanted);
      if (length < 2) {
        shorter.push_back(ring_[at++]);
        continue;
      }
      shorter.push_back(add_chord(ring_[at], ring_[at + length - 1]));
      excess -= static_cast<int64_t>(length) - 1;
      at += length;
    }
    ring_ = std::move(shorter);
    return ring_.size() < before;
  }

  // The chord leaves just left of `first` and arrives just right of the end of `last`.
  int32_t add_chord(int32_t first, int32_t last) {
    const auto chord = num_given_ + static_cast<int32_t>(chords_.size());
    if (chord > std::numeric_limits<int32_t>::max() - 2) {
      throw std::invalid_argument("too many half-edges for int32");
    }
    chords_.push_back(tail(first));
    chords_.push_back(head(last));
    next_.resize(chord + 2);
    previous_.resize(chord + 2);
    insert_between(first, chord, next_[first]);
    insert_between(previous_[last ^ 1], chord + 1, last ^ 1);
    return chord;
  }

  void insert_between(int32_t before, int32_t h, int32_t after) {
    next_[before] = h;
    previous_[h] = before;
    next_[h] = after;
    previous_[after] = h;
  }

  void list_rotation(Split& split) const {
    std::vector<int32_t> degree(r_.num_vertices());
    for (int32_t v = 0; v < r_.num_vertices(); ++v) degree[v] = r_.offsets[v + 1] - r_.offsets[v];
    for (const int32_t v : chords_) ++degree[v];
    split.rotation.reserve(next_.size());
    split.offsets.push_back(0);
    for (int32_t v = 0; v < r_.num_vertices(); ++v) {
      if (degree[v] > 0) {
        int32_t h = r_.rotation[r_.offsets[v]];
        for (int32_t k = 0; k < degree[v]; ++k, h = next_[h]) split.rotation.push_back(h);
      }
      split.offsets.push_back(static_cast<int32_t>(split.rotation.size()));
    }
  }

  const RotationView& r_;
  int32_t max_length_;
  Control& control_;
  int32_t num_given_;
  Faces faces_;                           // also refuses what is no rotation
  std::vector<int32_t> next_, previous_;  // counter-clockwise around the tail
  std::vector<int32_t> chords_, ring_;
};

}  // namespace

Split split_faces(const RotationView& rotation, int32_t max_length, Control& control) {
  if (max_length < 3) throw std::invalid_argument("faces cannot be made shorter than 3");
  return Splitter(rotation, max_length, control).run();
}

}  // namespace planaris
