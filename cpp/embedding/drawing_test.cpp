#include "embedding/drawing.hpp"

#include "base/check.hpp"
#include "embedding/embedding.hpp"

using namespace planaris;

static Drawing draw(int32_t n, const std::vector<int32_t>& edges, const std::vector<double>& at) {
  Control control;
  return embed_drawing(n, edges, at, control);
}

static void a_square_turns_counter_clockwise() {
  const Drawing d = draw(4, {0, 1, 1, 2, 2, 3, 3, 0}, {0, 0, 1, 0, 1, 1, 0, 1});
  CHECK(d.flaw == Flaw::none);
  CHECK((d.rotation == std::vector<int32_t>{0, 7, 2, 1, 4, 3, 5, 6}));
  CHECK(d.outer.size() == 1);
  CHECK(d.outer[0] == 7);  // from (0, 0) up: the outside is on its left
}

static void flaws_are_named() {
  CHECK(draw(4, {0, 1, 2, 3}, {0, 0, 2, 2, 0, 2, 2, 0}).flaw == Flaw::crossing);
  const Drawing overlap = draw(3, {0, 1, 0, 2}, {0, 0, 2, 2, 1, 1});
  CHECK(overlap.flaw == Flaw::overlap && overlap.first == 0 && overlap.second == 1);
  const Drawing through = draw(4, {0, 1, 2, 3}, {0, 0, 2, 2, 1, 1, 2, 0});
  CHECK(through.flaw == Flaw::through_vertex && through.first == 0 && through.second == 2);
  CHECK(draw(4, {0, 1, 2, 3}, {0, 0, 1, 0, 5, 5, 1, 0}).flaw == Flaw::same_place);
  CHECK(draw(4, {0, 1, 2, 3}, {0, 0, 3, 0, 1, 0, 5, 0}).flaw != Flaw::none);
}

static void an_isolated_vertex_takes_up_no_room() {
  CHECK(draw(3, {0, 1}, {0, 0, 2, 0, 1, 0}).flaw == Flaw::none);
}

static void parallel_edges_lie_side_by_side() {
  const std::vector<int32_t> edges{0, 1, 1, 0, 0, 1};
  const Drawing d = draw(2, edges, {0, 0, 1, 0});
  CHECK(d.flaw == Flaw::none);
  CHECK(trace_faces({edges, d.rotation, d.offsets}).offsets.size() == 4);
}

int main() {
  a_square_turns_counter_clockwise();
  flaws_are_named();
  an_isolated_vertex_takes_up_no_room();
  parallel_edges_lie_side_by_side();
}
