// A configuration becomes a plan: first where pairs stand (placement), then the parameters of each value (value_params), weight
// and bias (node_plans).
#include <algorithm>
#include <limits>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/graph/lookup.hpp"
#include "quasar/quant/block_tables.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/given_ranges.hpp"
#include "quasar/quant/half/beyond_half.hpp"
#include "quasar/quant/half/choose_half.hpp"
#include "quasar/quant/layer_kinds.hpp"
#include "quasar/quant/node_plans.hpp"
#include "quasar/quant/npu/npu.hpp"
#include "quasar/quant/placement.hpp"
#include "quasar/quant/placement/attention_masks.hpp"
#include "quasar/quant/placement/integer_softmax.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/quant/promotion.hpp"
#include "quasar/quant/shared_grids.hpp"
#include "quasar/quant/written_as.hpp"

namespace quasar::quant {
namespace {

// Whether a mask can be lost here: casts hold its zeros and what it would add alike.
bool has_grids(const Config& config) {
  const auto has = [](const LayerRule& rule) { return !rule.in_float && is_integer(rule.activation.type); };
  return is_integer(config.activation.type) || std::ranges::any_of(config.layers, has);
}

// Values that an attention mask has filled with −10⁴, −65504, the lowest float or −inf, so that Softmax gives zero there, or by
// the graph can fill, all others that are infinite somewhere, and those that the user leaves in float.
std::set<std::string> masked_values(const graph::Index& index, const stats::Statistics& seen, const Config& config) {
  constexpr double hidden = -5e3, absurd = 1e30;
  std::set<std::string> out = has_grids(config) ? mask_values(index) : std::set<std::string>();
  for (const auto& [value, stats] : seen) {
    const auto is_softmax = [](const graph::Node* node) { return node->is("Softmax"); };
    const bool masks = stats.range.low <= hidden && std::ranges::any_of(index.consumers(value), is_softmax);
    const bool left = stats.given && stays_in_float(*stats.given);
    if (left || masks || stats.not_finite > 0 || stats.range.low <= -absurd || stats.range.high >= absurd) out.insert(value);
  }
  return out;
}

class Resolver {
 public:
  Resolver(const graph::Model& model, const stats::Statistics& seen, const Config& config, const Target& target, WeightMemo* memo)
      : index_(model),
        config_(config),
        target_(target),
        npu_(is_on(config.switches, "EnableNPUCnn", target.shifts())),
        masked_(masked_values(index_, seen, config)),
        placement_(settled(seen, memo)),
        ties_(index_, placement_, target, config.switches, npu_),
        schemes_(index_, placement_, config),
        ground_{index_, seen, config, target, placement_, ties_, schemes_, npu_, memo},
        values_(ground_),
        nodes_(ground_, values_) {}

  Plan run() {
    check_given();
    Plan plan;
    plan.rounding = config_.rounding;
    plan.format = config_.format;
    plan.float_guard = target_.float_guard();
    plan.fixed_shapes = config_.fixed_shapes;
    for (const auto& value : placement_.values) {
      if (const QuantParams& params = values_.of(value); !values_.absorbed().contains(value)) {
        plan.values[value] = stored_as(stored_type(params.type, graph::readers(value, index_)), params);
      }
    }
    for (const auto& [name, roles] : placement_.nodes) {
      plan.nodes[name] = nodes_.of(*index_.node(name), roles);
      for (const size_t input : roles.activations) {
        const std::string& value = index_.node(name)->inputs[input];
        if (!placement_.values.contains(value)) continue;
        const bool apart = ties_.apart(value, name);
        if (!apart && !schemes_.converts(value, name)) continue;
        const QuantParams& params = apart ? values_.of(index_.node(name)->outputs.front()) : values_.read_by(value, name);
        plan.conversions[value][name] = stored_as(stored_type(params.type, 1), params);
      }
    }
    plan.shifts = npu_;
    std::ranges::copy_if(placement_.values, std::inserter(plan.aligned, plan.aligned.end()),
                         [&](const std::string& value) { return !ties_.aligned(value).empty(); });
    plan.ranges = values_.ranges();
    plan.notes = nodes_.notes();
    plan.lost_parts = lost_parts_;
    plan.notes.insert(plan.notes.end(), lost_parts_.begin(), lost_parts_.end());
    for (auto& note : keep_shift_rules(plan, {index_, placement_, ties_, config_, npu_})) plan.notes.push_back(std::move(note));
    drop_needless_conversions(plan);
    simplify_activations(plan);
    plan.written_as = written_as(index_, target_, plan.nodes);
    for (auto& [name, node] : placement_.alone) plan.nodes[name] = std::move(node);
    if (is_half(config_.weight.type)) nodes_.store_the_rest(plan);
    std::ranges::copy_if(masked_, std::inserter(plan.in_float, plan.in_float.end()),
                         [this](const std::string& value) { return ground_.seen.contains(value); });
    if (config_.high_precision == DataType::float16) add_half(plan);
    plan.skipped = std::move(placement_.skipped);
    plan.chosen = std::move(placement_.chosen);
    check_overrides(plan);
    for (auto& note : notes_on_softmax(index_.model(), plan, placement_.softmaxes)) plan.notes.push_back(std::move(note));
    for (auto& note : notes_on_tied_tables(index_.model(), plan)) plan.notes.push_back(std::move(note));
    note_constant_inputs(plan);
    add_remarks(plan);
    return plan;
  }

 private:
  // Without the nodes whose grid would lose a part of what they join, or whose numbers a Cast would make infinite.
  Placement settled(const stats::Statistics& seen, WeightMemo* memo) {
    Placement first = place(index_, config_, target_, seen, masked_, memo);
    const Ties ties(index_, first, target_, config_.switches, npu_);
    const NodeSchemes schemes(index_, first, config_);
    const Ground ground{index_, seen, config_, target_, first, ties, schemes, npu_};
    SharedGrids shared = find_lost_parts(ground);
    lost_parts_ = std::move(shared.notes);
    shared.left.merge(beyond_half(ground));
    return shared.left.empty() ? std::move(first) : place(index_, config_, target_, seen, masked_, memo, shared.left);
  }

  // Where nothing is quantized nothing is written.
  void add_half(Plan& plan) const {
    if (plan.nodes.empty()) return;
    plan.half_islands = target_.takes_half_in_islands();
    if (!plan.half_islands) raise_lost_scales(plan);
    KeptInFloat32 kept = kept_in_float32(index_.model(), ground_.seen, plan);
    plan.half_but = std::move(kept.nodes);
    std::ranges::move(kept.notes, std::back_inserter(plan.notes));
    plan.notes.push_back(plan.half_islands
                             ? "products in float, and what stands with them, are float16 in the file (high_precision_dtype) "
                               "where ONNX Runtime's CPU on "
                               "64-bit Arm has kernels for it; on x86 it computes them in float32"
                             : "what is not in codes is float16 in the file (high_precision_dtype): ONNX Runtime opens it with "
                               "session.disable_quant_qdq = 1 only, as Quasar does");
  }

  // Operators on codes take one type for all that they read and write: the one that the target prefers for shared values.
  DataType stored_type(DataType wanted, size_t readers) const {
    const size_t inputs = config_.format == Format::qoperator ? std::max<size_t>(readers, 2) : readers;
    return target_.activation_type(wanted, inputs, index_.model().opset());
  }

  // A HardSigmoid that has come to the same scale as what it is joined with.
  void drop_needless_conversions(Plan& plan) const {
    std::set<std::string> rescaled;
    for (auto& [value, readers] : plan.conversions) {
      const std::string& name = value;
      const auto apart = [&](const auto& reader) { return ties_.apart(name, reader.first); };
      std::erase_if(readers, [&](const auto& reader) { return apart(reader) && plan.values.at(name) == reader.second; });
      if (std::ranges::any_of(readers, apart)) rescaled.insert(name);
    }
    std::erase_if(plan.conversions, [](const auto& conversion) { return conversion.second.empty(); });
    if (rescaled.empty()) return;
    plan.notes.push_back(
        "outputs of HardSigmoid are rescaled by a second pair before a Concat whose scale is too coarse for them: " +
        joined({rescaled.begin(), rescaled.end()}));
  }

  void check_given() const {
    if (!npu_) return;
    check_forms_for_shifts(config_);
    for (const auto& [name, stats] : ground_.seen) {
      if (stats.given) check_for_shifts(name, *stats.given, config_.activation);
    }
  }

  // Samples that say nothing of an input make scales that fit nothing.
  void note_constant_inputs(Plan& plan) const {
    for (const auto& input : index_.model().inputs) {
      const auto found = ground_.seen.find(input.name);
      if (found == ground_.seen.end() || found->second.given || !plan.values.contains(input.name)) continue;
      if (const stats::Range range = found->second.range; range.low == range.high && !is_half(plan.values.at(input.name).type))
        plan.notes.push_back("input '" + input.name + "' is " + Json(range.low).dump() +
                             " everywhere in all calibration samples: scales fit nothing else");
    }
  }

  // What the target says of the configuration's types, and of those that rules give to layers.
  void add_remarks(Plan& plan) const {
    std::set<std::string> said;
    const auto add = [&](const Config& config, const std::string& whose) {
      const std::string remark = target_.remark(config);
      if (!remark.empty() && said.insert(remark).second) plan.notes.push_back(whose + remark);
    };
    add(config_, "");
    for (const auto& [name, tensor] : config_.tensors) {
      if (!tensor.type || !values_.overrides_used().contains(name)) continue;
      Config own;
      own.activation = config_.activation, own.weight = config_.weight;
      (index_.model().initializer(name) == nullptr ? own.activation : own.weight).type = *tensor.type;
      add(own, "TensorQuantOverrides." + name + " (" + std::string(name_of(*tensor.type)) + "): ");
    }
    for (const auto& rule : config_.layers) {
      if (rule.in_float) continue;
      Config own;
      own.activation = rule.activation, own.weight = rule.weight;
      const std::string key = rule.words.is_null() ? "include_auto_mp" : key_of(rule);
      add(own, key + " (" + spec_name(rule.activation) + " values, " + spec_name(rule.weight) + " weights): ");
    }
  }

  // Overrides of tensors that are not there are mistakes; of tensors that get no parameters of their own, worth a note.
  void check_overrides(Plan& plan) const {
    for (const auto& [name, own] : config_.tensors) {
      if (npu_) check_for_shifts(name, own);
      if (values_.overrides_used().contains(name)) continue;
      const bool input = std::ranges::find(index_.model().inputs, name, &graph::Value::name) != index_.model().inputs.end();
      if (!input && index_.producer(name) == nullptr && index_.model().initializer(name) == nullptr) {
        throw Error("TensorQuantOverrides: the model has no value '" + name + "'");
      }
      plan.notes.push_back("TensorQuantOverrides: '" + name +
                           "' has no effect: it is not quantized, or shares the parameters of another value");
    }
  }

  // Whether the grid of an activation's output holds nothing beyond these bounds.
  static bool ends_within(const QuantParams& params, float low, float high) {
    const Grid grid = grid_of(params.type, false);
    const auto end = [&](int64_t code) { return params.scales[0] * static_cast<float>(code - params.zero_points[0]); };
    return end(grid.low) >= low && end(grid.high) <= high;
  }

  // Activations that the pair behind them makes superfluous (FoldRelu), or whose upper bound it does (ConvertClipToRelu). Clips
  // without an upper bound are none that NPUs know.
  void simplify_activations(Plan& plan) const {
    constexpr float any = std::numeric_limits<float>::infinity();
    for (const auto& [name, roles] : placement_.nodes) {
      const graph::Node& node = *index_.node(name);
      const auto output = plan.values.find(node.outputs.front());
      if (roles.kind != ops::Kind::activation || output == plan.values.end() || is_half(output->second.type)) continue;
      const QuantParams& params = output->second;
      const bool absorbed = values_.absorbed().contains(node.inputs.front());
      // ONNX Runtime (1.30) leaves a second node of that name where it fuses Relu and its producer in a body, and refuses the
      // model.
      const bool folds = ground_.on("FoldRelu") || !node.inside.empty();
      if (folds && absorbed && ends_within(params, roles.bounds->low, roles.bounds->high)) {
        plan.folded.insert(name);
        plan.nodes.erase(name);
      } else if ((ground_.on("ConvertClipToRelu") || (npu_ && roles.bounds->high == any)) && node.is("Clip") &&
                 roles.bounds->low == 0 && !plan.nodes.at(name).simulation && ends_within(params, -any, roles.bounds->high)) {
        plan.relus.insert(name);
      }
    }
  }

  const graph::Index index_;
  const Config& config_;
  const Target& target_;
  const bool npu_;
  const std::set<std::string> masked_;
  std::vector<std::string> lost_parts_;  // before placement_, which finds them
  Placement placement_;
  const Ties ties_;
  const NodeSchemes schemes_;
  const Ground ground_;
  ValueParams values_;
  NodePlans nodes_;
};

}  // namespace

std::vector<std::string> observed_values(const graph::Model& model) {
  const ops::Survey survey = ops::survey(model);
  std::vector<std::string> out;
  std::set<std::string> known;
  const auto add = [&](const std::string& value) {
    if (!value.empty() && model.initializer(value) == nullptr && known.insert(value).second) out.push_back(value);
  };
  for (const auto& node : model.nodes) {
    const auto found = survey.quantizable.find(node.name);
    if (found == survey.quantizable.end()) continue;
    for (const size_t input : found->second.activations) add(node.inputs[input]);
    // A Slice may have a range of its own (AlignSlice).
    if (found->second.kind != ops::Kind::movement || node.is("Slice")) add(node.outputs.front());
  }
  return out;
}

stats::Requests needs_of(const Config& config) {
  const auto needs = [](const Scheme& scheme) {
    return ranges::table().make(scheme.range_method, scheme.range_options)->needs();
  };
  stats::Requests all = needs(config.activation);
  if (config.mixed) all.merge(needs(config.mixed->activation));
  for (const auto& rule : config.layers) {
    if (!rule.in_float) all.merge(needs(rule.activation));
  }
  return all;
}

Plan resolve(const graph::Model& model, const stats::Statistics& seen, const Config& wanted, const Target& target,
             WeightMemo* memo) {
  const bool npu = !target.shifts() && is_on(wanted.switches, "EnableNPUCnn", false);
  const auto shifting = npu ? targets::table().make("xint8") : nullptr;
  const Target& used = npu ? *shifting : target;
  Config config = wanted.kinds.empty() ? wanted : with_kinds(wanted, find_layer_kinds(graph::Index(model)));
  config.saturation = saturation_on(used, wanted.saturation);
  check_taken(used, config);
  check_shapes(used, config, model.inputs);
  check_tensors(used, config, model);
  Plan plan = Resolver(model, seen, config, used, memo).run();
  if (!config.mixed) return plan;
  LayerRule rule{.words = {},
                 .nodes = promoted_layers(model, seen, plan, *config.mixed),
                 .op_types = {},
                 .activation = config.mixed->activation,
                 .weight = config.mixed->weight};
  if (rule.nodes.empty()) {
    plan.notes.push_back("include_auto_mp: no layer is promoted (TargetOpType, NumTarget and noise_share leave none)");
    return plan;
  }
  std::string note = "include_auto_mp: " + std::to_string(rule.nodes.size()) + " layers promoted:";
  for (const auto& node : rule.nodes) note += " " + node;
  Config mixed = config;
  mixed.mixed.reset();
  mixed.layers.push_back(std::move(rule));
  plan = Resolver(model, seen, mixed, used, memo).run();
  for (const auto& node : mixed.layers.back().nodes) {
    if (const auto left = plan.skipped.find(node); left != plan.skipped.end())
      throw Error("include_auto_mp: layer " + node + " cannot be promoted to " + spec_name(config.mixed->activation) +
                  " on this target: " + left->second);
  }
  plan.notes.push_back(std::move(note));
  return plan;
}

}  // namespace quasar::quant
