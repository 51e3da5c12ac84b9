// Tables whose rows are gathered, as codes in blocks along the rows: com.microsoft GatherBlockQuantized. Only the rows that are
// read are turned into floats. Tried with ONNX Runtime 1.23 to 1.30: bytes of 2 (from 1.27 on), 4 and 8 bits, blocks of 16 to
// 256, rows of any length that fills whole bytes, with and without zero points.
#pragma once

#include <optional>
#include <string>

#include "quasar/quant/plan.hpp"
#include "quasar/quant/rewrite_context.hpp"

namespace quasar::quant {

// `node`: a Gather of a table (is_table). nullopt: it stays in float, `why` says why.
std::optional<NodePlan> plan_table_in_blocks(const graph::Node& node, const graph::Model& model, const Scheme& scheme,
                                             std::string& why);

graph::Node gather_block_quantized(const graph::Node& node, const NodePlan& plan, const RewriteContext& context);

// A table that has the same codes as the weights of a MatMulNBits is stored once: the table reads the product's initializers in
// a shape of its own (Reshape, which ONNX Runtime folds). So tied weights stay tied where both have the same bits and blocks.
void share_tables(graph::Model& quantized);

// Tables that hold the numbers of a product's weights, and whose codes will be others all the same, in words.
std::vector<std::string> notes_on_tied_tables(const graph::Model& model, const Plan& plan);

}  // namespace quasar::quant
