#include "embedding/drawing.hpp"

#include "embedding/embedding.hpp"
#include "third_party/doctest/doctest.h"

using namespace planaris;

static Drawing draw(int32_t n, const std::vector<int32_t>& edges, const std::vector<double>& at) {
  Control control;
  return embed_drawing(n, edges, at, control);
}

TEST_CASE("a square turns counter clockwise") {
  const Drawing d = draw(4, {0, 1, 1, 2, 2, 3, 3, 0}, {0, 0, 1, 0, 1, 1, 0, 1});
  CHECK(d.flaw == Flaw::none);
  CHECK((d.rotation == std::vector<int32_t>{0, 7, 2, 1, 4, 3, 5, 6}));
  CHECK(d.outer.size() == 1);
  CHECK(d.outer[0] == 7);  // from (0, 0) up: the outside is on its left
}

TEST_CASE("flaws are named") {
  CHECK(draw(4, {0, 1, 2, 3}, {0, 0, 2, 2, 0, 2, 2, 0}).flaw == Flaw::crossing);
  const Drawing overlap = draw(3, {0, 1, 0, 2}, {0, 0, 2, 2, 1, 1});
  CHECK(overlap.flaw == Flaw::overlap);
  CHECK(overlap.first == 0);
  CHECK(overlap.second == 1);
  const Drawing through = draw(4, {0, 1, 2, 3}, {0, 0, 2, 2, 1, 1, 2, 0});
  CHECK(through.flaw == Flaw::through_vertex);
  CHECK(through.first == 0);
  CHECK(through.second == 2);
  CHECK(draw(4, {0, 1, 2, 3}, {0, 0, 1, 0, 5, 5, 1, 0}).flaw == Flaw::same_place);
  CHECK(draw(4, {0, 1, 2, 3}, {0, 0, 3, 0, 1, 0, 5, 0}).flaw != Flaw::none);
}

TEST_CASE("an isolated vertex takes up no room") {
  CHECK(draw(3, {0, 1}, {0, 0, 2, 0, 1, 0}).flaw == Flaw::none);
}

TEST_CASE("parallel edges lie side by side") {
  const std::vector<int32_t> edges{0, 1, 1, 0, 0, 1};
  const Drawing d = draw(2, edges, {0, 0, 1, 0});
  CHECK(d.flaw == Flaw::none);
  CHECK(trace_faces({edges, d.rotation, d.offsets}).offsets.size() == 4);
}
