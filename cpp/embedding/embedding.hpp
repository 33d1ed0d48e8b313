// Rotation systems. Half-edge 2e runs edges[e][0] -> edges[e][1], half-edge 2e+1 back, so the
// twin of h is h ^ 1. A rotation lists the half-edges leaving each vertex counter-clockwise,
// as one array grouped by vertex with offsets. Faces lie on the left of their half-edges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/team.hpp"
#include "base/unwritten.hpp"

namespace planaris {

struct RotationView {
  std::span<const int32_t> edges;     // 2m: tail, head of each edge
  std::span<const int32_t> rotation;  // 2m half-edges grouped by tail
  std::span<const int32_t> offsets;   // n + 1

  int32_t num_vertices() const { return static_cast<int32_t>(offsets.size()) - 1; }
  int32_t num_half_edges() const { return static_cast<int32_t>(rotation.size()); }
  int32_t tail(int32_t half_edge) const { return edges[half_edge]; }
  int32_t head(int32_t half_edge) const { return edges[half_edge ^ 1]; }
};

struct Faces {
  UnwrittenVector<int32_t> face_of;  // face on the left of each half-edge
  UnwrittenVector<int32_t> walk;     // half-edges face by face, in walking order
  UnwrittenVector<int32_t> offsets;  // num_faces + 1
};

// Orbits of h -> the half-edge clockwise after twin(h) at its head.
// Throws std::invalid_argument if `rotation` is no permutation grouped by tail.
// Faces are numbered by their smallest half-edge, where their walks begin.
Faces trace_faces(const RotationView& rotation);
// The same by several threads, which share graphs of `least` half-edges or more.
Faces trace_faces(const RotationView& rotation, Team& team, int32_t least = 1 << 17);

// Two coordinates per face: the mean of its corners that have a position, of two finite numbers;
// zeros where none has. `positions` holds two numbers per vertex.
std::vector<double> face_centres(std::span<const int32_t> edges, std::span<const int32_t> walk,
                                 std::span<const int32_t> offsets,
                                 std::span<const double> positions);

// Component of every vertex, numbered in order of the first vertex.
std::vector<int32_t> connected_components(int32_t num_vertices, std::span<const int32_t> edges);
// The same by several threads.
std::vector<int32_t> connected_components(int32_t num_vertices, std::span<const int32_t> edges,
                                          Team& team);

}  // namespace planaris
