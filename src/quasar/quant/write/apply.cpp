// The rewriting of a float model into QDQ format. 4-bit and 16-bit codes: QuantizeLinear and DequantizeLinear have them from
// opset 21 on; below, ONNX Runtime's own operators of the same names (domain com.microsoft) stand in, so that the opset need not
// be raised.
//   x ─Q─DQ─▶ node ─▶ y ─Q─DQ─▶      weights, biases and constants: codes ─DQ─▶ node
#include <algorithm>
#include <set>
#include <unordered_map>

#include "quasar/base/error.hpp"
#include "quasar/base/machine.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/graph/bodies.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/graph/page_out.hpp"
#include "quasar/graph/rewrites/plain_scales.hpp"
#include "quasar/quant/block_tables.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/pairs.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/quant/standalone.hpp"
#include "quasar/quant/write/every_axis.hpp"
#include "quasar/quant/write/gather_codes.hpp"
#include "quasar/quant/write/idle_bounds.hpp"
#include "quasar/quant/write/keep_in_float.hpp"
#include "quasar/quant/write/pair_before_subgraphs.hpp"

namespace quasar::quant {
namespace {

constexpr int64_t first_opset_of_late_types = 21;
constexpr int64_t first_ir_of_4_bits = 10;
constexpr std::string_view own_domain = "com.microsoft";

// Those that QuantizeLinear did not have from the start.
bool is_late(DataType type) {
  return bits_of(type) == 4 || type == DataType::int16 || type == DataType::uint16;
}

// Bytes of codes, scales and zero points of operators that read and write floats; what is beyond goes to a file until it is
// written.
constexpr size_t most_in_memory = size_t{256} << 20;

// A constant whose codes are still to be made.
struct Awaited {
  std::string codes;  // their name
  const Tensor& values;
  const QuantParams& params;
  const CodeLimits& limits;
};

class Rewriting {
 public:
  Rewriting(const graph::Model& model, const Plan& plan) : model_(model), plan_(plan), names_(model), out_(model) {
    find_own_pairs();
  }

  graph::Model run() {
    out_.nodes.clear();
    for (const auto& input : model_.inputs) {
      if (gets_pair(input.name)) quantize_value(input.name, input.name, false);
    }
    for (const auto& node : model_.nodes) rewrite(node);
    quantize_awaited();
    drop_unread_constants();
    suit_onnx_runtime();
    fix_shapes(out_, plan_.fixed_shapes);
    out_.metadata["quasar.version"] = QUASAR_VERSION;
    out_.metadata["quasar.plan"] = summary_of(plan_);
    out_.metadata["quasar.plan_hash"] = hash_of(plan_);
    out_.metadata["quasar.quantized_nodes"] = std::to_string(plan_.nodes.size());
    graph::verify(out_, "quantization");
    return std::move(out_);
  }

 private:
  void suit_onnx_runtime() {
    if (!plan_.shifts) {
      guard_floats();            // a processor that shifts would find scales per channel
      gather_codes_first(out_);  // and its compiler reads pairs
      share_tables(out_);
    }
    out_ = graph::placed(out_);
    pair_before_subgraphs(out_);
    const auto has_bytes = [](const auto& value) { return is_integer(value.second.type) && bits_of(value.second.type) == 8; };
    if (std::ranges::none_of(plan_.values, has_bytes)) return;
    write_every_axis(out_, model_);
    if (!plan_.shifts) drop_idle_bounds(out_);
  }

  void guard_floats() {
    if (plan_.float_guard != FloatGuard::none) return keep_in_float(out_, nodes_in_codes(), plan_.float_guard);
    graph::Model guarded = out_;
    keep_in_float(guarded, nodes_in_codes(), FloatGuard::for_cpu);
    std::set<std::string_view> names;
    for (const auto& node : out_.nodes) names.insert(node.name);
    const auto is_guard = [&](const graph::Node& node) { return !names.contains(node.name); };
    if (std::ranges::any_of(guarded.nodes, is_guard)) out_.metadata[graph::pairs_stay] = "true";
  }

  // What the model came with on planned grids: values that a DequantizeLinear writes or nothing but QuantizeLinear reads, which
  // need no pair, and QuantizeLinear of other values, whose codes the plan's pair gives, too. Two pairs of one grid in a row
  // would be taken apart by ONNX Runtime (1.30), also where a piece of the model begins between them.
  void find_own_pairs() {
    const auto is_pair = [](const graph::Node& node) { return quantizes(&node) || dequantizes(&node); };
    if (std::ranges::none_of(model_.nodes, is_pair)) return;
    const graph::Index index(model_);
    const auto is_planned = [&](const graph::Node& node, const QuantParams& params) {
      const auto pair = is_pair(node) ? grid_of(node, index) : std::nullopt;
      return pair && pair->type == params.type && params.scales.size() == 1 &&
             static_cast<float>(pair->scale) == params.scales[0] && pair->zero_point == params.zero_points[0];
    };
    for (const auto& [value, params] : plan_.values) {
      const graph::Node* producer = index.producer(value);
      const auto& readers = index.consumers(value);
      const auto in_codes = [&](const graph::Node* reader) { return quantizes(reader) && is_planned(*reader, params); };
      if ((dequantizes(producer) && is_planned(*producer, params)) ||
          (!readers.empty() && !index.is_output(value) && std::ranges::all_of(readers, in_codes))) {
        own_pairs_.insert(value);
        continue;
      }
      for (const graph::Node* reader : readers) {
        if (in_codes(reader) && !index.is_output(reader->outputs[0])) same_codes_.insert(reader->name);
      }
    }
  }

  bool gets_pair(const std::string& value) const { return plan_.values.contains(value) && !own_pairs_.contains(value); }

  // Planned, or as the model came.
  std::set<std::string> nodes_in_codes() const {
    std::set<std::string> out = quantized_before(graph::Index(model_));
    for (const auto& [node, planned] : plan_.nodes) out.insert(node);
    return out;
  }

  // The pair that the plan wants on a value; quantized nodes read it from then on.
  void quantize_value(const std::string& value, const std::string& from, bool by_quantized, float narrower = 1) {
    const std::string to = by_quantized ? value : names_.fresh(value + "_dequantized");
    add_pair(value, from, to, plan_.params(value), narrower);
    if (to != value) dequantized_[value] = to;
  }

  void rewrite(graph::Node node) {
    for (auto& input : node.inputs) {
      if (const auto other = instead_.find(input); other != instead_.end()) input = other->second;
    }
    if (same_codes_.contains(node.name)) {
      instead_[node.outputs[0]] = codes_.at(node.inputs[0]);
      return;
    }
    if (plan_.folded.contains(node.name)) return quantize_value(node.outputs[0], node.inputs[0], true);
    const auto found = plan_.nodes.find(node.name);
    if (found != plan_.nodes.end() && found->second.form != NodeForm::pairs) return rewrite_on_its_own(node, found->second);
    const bool quantized = found != plan_.nodes.end();
    if (plan_.relus.contains(node.name)) {
      node.op_type = "Relu";
      node.inputs.resize(1);
    }
    if (quantized) {
      for (auto& input : node.inputs) read(input, node.name);
      const NodePlan& plan = found->second;
      for (const auto& [input, tensor] : plan.replaced) {
        const std::string name = names_.fresh(node.inputs.at(input) + "_of_" + node.name);
        out_.initializers[name] = tensor;
        node.inputs[input] = name;
      }
      if (plan.weight) quantize_constant(node, *plan.weight);
      if (plan.bias) quantize_constant(node, *plan.bias);
      for (const auto& constant : plan.constants) quantize_constant(node, constant);
    }
    const float narrower = write_sum(node);
    const std::vector<std::string> outputs = node.outputs;
    for (auto& output : node.outputs) {
      if (quantized && gets_pair(output)) output = names_.fresh(output + "_float");
    }
    const std::vector<std::string> written = node.outputs;
    if (quantized && found->second.simulation) {
      simulate(std::move(node), *found->second.simulation, {out_, names_});
    } else {
      out_.nodes.push_back(std::move(node));
    }
    for (size_t k = 0; k < outputs.size(); k++) {
      if (!gets_pair(outputs[k])) continue;
      quantize_value(outputs[k], written[k], quantized, narrower);
    }
  }

  // WrittenAs::clipped_sum, where the pair behind the node clips -> α; 1: the node stays as it is.
  float write_sum(graph::Node& node) {
    const auto form = plan_.written_as.find(node.name);
    if (form == plan_.written_as.end() || form->second != WrittenAs::clipped_sum) return 1;
    if (!gets_pair(node.outputs[0]) || !keeps_within(plan_.params(node.outputs[0]), {0, 1})) return 1;
    const float alpha = node.real("alpha", 0.2F), term = node.real("beta", 0.5F) / alpha;
    constexpr int32_t most = 255;
    const QuantParams grid{.type = DataType::uint8,
                           .scales = {term == 0 ? 1 : std::abs(term) / static_cast<float>(most)},
                           .zero_points = {term < 0 ? most : 0}};
    const std::string codes = names_.fresh(node.name + "_term"), value = names_.fresh(node.name + "_term_dequantized");
    out_.initializers[codes] = codes_tensor(grid.type, {}, std::vector<int32_t>{term > 0 ? most : 0});
    const auto [scale, zero_point] = add_params(codes, {}, grid);
    add_node("DequantizeLinear", codes, {codes, scale, zero_point}, value, grid);
    node.op_type = "Add";
    node.inputs.push_back(value);
    node.attributes.clear();
    return alpha;
  }

  // What a quantized node reads in the place of a value.
  void read(std::string& input, const std::string& node) {
    const auto found = plan_.conversions.find(input);
    if (found != plan_.conversions.end() && found->second.contains(node)) {
      input = converted(input, found->second.at(node));
    } else if (const auto pair = dequantized_.find(input); pair != dequantized_.end()) {
      input = pair->second;
    }
  }

  // A pair of its own behind the value; nodes that read it alike share it.
  std::string converted(const std::string& value, const QuantParams& params) {
    for (const auto& [known, name] : conversions_[value]) {
      if (known == params) return name;
    }
    std::string name = names_.fresh(value + "_converted");
    add_pair(value, value, name, params);
    conversions_[value].emplace_back(params, name);
    return name;
  }

  // Nodes that share a constant share its codes, too.
  std::string stored(const std::string& wish, const Tensor& tensor) {
    std::vector<std::string>& known = stored_[wish];
    const auto same = std::ranges::find_if(known, [&](const auto& name) { return out_.initializers.at(name) == tensor; });
    if (same != known.end()) return *same;
    known.push_back(names_.fresh(wish));
    const bool fits = in_memory_ + tensor.bytes().size() <= most_in_memory;
    out_.initializers[known.back()] = fits ? tensor : kept_in_file(tensor);
    if (fits) in_memory_ += tensor.bytes().size();
    if (!fits) give_back_memory();  // of the layers before
    return known.back();
  }

  // In memory where there is no room for temporary files.
  static Tensor kept_in_file(const Tensor& tensor) {
    try {
      return graph::in_scratch_file(tensor);
    } catch (const Error&) {
      return tensor;
    }
  }

  // Such nodes read and write float values.
  void rewrite_on_its_own(const graph::Node& node, const NodePlan& plan) {
    const RewriteContext context{.model = model_,
                                 .fresh = [this](const std::string& wish) { return names_.fresh(wish); },
                                 .add = [this](const std::string& wish, const Tensor& tensor) { return stored(wish, tensor); },
                                 .quantized = run_time_codes_};
    for (auto& made : rewrite_alone(node, plan, context)) {
      if (!made.domain.empty()) out_.opsets.try_emplace(made.domain, 1);
      made.inside = node.inside;  // closing moves what several nodes share
      out_.nodes.push_back(std::move(made));
    }
    for (const auto& input : node.inputs) {
      if (model_.initializer(input) != nullptr) constants_.try_emplace(input);
    }
    for (const auto& output : node.outputs) {
      if (gets_pair(output)) quantize_value(output, output, false);
    }
  }

  // `from` ─Q─DQ─▶ `to`, or casts there and back. `narrower`: `to` is so many times `from`.
  void add_pair(const std::string& value, const std::string& from, const std::string& to, const QuantParams& params,
                float narrower = 1) {
    if (is_half(params.type)) {
      const std::string narrow = names_.fresh(value + "_" + std::string(name_of(params.type)));
      add_cast(value, from, narrow, params.type);
      add_cast(value, narrow, to, DataType::float32);
      return;
    }
    const auto [scale, zero_point] = add_params(value, {}, params);
    const std::string codes = names_.fresh(value + "_quantized");
    codes_.try_emplace(value, codes);
    std::string wider = scale;
    if (narrower != 1) {
      wider = names_.fresh(value + "_scale_before");
      out_.initializers[wider] = Tensor::of<float>({}, {params.scales[0] / narrower});
    }
    add_node("QuantizeLinear", value, {from, wider, zero_point}, codes, params);
    add_node("DequantizeLinear", value, {codes, scale, zero_point}, to, params);
  }

  void add_node(const std::string& type, const std::string& value, std::vector<std::string> inputs, const std::string& output,
                const QuantParams& params) {
    graph::Node node{.name = names_.fresh(value + "_" + type),
                     .op_type = type,
                     .domain = domain_for(params.type),
                     .inputs = std::move(inputs),
                     .outputs = {output}};
    if (params.axis >= 0) node.set({"axis", int64_t{params.axis}});
    if (params.block > 0) node.set({"block_size", int64_t{params.block}});
    out_.nodes.push_back(std::move(node));
  }

  void add_cast(const std::string& value, const std::string& from, const std::string& to, DataType type) {
    graph::Node node{.name = names_.fresh(value + "_Cast"), .op_type = "Cast", .domain = "", .inputs = {from}, .outputs = {to}};
    node.set({"to", static_cast<int64_t>(type)});
    out_.nodes.push_back(std::move(node));
  }

  std::string domain_for(DataType type) {
    if (bits_of(type) == 4) out_.ir_version = std::max(out_.ir_version, first_ir_of_4_bits);
    if (!is_late(type) || out_.opset() >= first_opset_of_late_types) return "";
    out_.opsets.try_emplace(std::string(own_domain), 1);
    return std::string(own_domain);
  }

  // `constant`: the shape that blocks divide.
  std::pair<std::string, std::string> add_params(const std::string& value, const Shape& constant, const QuantParams& params) {
    const Shape shape = scales_shape(constant, params);
    const std::string scale = names_.fresh(value + "_scale"), zero_point = names_.fresh(value + "_zero_point");
    out_.initializers[scale] = Tensor::of(shape, params.scales);
    out_.initializers[zero_point] = codes_tensor(params.type, shape, params.zero_points);
    return {scale, zero_point};
  }

  // Nodes that share a constant share its codes when their parameters agree.
  void quantize_constant(graph::Node& node, const ConstantPlan& plan) {
    const std::string value = node.inputs.at(plan.input);
    const Tensor* values = model_.initializer(value);
    if (values == nullptr)
      throw Error("the plan does not fit the model: input " + std::to_string(plan.input) + " of " + node.name +
                  " is not constant");
    for (const auto& [known, result] : constants_[value]) {
      if (known.params == plan.params && known.limits == plan.limits && known.optimized == plan.optimized) {
        node.inputs[plan.input] = result;
        return;
      }
    }
    const QuantParams& params = plan.optimized ? plan.optimized->params : plan.params;
    if (plan.optimized && plan.optimized->codes.shape() != values->shape())
      throw Error("the plan does not fit the model: codes for input " + std::to_string(plan.input) + " of " + node.name +
                  " have shape " + to_string(plan.optimized->codes.shape()) + ", the input has " + to_string(values->shape()));
    const std::string codes = names_.fresh(value + "_quantized"), result = names_.fresh(value + "_dequantized");
    out_.initializers[codes] = plan.optimized ? plan.optimized->codes : Tensor();
    if (!plan.optimized) awaited_.push_back({codes, *values, params, plan.limits});
    if (is_half(params.type)) {
      add_cast(value, codes, result, DataType::float32);
    } else {
      const auto [scale, zero_point] = add_params(value, values->shape(), params);
      add_node("DequantizeLinear", value, {codes, scale, zero_point}, result, params);
    }
    constants_[value].emplace_back(plan, result);
    node.inputs[plan.input] = result;
  }

  void quantize_awaited() {
    parallel_for(awaited_.size(), 0, [&](size_t i) {
      const Awaited& one = awaited_[i];
      out_.initializers.at(one.codes) = quantize_within(one.values, one.params, one.limits);
    });
  }

  // The float originals, unless float nodes or subgraphs still read them.
  void drop_unread_constants() {
    std::set<std::string_view> read;
    for (const auto& node : out_.nodes) {
      read.insert(node.inputs.begin(), node.inputs.end());
      read.insert(node.captures.begin(), node.captures.end());
    }
    for (const auto& output : out_.outputs) read.insert(output.name);
    for (const auto& [name, results] : constants_) {
      if (!read.contains(name)) out_.initializers.erase(name);
    }
  }

  const graph::Model& model_;
  const Plan& plan_;
  std::set<std::string> own_pairs_, same_codes_;          // values, nodes
  std::unordered_map<std::string, std::string> codes_;    // of values with pairs of the plan
  std::unordered_map<std::string, std::string> instead_;  // of codes that the model came with
  graph::Names names_;
  graph::Model out_;
  size_t in_memory_ = 0;                                              // bytes of what stored() was given
  std::unordered_map<std::string, std::vector<std::string>> stored_;  // names that were asked for -> those given to their tensors
  std::unordered_map<std::string, std::vector<std::string>> run_time_codes_;  // value -> codes, scale, zero point
  std::unordered_map<std::string, std::string> dequantized_;                  // value -> what quantized nodes read
  std::unordered_map<std::string, std::vector<std::pair<QuantParams, std::string>>> conversions_;
  std::unordered_map<std::string, std::vector<std::pair<ConstantPlan, std::string>>>
      constants_;  // constant -> its dequantized forms
  std::vector<Awaited> awaited_;
};

}  // namespace

graph::Model apply(const graph::Model& model, const Plan& plan) {
  return Rewriting(model, plan).run();
}

}  // namespace quasar::quant
