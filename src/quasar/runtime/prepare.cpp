#include "quasar/runtime/prepare.hpp"

#include <algorithm>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/graph/bodies.hpp"
#include "quasar/graph/half_to_float.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/graph/rewrites/fold_scalars.hpp"
#include "quasar/graph/rewrites/hard_sigmoids.hpp"
#include "quasar/graph/rewrites/plain_gemm.hpp"
#include "quasar/graph/rewrites/plain_scales.hpp"
#include "quasar/ops/parts_of_functions.hpp"
#include "quasar/runtime/custom_operators.hpp"
#include "quasar/runtime/rewrites/fused_operators.hpp"
#include "quasar/runtime/rewrites/idle_moves.hpp"
#include "quasar/runtime/rewrites/zero_states.hpp"
#include "quasar/runtime/rewritten.hpp"
#include "quasar/runtime/weights_apart.hpp"

namespace quasar::runtime {
namespace {

// The first opset whose QuantizeLinear has an axis, for scales per channel.
constexpr int64_t oldest_opset = 13;
constexpr int64_t oldest_ir = 7;  // that of opset 13; from 4 on, initializers need not be inputs

// ONNX Runtime (1.30) folds a Pad with zeros into MaxPool, whose own padding is −inf; into Conv and AveragePool it may.
bool pads_before_max_pool(const graph::Model& model) {
  const graph::Index index(model);
  return std::ranges::any_of(model.nodes, [&](const graph::Node& node) {
    const auto under = [&](const graph::Node& one) { return one.inputs.empty() ? nullptr : index.producer(one.inputs.front()); };
    if (!node.is("MaxPool")) return false;
    const graph::Node* below = under(node);
    while (below != nullptr && (below->is("Identity") || below->is("Dropout"))) below = under(*below);
    return below != nullptr && below->is("Pad");
  });
}

// What ONNX Runtime makes of the graph at its basic level: constants and BatchNorm folded, what does nothing removed. The three
// that would restructure the graph and rename its nodes and values stay off. So does the one that quantizes weights between pairs
// (from 1.21 on): how that is done is chosen here.
graph::Model cleaned(const graph::Model& model) {
  SessionOptions options;
  options.optimization = Optimization::basic;
  options.disabled_optimizers = "TransposeOptimizer;MatMulAddFusion;ConstantSharing;WeightBiasQuantization";
  if (pads_before_max_pool(model)) options.disabled_optimizers += ";Pad_Fusion";
  const WeightsApart apart = apart_for_clean_up(model);
  graph::Model out = rewritten(apart.model, options);
  apart.put_back(out);
  return out;
}

// ONNX Runtime imports every domain that it knows. The user's imports stay: subgraphs and functions may need them.
void strip_imports(graph::Model& model, const graph::Model& original) {
  std::set<std::string> used{""};
  for (const auto& node : model.nodes) used.insert(node.domain);
  std::erase_if(model.opsets,
                [&](const auto& import) { return !used.contains(import.first) && !original.opsets.contains(import.first); });
}

// In float32, and of an opset whose operators can be quantized.
graph::Model modern(const graph::Model& given) {
  const graph::Model model = graph::half_to_float(given);
  if (const std::string why = graph::obstacle(model, !custom_operator_libraries().empty()); !why.empty()) throw Error(why);
  const int64_t opset = model.opset();
  if (opset == 0 || opset >= oldest_opset) return model;
  graph::Model raised = graph::raise_opset(model, oldest_opset);
  raised.inputs = model.inputs;
  raised.outputs = model.outputs;
  return raised;
}

}  // namespace

graph::Model prepare(const graph::Model& given) {
  const graph::Model model = modern(given);
  const TypesOf types_of = [](const graph::Model& one) { return value_types(one); };
  // There and back first: nodes of bodies have the names then that they have in `given` when that is opened.
  graph::Model out = graph::opened(model);
  write_fused_apart(out, types_of);
  drop_copies(out);
  out = graph::opened(cleaned(graph::closed(out)));
  drop_zero_states(out);
  drop_idle_moves(out, types_of);
  graph::write_plain_gemm(out);
  graph::write_plain_scales(out);
  graph::write_hard_sigmoids(out);
  graph::fold_scalars(out, ops::parts_of_functions(graph::Index(out)));
  graph::place_in_bodies(out);
  strip_imports(out, model);
  out.ir_version = std::max(model.ir_version, oldest_ir);
  out.inputs = model.inputs;
  out.outputs = model.outputs;
  out.metadata = model.metadata;
  out.rest = model.rest;
  graph::verify(out, "after ONNX Runtime's clean-up");
  return out;
}

graph::Model unoptimized(const graph::Model& given) {
  graph::Model out = graph::opened(modern(given));
  out.ir_version = std::max(out.ir_version, oldest_ir);
  return out;
}

}  // namespace quasar::runtime
