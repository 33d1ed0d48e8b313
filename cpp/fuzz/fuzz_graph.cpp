// Kernels that take graphs: broken arrays are refused by std::invalid_argument, others solved.
#include <algorithm>
#include <stdexcept>

#include "embedding/chords.hpp"
#include "embedding/drawing.hpp"
#include "embedding/embedding.hpp"
#include "embedding/kuratowski.hpp"
#include "embedding/planarity.hpp"
#include "fuzz/bytes.hpp"
#include "graph/biconnected.hpp"
#include "graph/max_flow.hpp"
#include "polytope/cut_reduction.hpp"
#include "polytope/cut_search.hpp"
#include "polytope/cycle_separation.hpp"
#include "tjoin/matching.hpp"

using namespace planaris;

namespace {

void rotations(fuzz::Bytes& in, int32_t n, const std::vector<int32_t>& edges) {
  const auto count = static_cast<int32_t>(edges.size());
  std::vector<int32_t> rotation = in.indices(edges.size(), std::max(count, 1));
  const std::vector<int32_t> offsets = in.indices(static_cast<size_t>(n) + 1, count + 1);
  const RotationView view{edges, rotation, offsets};
  const Faces faces = trace_faces(view);
  if (faces.walk.size() != edges.size()) __builtin_trap();
}

void planarity(int32_t n, const std::vector<int32_t>& edges, Control& control) {
  require_vertices(n, edges);
  LeftRight test(n, edges, control);
  const bool planar = test.test();
  const Kuratowski proof = find_kuratowski(n, edges, control);
  if (planar != proof.edges.empty()) __builtin_trap();
  if (!planar) return;
  const std::vector<int32_t> rotation = test.rotation();
  const std::vector<int32_t> offsets = std::move(test).offsets();
  const RotationView view{edges, rotation, offsets};
  const Faces faces = trace_faces(view);
  split_faces(view, 4, control);
  // Euler: n - m + f = 1 + components, isolated vertices having no face of their own.
  const auto component = connected_components(n, edges);
  const int32_t components = component.empty() ? 0 : 1 + *std::ranges::max_element(component);
  std::vector<uint8_t> touched(n, 0);
  for (const int32_t v : edges) touched[v] = 1;
  int64_t alone = 0;
  for (const uint8_t t : touched) alone += t == 0;
  const int64_t f = static_cast<int64_t>(faces.offsets.size()) - 1;
  if (n - static_cast<int64_t>(edges.size()) / 2 + f != 2 * int64_t{components} - alone) {
    __builtin_trap();
  }
}

void joins(fuzz::Bytes& in, int32_t n, const std::vector<int32_t>& edges, Control& control) {
  const TJoinWeights weights = dyadic_weights(in.numbers(edges.size() / 2));
  const std::vector<int32_t> odd = in.indices(in.byte() % 8, n);
  const std::vector<int32_t> boundary = in.indices(in.byte() % 3, n);
  const TJoinSolution found =
      minimum_tjoin({n, edges, &weights, odd, boundary, in.byte() % 4 == 0}, nullptr, control);
  if (found.infeasible < 0 && !found.exact) __builtin_trap();
}

void cuts(fuzz::Bytes& in, int32_t n, const std::vector<int32_t>& edges, Control& control) {
  std::vector<double> x = in.numbers(edges.size() / 2);
  for (double& value : x) value = value >= 0 ? std::min(value, 1.0) : 0.0;
  separate_cycles(n, edges, x, {1e-6, 100, 2, 48, 0, 1}, control);
  reduce_cut(n, edges, in.numbers(edges.size() / 2), in.byte() % 2 == 0, control);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Bytes in(data, size);
  const uint8_t what = in.byte() % 6;
  const int32_t n = in.byte() % 12;
  const std::vector<int32_t> edges = in.indices(2 * (in.byte() % 24), n);
  Control control;
  try {
    if (what == 0) rotations(in, n, edges);
    if (what == 1) planarity(n, edges, control);
    if (what == 2) joins(in, n, edges, control);
    if (what == 3) embed_drawing(n, edges, in.numbers(2 * static_cast<size_t>(n)), control);
    if (what == 4) cuts(in, n, edges, control);
    if (what == 5) biconnected_components(n, edges, control);
  } catch (const std::invalid_argument&) {
  } catch (const std::length_error&) {
  }
  return 0;
}
