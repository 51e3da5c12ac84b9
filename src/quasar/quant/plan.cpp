#include "quasar/quant/plan.hpp"

#include <bit>
#include <span>

#include "quasar/base/hash.hpp"

namespace quasar::quant {
namespace {

// The hexadecimal digits of the numbers' bits: exact, and quick enough for a hash per trial. Scales of blocks, of which a model
// has millions, by their hash.
template <class Number>
std::string bits(const std::vector<Number>& numbers) {
  static_assert(sizeof(Number) == sizeof(uint32_t));
  constexpr size_t most_in_full = 4096;
  if (numbers.size() > most_in_full) return "#" + quasar::hash_of(std::as_bytes(std::span(numbers)));
  std::string out;
  out.reserve(8 * numbers.size());
  for (const Number number : numbers) {
    const auto word = std::bit_cast<uint32_t>(number);
    for (int shift = 28; shift >= 0; shift -= 4) out += "0123456789abcdef"[word >> shift & 15];
  }
  return out;
}

Json to_json(const QuantParams& params) {
  Json out{{"type", name_of(params.type)}, {"scales", bits(params.scales)}, {"zero_points", bits(params.zero_points)}};
  if (params.axis >= 0) out["axis"] = params.axis;
  if (params.block > 0) out["block"] = params.block;
  if (!params.real_zero_points.empty()) out["real_zero_points"] = bits(params.real_zero_points);
  return out;
}

Json to_json(const ConstantPlan& plan) {
  Json out{{"input", plan.input}, {"params", to_json(plan.params)}};
  if (plan.limits.any()) out["limits"] = {plan.limits.most, plan.limits.pair};
  if (plan.limits.pair > 0 && plan.limits.order.padded) out["limits"].push_back("padded");
  return out;
}

Json to_json(const NodePlan& plan) {
  Json out = Json::object();
  if (plan.form != NodeForm::pairs) out["form"] = plan.form == NodeForm::dynamic ? "dynamic" : "weights_only";
  if (plan.weight) out["weight"] = to_json(*plan.weight);
  if (plan.bias) out["bias"] = to_json(*plan.bias);
  for (const auto& constant : plan.constants) out["constants"].push_back(to_json(constant));
  if (plan.simulation) out["simulation"] = to_json(*plan.simulation);
  return out;
}

}  // namespace

// So few weights cannot make up for a coarser scale. With VNNI uint8 weights cost time: 5 (ResNet-8) to 35 % (MobileNetV2), which
// Saturation::raise_scales saves. A 3 × 3 kernel on a picture has 27.
constexpr size_t few_terms = 32;

void limit_sums(ConstantPlan& plan, const graph::Node& node, const Tensor& weights, const std::optional<Saturation>& saturation,
                int32_t most_input, ScaleType scale_type, ops::Kernels kernels) {
  if (!saturation) return;
  const ops::SumOrder order = ops::sum_order(node, weights.shape(), kernels).value_or(ops::SumOrder());
  const QuantParams usual = plan.params;
  plan.limits = limit_codes(plan.params, *saturation, order, most_input, scale_type);
  const size_t raised = fit_to_pairs(plan.params, weights, plan.limits, scale_type);
  if (raised == 0 || order.terms > few_terms || *saturation == Saturation::raise_scales) return;
  plan.params = usual;
  plan.limits = limit_codes(plan.params, Saturation::unsigned_weights, order, most_input, scale_type);
}

const QuantParams& Plan::params(const std::string& value) const {
  const auto found = refined.find(value);
  return found == refined.end() ? values.at(value) : found->second;
}

namespace {

const char* key_of(WrittenAs form) {
  switch (form) {
    case WrittenAs::hard_swish:
      return "swishes";
    case WrittenAs::larger_of_two:
      return "prelus";
    case WrittenAs::clipped_sum:
      return "sums";
    case WrittenAs::gelu:
      return "gelus";
    case WrittenAs::choice_on_codes:
      return "choices";
    case WrittenAs::bound_on_codes:
      return "bounds";
  }
  return "";
}

}  // namespace

Json to_json(const Plan& plan) {
  Json values = Json::object(), nodes = Json::object();
  for (const auto& [name, params] : plan.values) values[name] = to_json(params);
  for (const auto& [name, node] : plan.nodes) nodes[name] = to_json(node);
  Json out{{"values", std::move(values)},
           {"nodes", std::move(nodes)},
           {"rounding", {{"method", plan.rounding.method}, {"options", plan.rounding.options}}}};
  if (plan.float_guard != FloatGuard::for_cpu) out["float_guard"] = static_cast<int>(plan.float_guard);
  if (plan.format != Format::qdq) out["format"] = name_of(plan.format);
  if (!plan.fixed_shapes.empty()) out["fixed_shapes"] = to_json(plan.fixed_shapes);
  if (plan.half_but) out["half_but"] = *plan.half_but;
  if (plan.half_islands) out["half_islands"] = true;
  if (!plan.folded.empty()) out["folded"] = plan.folded;
  if (!plan.relus.empty()) out["relus"] = plan.relus;
  for (const auto& [node, form] : plan.written_as) out[key_of(form)].push_back(node);
  for (const auto& [value, readers] : plan.conversions) {
    for (const auto& [node, params] : readers) out["conversions"][value][node] = to_json(params);
  }
  if (!plan.graph.empty()) out["graph"] = plan.graph;
  if (plan.rounded_as != nullptr) out["rounded_as"] = hash_of(*plan.rounded_as);
  for (const auto& correction : plan.corrections) out["corrections"].push_back({correction.name, correction.options});
  return out;
}

namespace {

// Long texts (scales of many channels, which the model holds anyway) by their hash.
Json shortened(const Json& words) {
  constexpr size_t longest = 64;
  if (words.is_string() && words.get_ref<const std::string&>().size() > longest)
    return "#" + quasar::hash_of(std::string_view(words.get_ref<const std::string&>()));
  if (!words.is_structured()) return words;
  Json out = words;
  for (auto& item : out) item = shortened(item);
  return out;
}

}  // namespace

std::string summary_of(const Plan& plan) {
  return canonical(shortened(to_json(plan)));
}

std::string hash_of(const Plan& plan) {
  return quasar::hash_of(std::string_view(canonical(to_json(plan))));
}

}  // namespace quasar::quant
