#include "quasar/quant/block_tables.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "quasar/base/error.hpp"
#include "quasar/ops/constants.hpp"
#include "quasar/quant/codes/weights.hpp"
#include "quasar/quant/packed_codes.hpp"

namespace quasar::quant {
namespace {

// Codes of the rows alone, without what fills up their last blocks.
std::vector<uint8_t> without_filling(const PackedCodes& made, const MatrixRows& table, size_t bits) {
  const size_t line = made.codes.size() / table.outputs, used = table.inputs * bits / 8;
  std::vector<uint8_t> out;
  out.reserve(table.outputs * used);
  for (size_t row = 0; row < table.outputs; ++row) {
    const auto from = made.codes.begin() + static_cast<ptrdiff_t>(row * line);
    out.insert(out.end(), from, from + static_cast<ptrdiff_t>(used));
  }
  return out;
}

bool same_bytes(const Tensor* a, const Tensor* b) {
  return a != nullptr && b != nullptr && a->type() == b->type() && a->count() == b->count() && a->reshaped(b->shape()) == *b;
}

// Inputs of MatMulNBits and of GatherBlockQuantized that hold the same things.
struct Shared {
  size_t product, table;
};
constexpr std::array shared_inputs{Shared{1, 0}, Shared{2, 2}, Shared{3, 3}};

bool same_codes(const graph::Node& product, const graph::Node& table, const graph::Model& model) {
  const auto held = [&](const graph::Node& node, size_t input) {
    return ops::has_input(node, input) ? model.initializer(node.inputs[input]) : nullptr;
  };
  return std::ranges::all_of(shared_inputs, [&](const Shared& inputs) {
    const Tensor *a = held(product, inputs.product), *b = held(table, inputs.table);
    return (a == nullptr && b == nullptr && inputs.product == 3) || same_bytes(a, b);
  });
}

// Whether the product's matrix holds the table's numbers, turned around or not.
bool holds(const graph::Node& product, const Tensor& table, const graph::Model& model) {
  const Tensor* matrix = product.is("MatMul") || product.is("Gemm") ? ops::constant_input(product, 1, model) : nullptr;
  if (matrix == nullptr || matrix->type() != DataType::float32 || matrix->shape().size() != 2) return false;
  const bool turned = !(product.is("Gemm") && product.integer("transB", 0) != 0);
  const int64_t rows = table.shape()[0], columns = table.shape()[1];
  if (matrix->shape() != (turned ? Shape{columns, rows} : Shape{rows, columns})) return false;
  if (!turned) return *matrix == table;
  const auto a = table.as<float>(), b = matrix->as<float>();
  for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
    for (size_t c = 0; c < static_cast<size_t>(columns); ++c) {
      if (a[r * static_cast<size_t>(columns) + c] != b[c * static_cast<size_t>(rows) + r]) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<NodePlan> plan_table_in_blocks(const graph::Node& node, const graph::Model& model, const Scheme& scheme,
                                             std::string& why) {
  const Tensor* table = ops::constant_input(node, 0, model);
  if (!ops::is_quantizable_constant(table, "table", why)) return std::nullopt;
  const size_t bits = bits_of(scheme.type);
  if (table->shape().size() != 2 || node.integer("axis", 0) != 0) {
    why = "GatherBlockQuantized takes whole rows of a matrix";
  } else if (static_cast<size_t>(table->shape()[1]) * bits % 8 != 0) {
    why = "rows of " + std::to_string(table->shape()[1]) + " codes of " + std::to_string(bits) + " bits do not end with a byte";
  } else {
    NodePlan plan{.form = NodeForm::weights_only};
    plan.weight = ConstantPlan{0, weight_params(*table, 0, scheme)};
    if (plan.weight->params.real_zero_points.empty()) return plan;
    why = "GatherBlockQuantized has no zero points that are no integers";
  }
  return std::nullopt;
}

graph::Node gather_block_quantized(const graph::Node& node, const NodePlan& plan, const RewriteContext& context) {
  const std::string& name = node.inputs.at(0);
  const Tensor* values = context.model.initializer(name);
  if (values == nullptr || values->shape().size() != 2)
    throw Error("the plan does not fit the model: the table of " + node.name + " is not a constant matrix");
  const QuantParams& params = plan.weight->params;
  const MatrixRows table = rows_of(values->shape(), true);
  const PackedCodes made = packed(quantize(*values, params), params, table);
  const size_t bits = bits_of(params.type);
  const auto rows = static_cast<int64_t>(table.outputs), blocks = static_cast<int64_t>(made.blocks);
  const auto stored = [&](const std::string& what, int64_t columns, const auto& held) {
    return context.add(name + what, Tensor::of(Shape{rows, columns}, held));
  };
  const std::vector<uint8_t> codes = without_filling(made, table, bits);
  graph::Node out{.name = node.name,
                  .op_type = "GatherBlockQuantized",
                  .domain = "com.microsoft",
                  .inputs = {stored("_quantized", static_cast<int64_t>(codes.size()) / rows, codes), node.inputs.at(1),
                             stored("_scale", blocks, made.scales)},
                  .outputs = node.outputs,
                  .inside = node.inside};
  if (!made.neutral)
    out.inputs.push_back(stored("_zero_point", static_cast<int64_t>(made.zero_points.size()) / rows, made.zero_points));
  out.attributes = {{"bits", static_cast<int64_t>(bits)},
                    {"block_size", static_cast<int64_t>(made.block)},
                    {"gather_axis", int64_t{0}},
                    {"quantize_axis", int64_t{1}}};
  return out;
}

void share_tables(graph::Model& quantized) {
  if (std::ranges::count(quantized.nodes, "GatherBlockQuantized", &graph::Node::op_type) == 0) return;
  graph::Names names(quantized);
  const std::vector<graph::Node> before = std::exchange(quantized.nodes, {});
  for (const graph::Node& node : before) {
    if (node.op_type != "GatherBlockQuantized") {
      quantized.nodes.push_back(node);
      continue;
    }
    const auto same = std::ranges::find_if(before, [&](const graph::Node& product) {
      return product.op_type == "MatMulNBits" && node.inside == product.inside && same_codes(product, node, quantized);
    });
    graph::Node table = node;
    for (const Shared& inputs : shared_inputs) {
      if (same == before.end() || !ops::has_input(node, inputs.table)) continue;
      std::string& read = table.inputs[inputs.table];
      const std::string shape = names.fresh(read + "_shape"), view = names.fresh(read + "_rows");
      const Shape& wanted = quantized.initializers.at(read).shape();
      quantized.initializers[shape] = Tensor::of<int64_t>({std::ssize(wanted)}, std::vector<int64_t>(wanted));
      quantized.nodes.push_back({.name = names.fresh(read + "_Reshape"),
                                 .op_type = "Reshape",
                                 .domain = "",
                                 .inputs = {same->inputs[inputs.product], shape},
                                 .outputs = {view},
                                 .inside = node.inside});
      read = view;
    }
    quantized.nodes.push_back(std::move(table));
  }
  graph::remove_unused(quantized);
}

std::vector<std::string> notes_on_tied_tables(const graph::Model& model, const Plan& plan) {
  std::vector<std::string> out;
  const auto planned = [&](const graph::Node& node) -> const NodePlan* {
    const auto found = plan.nodes.find(node.name);
    return found == plan.nodes.end() || found->second.form == NodeForm::pairs ? nullptr : &found->second;
  };
  for (const auto& gather : model.nodes) {
    if (!gather.is("Gather") || planned(gather) == nullptr || planned(gather)->form != NodeForm::weights_only) continue;
    const QuantParams& own = planned(gather)->weight->params;
    for (const auto& product : model.nodes) {
      if (planned(product) == nullptr || !holds(product, *model.initializer(gather.inputs[0]), model)) continue;
      const QuantParams& other = planned(product)->weight->params;
      const std::string what =
          "the table of " + gather.name + " and the weights of " + product.name + " are the same numbers, and stored twice: ";
      if (own.type != other.type || own.block != other.block) {
        out.push_back(what + "their bits or blocks differ");
      } else if (own.block > 0 && model.initializer(gather.inputs[0])->shape()[1] % own.block != 0) {
        out.push_back(what + "rows do not end with a block, which the product's codes are filled up to");
      } else if (plan.rounding.optimizes()) {
        out.push_back(what + "optimized rounding chooses the product's codes for its inputs, and the table keeps the nearest");
      }
    }
  }
  return out;
}

}  // namespace quasar::quant
