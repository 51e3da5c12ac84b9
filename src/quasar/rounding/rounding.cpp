#include "quasar/rounding/rounding.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>

#include "quasar/base/stopwatch.hpp"
#include "quasar/graph/bodies.hpp"
#include "quasar/ops/parts_of_functions.hpp"
#include "quasar/quant/codes/rounding_options.hpp"
#include "quasar/quant/npu/npu.hpp"
#include "quasar/quant/standalone.hpp"
#include "quasar/rounding/activation_scales.hpp"
#include "quasar/rounding/branches/branch_rounders.hpp"
#include "quasar/rounding/frontier.hpp"
#include "quasar/rounding/idle_options.hpp"
#include "quasar/rounding/input_scales.hpp"
#include "quasar/rounding/judges.hpp"
#include "quasar/rounding/prefix_hash.hpp"
#include "quasar/rounding/refinement_check.hpp"
#include "quasar/rounding/rounded_layer.hpp"
#include "quasar/rounding/rounding_layers.hpp"
#include "quasar/rounding/rounding_memory.hpp"
#include "quasar/rounding/scale_window.hpp"
#include "quasar/rounding/sensitivity.hpp"
#include "quasar/rounding/shared_weights.hpp"
#include "quasar/rounding/wide_rounding.hpp"

namespace quasar::tune {
namespace {

constexpr double doubtful_gain = 0.25;  // of refined scales with weights in float

graph::Model needed(graph::Model model) {
  graph::remove_unused(model);
  return model;
}

// With bodies of If, Loop and Scan closed: what is run in pieces is run on every sample.
graph::Model without_unused(const graph::Model& given) {
  return needed(graph::closed(given));
}

// Of the whole set, as many as a fixed budget allows: which samples judge does not depend on how many can be held.
data::DatasetPtr judging_samples(const data::DatasetPtr& samples) {
  constexpr size_t budget = size_t{256} << 20, fewest = 16, most = 1024;
  if (samples->size() == 0) return samples;
  const size_t count = budget / std::max<size_t>(bytes_of(samples->at(0)), 1);
  return data::subset(samples, spread_over(samples->size(), std::clamp(count, fewest, most)));
}

RounderOptions with_memory(RounderOptions options, const data::DatasetPtr& samples) {
  if (options.memory == nullptr) options.memory = std::make_shared<RoundingMemory>(samples, options.memory_limit, options.once);
  return options;
}

// Of single ways through branches: silent, and with memories of their own.
BranchRounders::MakeRounder rounders_like(RounderOptions options) {
  options.memory = nullptr;
  options.log = {};
  return [options = std::move(options)](const graph::Model& model, data::DatasetPtr samples) {
    const auto rounder = std::make_shared<Rounder>(model, std::move(samples), options);
    return [rounder](quant::Plan& plan, const BranchRounders::Check& check) { return rounder->improve(plan, check); };
  };
}

// Of rounding a layer, in about equal units: products of inputs over some thousand positions, factors of their Gram matrix, what
// each output's search takes, and running the model up to the layer.
double work_of(const LinearLayer& layer) {
  constexpr double positions = 2000, run = 2e9;
  const auto inputs = static_cast<double>(layer.inputs), outputs = static_cast<double>(layer.outputs);
  return run + inputs * inputs * (outputs + static_cast<double>(layer.groups) * (inputs + positions));
}

// What was chosen for a layer goes into the model that the layers behind it are seen in.
void hand_over(const graph::Model& model, const LinearLayer& layer, const quant::NodePlan& plan, Frontier& frontier) {
  if (plan.form != quant::NodeForm::pairs) {
    if (plan.weight->optimized) frontier.rewrite(model, layer.node, plan);
    return;
  }
  if (plan.weight->optimized) frontier.replace(layer.node, layer.weight_input, *plan.weight->optimized);
  if (plan.bias && plan.bias->optimized) frontier.replace(layer.node, *layer.bias_input, *plan.bias->optimized);
}

Moments sum_of(Moments a, const Moments& b) {
  a.add(b);
  return a;
}

}  // namespace

// How layers are rounded.
struct Rounder::Effort {
  quant::LayerSettings settings;
  const quant::RoundingMethod& method;
  const std::function<void()>& check;  // called between layers
};

// What depends on the float model and the number of samples only.
struct Rounder::Material {
  Material(const graph::Model& model, size_t samples, double end_loss, RoundingMemory& memory, const RounderOptions& options)
      : targets(model, layers_of(model), memory.samples, {.samples = samples, .threads = options.threads, .end_loss = end_loss},
                memory.targets),
        frontier(samples * targets.largest_output()) {}

  FloatTargets targets;
  // Bytes of values between layers: until they were seen, four values of 8 bits, all as large as the largest layer's output.
  std::atomic<size_t> frontier;
  std::atomic<bool> seen = false, told = false;

  // How many samples' codes of the largest layer's output fit this many bytes: more are not left where that layer has been.
  size_t fitting(size_t bytes) const {
    return targets.largest_output() > 0 ? bytes / (targets.largest_output() / sizeof(float) + 1) : SIZE_MAX;
  }

  void note(const Frontier& done) {
    if (done.most_bytes() == 0) return;  // all moments were known
    frontier = seen ? std::max<size_t>(frontier, done.most_bytes()) : done.most_bytes();
    seen = true;
  }
};

Rounder::Rounder(const graph::Model& model, data::DatasetPtr samples, RounderOptions options)
    : model_(without_unused(model)),
      options_(with_memory(std::move(options), samples)),
      memory_(options_.memory),
      name_(std::to_string(memory_->users++) + "/"),
      windows_(std::make_shared<WindowMemo>()),
      branches_(std::make_unique<BranchRounders>(graph::has_open_bodies(model) ? needed(model) : model_, memory_->samples,
                                                 options_.threads, rounders_like(options_))) {}

Rounder::~Rounder() = default;

std::shared_ptr<Rounder::Material> Rounder::material(size_t count, double end_loss) {
  const std::lock_guard lock(guard_);
  auto& material = materials_[{count, end_loss}];
  if (material == nullptr) material = std::make_shared<Material>(model_, count, end_loss, *memory_, options_);
  return material;
}

FrontierOptions Rounder::frontier_options(size_t samples) const {
  return {.samples = samples, .memory_limit = memory_->frontiers.limit(), .threads = options_.threads};
}

void Rounder::settle(quant::Plan& plan, std::optional<size_t> calibration) const {
  if (!rounding_acts(plan)) plan.rounding = {};
  Json& options = plan.rounding.options;
  if (!options.contains("data_size")) return;
  const size_t all = memory_->samples->size();
  size_t samples = std::min(all, calibration.value_or(all));
  if (options["data_size"].is_number()) samples = std::min(samples, options["data_size"].get<size_t>());
  options["data_size"] = samples;
  const graph::Index index(model_);
  const auto layers = layers_of(model_);
  drop_idle_options(plan, std::ranges::any_of(layers, [&](const LinearLayer& layer) {
                      return plan.nodes.contains(layer.node) && vector_of(layer, index, plan);
                    }));
}

RefinementCheck& Rounder::refinement_check() {
  const std::lock_guard lock(guard_);
  if (check_ == nullptr)
    check_ = std::make_unique<RefinementCheck>(model_, judging_samples(memory_->samples), options_.threads,
                                               options_.memory_limit / 16, sharer());
  return *check_;
}

// Whoever it is when there is something to share.
Sharer Rounder::sharer() const {
  if (options_.sharer == nullptr) return {};
  return [sharer = options_.sharer](const PartedWork& work) { do_parts(*sharer, work); };
}

// Without layers whose codes can be chosen every method makes the same model.
bool Rounder::rounding_acts(quant::Plan& plan) const {
  if (plan.rounding.method == quant::Rounding().method) return true;
  const auto rounded = [&](const LinearLayer& layer) {
    const auto found = plan.nodes.find(layer.node);
    return found != plan.nodes.end() && found->second.weight;
  };
  if (std::ranges::any_of(layers_of(branches_->model()), rounded)) return true;
  plan.notes.push_back(plan.rounding.method + ": no layer of this model has codes that could be chosen");
  return false;
}

Refined Rounder::refine(quant::Plan& plan, const quant::LayerSettings& settings, const std::function<void()>& check) {
  // Each scale is judged alone: those that must be one stay, but where rules make them one again afterwards.
  std::set<std::string> keep = settings.keep_activations;
  if (!plan.shifts) keep.insert(plan.aligned.begin(), plan.aligned.end());
  quant::Plan key = plan;
  key.rounding = {.options = {{"keep_activations", keep}}};
  const std::string hash = quant::hash_of(key);
  auto refined = [&]() -> std::optional<Refined> {
    const std::lock_guard lock(guard_);
    const auto found = refined_.find(hash);
    return found == refined_.end() ? std::nullopt : std::optional(found->second);
  }();
  if (!refined) {
    const RefineOptions options{.memory_limit = options_.memory_limit / 9,
                                .threads = options_.threads,
                                .keep = keep,
                                .progress = options_.progress,
                                .memo = windows_,
                                .sharer = sharer()};
    const data::DatasetPtr judging = judging_samples(memory_->samples);
    refined = refinement_check().proven(refined_activations(model_, plan, *judging, options, check), plan);
    if (plan.shifts) {
      plan.refined = refined->params;
      quant::keep_refined_within_rules(plan, model_);
      refined->params = plan.refined;
    }
    const std::lock_guard lock(guard_);
    refined_[hash] = *refined;
  }
  plan.refined = refined->params;
  if (plan.shifts) quant::limit_weight_scales(plan, quant::network_of(quant::apply(model_, plan)));
  follow_refined_inputs(model_, plan);
  return *refined;
}

RoundingReport Rounder::improve(quant::Plan& plan, const std::function<void()>& check) {
  const Stopwatch watch;
  const auto& [name, entry] = quant::rounding::table().find(plan.rounding.method);
  const Options options(entry.options, plan.rounding.options, "rounding method " + name);
  const auto method = entry.make(options);
  if (!method->optimizes()) return {};
  const Effort effort{quant::layer_settings(options), *method, check};
  quant::Plan outer = without_bodies(plan, model_);
  RoundingReport report = effort.settings.refine_activations ? round_refined(outer, effort) : round(outer, effort);
  for (auto& [node, planned] : outer.nodes) plan.nodes[node] = std::move(planned);
  plan.refined = std::move(outer.refined);
  plan.notes = std::move(outer.notes);
  branches_->round(plan, report, check);
  report.seconds = watch.seconds();
  if (report.samples < report.wanted && !report.layers.empty())
    tell(options_.log, Level::warning, samples_given_up(report.samples, report.wanted, options_.memory_limit));
  for (const auto& error : report.layers) tell(options_.log, Level::debug, in_words(error));
  tell(options_.log, Level::info, summary_of(name, report));
  return report;
}

// Scales are proven with weights in float and biases as they are. A large gain may be of mean errors, which biases take up
// anyway: where the rounded model is nearer than that, the present scales are rounded too, and the nearer model stays.
RoundingReport Rounder::round_refined(quant::Plan& plan, const Effort& effort) {
  quant::Plan present = plan;
  const Stopwatch refinement;
  const Refined refined = refine(plan, effort.settings, effort.check);
  const double refine_s = refinement.seconds();
  RoundingReport report = round(plan, effort);
  report.refine_s = refine_s;
  report.refined = plan.refined.size();
  if (plan.refined.empty() || refined.gain < doubtful_gain) return report;
  const double error = refinement_check().error_of(plan);
  if (error >= refined.error) return report;
  RoundingReport other = round(present, effort);
  if (refinement_check().error_of(present) >= error) return report;
  plan = std::move(present);
  other.refine_s = refine_s;
  return other;
}

namespace {

// Convolutional networks gain nothing by it (docs/measured.md, "Positions by what they do to the outputs").
double usual_guidance(const graph::Model& model) {
  constexpr double of_transformers = 0.25;
  return ops::normalizes_layers(graph::Index(model)) ? of_transformers : 0;
}

}  // namespace

RoundingReport Rounder::round(quant::Plan& plan, const Effort& effort) {
  const quant::LayerSettings& settings = effort.settings;
  RoundingReport report;
  const size_t all = memory_->samples->size(), wanted = std::min(settings.data_size.value_or(all), all);
  const double guidance = settings.end_loss_guidance.value_or(usual_guidance(model_));
  const auto material = this->material(wanted, guidance);
  const SharedLimit::Work work(memory_->targets, material->targets);
  report.wanted = wanted;
  if (!material->told.exchange(true))
    warn_of_samples(options_.log, wanted, material->fitting(memory_->frontiers.limit()), options_.memory_limit);
  const auto& layers = material->targets.layers();
  report.kept = left_nearest(model_, plan);
  const std::set<std::string> unordered = out_of_order(model_, plan);
  const auto [chosen, stops] = chosen_of(layers, plan, [&](const LinearLayer& layer, const quant::NodePlan& node) {
    const bool can = (node.form != quant::NodeForm::dynamic || quant::are_in_blocks(node.weight->params)) &&
                     bits_of(node.weight->params.type) <= 16 && !quant::is_half(node.weight->params.type);
    if (!can) report.kept.push_back(layer.node + ": its layer rule gives it no codes that could be chosen");
    const bool in_order = !unordered.contains(layer.node);
    if (can && !in_order)
      report.kept.push_back(layer.node + ": which rows it gets, and in which order, depends on what is quantized before it");
    return can && in_order;
  });
  const MemoryGate::Pass pass(memory_->frontiers, material->frontier, effort.check);
  Frontier frontier(quant::apply(model_, plan), stops, memory_->samples, frontier_options(wanted));
  PrefixHash prefix(model_, plan, std::to_string(wanted) + " " + std::to_string(guidance));
  const graph::Index index(model_);
  const auto shared = shared_weights(layers, chosen, model_, plan, options_.most_inputs);
  double to_do = 0, done = 0;
  for (const size_t i : chosen) to_do += work_of(layers[i]);
  for (const size_t i : chosen) {
    if (effort.check) effort.check();
    const LinearLayer& layer = layers[i];
    if (options_.progress) options_.progress("rounding", done / to_do);
    done += work_of(layer);
    const std::string seen_by = name_ + prefix.upto(layer.node);
    const auto group = shared.find(i);
    if (group != shared.end() && !group->second->is_last(i)) {
      group->second->add(layer, *moments_at(layer, i, *material, frontier, seen_by));
      continue;
    }
    const bool alone = group == shared.end();
    quant::NodePlan& node = plan.nodes.at(layer.node);
    auto behind = alone ? vector_of(layer, index, plan) : std::nullopt;
    const quant::LayerSettings own = alone ? settings : settings_for_shared(settings, layer);
    const LayerContext context{.model = model_,
                               .settings = own,
                               .method = effort.method,
                               .threads = options_.threads,
                               .input_scale = input_scale(plan, layer),
                               .vector = behind ? &behind->values : nullptr,
                               .others = alone ? nullptr : &*group->second->moments};
    report.layers.push_back(round_one(layer, i, context, *material, frontier, seen_by, plan.rounding, node));
    if (!alone) give_to_all(*group->second, layers, plan, report);
    hand_over(model_, layer, node, frontier);
    if (behind && settings.update_bias && node.weight->optimized) {
      frontier.replace(behind->node, behind->input, behind->values);
      plan.nodes.at(behind->node).replaced[behind->input] = std::move(behind->values);
    }
    report.samples = frontier.samples();
  }
  material->note(frontier);
  if (const std::string note = material->targets.note(); !note.empty()) plan.notes.push_back(note);
  return report;
}

void Rounder::take_over(quant::Plan& plan, const quant::Plan& rounded) const {
  tune::take_over(plan, rounded, branches_->model());
}

std::map<std::string, double> Rounder::sensitivities(const quant::Plan& plan) {
  const auto material = this->material(memory_->samples->size(), 0);
  const auto& layers = material->targets.layers();
  const auto [chosen, stops] = chosen_of(
      layers, plan, [this](const LinearLayer& layer, const quant::NodePlan&) { return layer.inputs <= options_.most_inputs; });
  Frontier frontier(model_, stops, memory_->samples, frontier_options(material->targets.samples()));
  const graph::Index index(model_);
  std::map<std::string, double> errors;
  for (const size_t i : chosen) {
    const auto moments = moments_at(layers[i], i, *material, frontier, name_ + "float " + layers[i].node);
    const quant::NodePlan& node = plan.nodes.at(layers[i].node);
    const Tensor& weights = *model_.initializer(index.node(layers[i].node)->inputs[layers[i].weight_input]);
    errors[layers[i].node] = rounding_error(layers[i], *moments, weights, node.weight->params,
                                            node.bias || vector_of(layers[i], index, plan), options_.threads);
  }
  return errors;
}

// `prefix`: hash of all that the layer's inputs depend on. Where samples were given up, what was seen depends on more than that.
LayerError Rounder::round_one(const LinearLayer& layer, size_t index, const LayerContext& context, Material& material,
                              Frontier& frontier, const std::string& prefix, const quant::Rounding& rounding,
                              quant::NodePlan& plan) const {
  const std::string key = key_of(prefix, layer, plan, rounding, context.vector) + (context.others != nullptr ? " shared" : "");
  if (const auto known = memory_->rounded.find(key)) {
    put_into(plan, context.vector, *known);
    return known->error;
  }
  const auto round_whole = [&] {
    const auto moments = moments_at(layer, index, material, frontier, prefix);
    return round_layer(layer, context.others == nullptr ? *moments : sum_of(*moments, *context.others), context, plan);
  };
  const LayerError error =
      layer.inputs > options_.most_inputs ? round_in_blocks(layer, index, context, material, frontier, plan) : round_whole();
  if (frontier.samples() == material.targets.samples())
    memory_->rounded.keep(key, std::make_shared<const RoundedLayer>(taken_from(plan, context.vector, error)));
  return error;
}

LayerError Rounder::round_in_blocks(const LinearLayer& layer, size_t index, const LayerContext& context, Material& material,
                                    Frontier& frontier, quant::NodePlan& plan) const {
  frontier.advance(layer.node);
  const auto targets = material.targets.at(index);
  const auto fill = [&](size_t sample, std::span<const uint32_t> positions, float* to, size_t stride) {
    gather_inputs(layer, frontier.input(sample), frontier.decoding(), (*targets)[sample].shape, positions, to, stride);
  };
  return round_wide_layer(layer, {*targets, frontier.samples(), fill, options_.block_inputs}, context, plan);
}

// What was kept under the key, or is observed now.
std::shared_ptr<const Moments> Rounder::moments_at(const LinearLayer& layer, size_t index, Material& material, Frontier& frontier,
                                                   const std::string& key) const {
  if (auto known = memory_->moments.find(key)) return known;
  auto moments = observe(layer, *material.targets.at(index), frontier);
  if (frontier.samples() == material.targets.samples()) memory_->moments.keep(key, moments);
  return moments;
}

// The layer's moments over the samples that the frontier holds.
std::shared_ptr<const Moments> Rounder::observe(const LinearLayer& layer, const std::vector<Target>& targets,
                                                Frontier& frontier) const {
  frontier.advance(layer.node);
  std::vector<size_t> samples(frontier.samples());
  std::iota(samples.begin(), samples.end(), size_t{0});
  const auto fill = [&](size_t sample, float* to, size_t stride) {
    const Target& target = targets[sample];
    gather_inputs(layer, frontier.input(sample), frontier.decoding(), target.shape, target.positions, to, stride);
  };
  return std::make_shared<const Moments>(moments_of(layer, samples, targets, fill, options_.threads));
}

}  // namespace quasar::tune
