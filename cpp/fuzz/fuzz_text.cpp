// Text kernels: any bytes are rows, a UAI model, or an error with a place; a model that is read
// and small is also eliminated.
#include <stdexcept>
#include <string_view>

#include "elimination/elimination.hpp"
#include "text/text.hpp"

using namespace planaris;

namespace {

void eliminate(const UaiModel& model) {
  const FactorGraphView graph{model.cardinalities, model.scopes, model.scope_offsets, model.values,
                              model.table_offsets};
  if (graph.num_variables() > 64) return;
  Control control;
  const Adjacency adjacency = factor_adjacency(graph, control);
  const EliminationOrder order =
      greedy_order(graph, adjacency, OrderRule::kMinFill, 1, 12.0, control);
  if (order.log2_largest > 12.0) return;
  try {
    const EliminationTree tree = elimination_tree(graph, adjacency, order.order, 12.0, control);
    eliminate_sum(graph, tree, true, control);
    eliminate_max(graph, tree, false, control);
    eliminate_sample(graph, tree, 1, 1, control);
  } catch (const std::length_error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text{reinterpret_cast<const char*>(data) + 1, size - 1};
  Control control;
  if (data[0] % 3 == 0) {
    const TextRows rows = scan_rows(text, "#cp%", control);
    if (rows.row_offsets.size() != rows.row_lines.size() + 1) __builtin_trap();
    return 0;
  }
  const bool log = data[0] % 3 == 1;
  const UaiModel model = scan_uai(text, log, control);
  if (!model.error && log) eliminate(model);
  return 0;
}
