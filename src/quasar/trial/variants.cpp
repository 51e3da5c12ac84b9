#include "quasar/trial/variants.hpp"

#include <algorithm>
#include <iterator>

#include "quasar/quant/codes/rounding.hpp"
#include "quasar/quant/config/selection.hpp"
#include "quasar/quant/standalone.hpp"
#include "quasar/rounding/rounding_memory.hpp"
#include "quasar/runtime/prepare.hpp"

namespace quasar::tune {
namespace {

// Names in a list, with those that stand for nodes that are gone.
std::vector<std::string> succeeded(const std::vector<std::string>& names,
                                   const std::map<std::string, std::set<std::string>>& became) {
  std::vector<std::string> out;
  for (const auto& name : names) {
    const auto found = became.find(name);
    if (found == became.end()) {
      out.push_back(name);
    } else {
      out.insert(out.end(), found->second.begin(), found->second.end());
    }
  }
  return out;
}

// An empty list would choose all nodes: one whose nodes are all gone stays as it is, and is refused.
quant::Selection succeeded(quant::Selection selection, const std::map<std::string, std::set<std::string>>& became) {
  const auto replace = [&](std::set<std::string>& names) {
    const auto now = succeeded(std::vector<std::string>(names.begin(), names.end()), became);
    if (!now.empty()) names = {now.begin(), now.end()};
  };
  for (const auto& list : quant::name_lists()) replace(selection.*list.names);
  return selection;
}

// Ranges that the user gave are not to be chosen again.
void keep_given(quant::Plan& plan, const quant::Config& config, const CalibrationNeeds& needs) {
  Json& options = plan.rounding.options;
  if (!options.value("refine_activations", false)) return;
  std::set<std::string> kept;
  for (const auto& value : options["keep_activations"]) {
    const auto name = value.get<std::string>();
    kept.insert(name);
    if (!plan.values.contains(name)) plan.notes.push_back("keep_activations: no quantized value is named '" + name + "'");
  }
  for (const auto& [value, own] : config.tensors) kept.insert(value);
  for (const auto& [value, given] : needs.given) kept.insert(value);
  std::erase_if(kept, [&](const std::string& value) { return !plan.values.contains(value); });
  options["keep_activations"] = kept;
}

constexpr size_t most_rounded = 2;  // plans whose codes are kept for others

// The transform that has scaled weights for their rounding; "": none has.
std::string scaled_by(const quant::Config& config) {
  const quant::Rounding& rounding = config.rounding;
  const std::string wanted = quant::rounding::table().make(rounding.method, rounding.options)->transform();
  return std::ranges::count(config.transforms, wanted, &quant::TransformUse::name) > 0 ? wanted : "";
}

// Warnings alone.
Log warnings_of(const Log& log) {
  return [log](Level level, const std::string& text) {
    if (level == Level::warning || level == Level::error) tell(log, level, text);
  };
}

// What nearest rounding does to the model before its weights were scaled, in place of what it does afterwards.
void set_nearest(RoundingReport& report, const graph::Model& model, const quant::Config& config, const quant::Plan& scaled,
                 Rounder& rounder) {
  quant::Plan plan;
  plan.rounding = scaled.rounding;
  std::string why;
  for (const auto& node : model.nodes) {
    if (!scaled.nodes.contains(node.name)) continue;
    quant::Config own = config;
    if (const quant::LayerRule* rule = quant::rule_for(node, config)) {
      if (rule->in_float) continue;
      own.activation = rule->activation;
      own.weight = rule->weight;
    }
    if (auto made = quant::plan_alone(node, model, own, why)) plan.nodes[node.name] = std::move(*made);
  }
  std::map<std::string, LayerError> errors;
  for (const auto& layer : rounder.improve(plan).layers) errors[layer.node] = layer;
  for (auto& layer : report.layers) {
    const auto found = errors.find(layer.node);
    if (found != errors.end()) layer.before = found->second.before, layer.alone = found->second.alone;
  }
}

}  // namespace

Variants::Variants(const graph::Model& original, const graph::Model& prepared, data::DatasetPtr samples,
                   const CalibrationNeeds& needs, VariantOptions options)
    : original_(original),
      prepared_(prepared),
      names_(original, prepared),
      samples_(std::move(samples)),
      needs_(needs),
      options_(std::move(options)) {
  if (options_.rounding.memory == nullptr)
    options_.rounding.memory = std::make_shared<RoundingMemory>(samples_, options_.rounding.memory_limit, options_.rounding.once);
  options_.rounding.progress = options_.progress;
  options_.rounding.sharer = sharer_;
  if (!options_.statistics_dir.empty())
    shared_ = std::make_shared<StatisticsFolder>(options_.statistics_dir, samples_, options_.log);
  base_ = std::make_shared<Variant>();
  base_->model = prepared;
  base_->calibration = calibration_of(base_->model);
  base_->rounder = std::make_shared<Rounder>(base_->model, samples_, options_.rounding);
  by_digest_[""] = base_;
}

Variants::~Variants() = default;

std::shared_ptr<Calibration> Variants::calibration_of(const graph::Model& model) const {
  return std::make_shared<Calibration>(model, samples_, needs_, options_.log, shared_, options_.progress);
}

void Variants::observe() {
  base_->calibration->observe();
}

double Variants::seconds() const {
  double sum = 0;
  for (const auto& [digest, variant] : by_digest_) sum += variant->calibration->seconds();
  return sum;
}

std::shared_ptr<const Variant> Variants::of(const quant::Config& config) {
  if (config.transforms.empty() && config.optimize_model) return base_;
  Json settings = Json::array({config.optimize_model});
  for (const auto& use : config.transforms) settings.push_back({use.name, use.options});
  settings.push_back(config.calib_data_size ? Json(*config.calib_data_size) : Json());
  const std::lock_guard lock(guard_);
  auto& variant = by_settings_[settings.dump()];
  if (variant == nullptr) variant = make(config);
  return variant;
}

// The graph that transforms start from, without clean-up where OptimizeModel is false.
std::shared_ptr<Variant> Variants::start(const quant::Config& config) {
  if (config.optimize_model) return base_;
  if (raw_ != nullptr) return raw_;
  graph::Model model = runtime::unoptimized(original_);
  raw_names_.emplace(original_, model);
  const std::string digest = digest_of(model, prepared_);
  if (digest == digest_of(prepared_, prepared_)) return raw_ = base_;  // clean-up changed nothing
  raw_ = std::make_shared<Variant>();
  raw_->model = std::move(model);
  raw_->digest = digest;
  raw_->calibration = calibration_of(raw_->model);
  raw_->rounder = std::make_shared<Rounder>(raw_->model, samples_, options_.rounding);
  by_digest_[digest] = raw_;
  return raw_;
}

std::shared_ptr<const Variant> Variants::make(const quant::Config& config) {
  const auto from = start(config);
  if (config.transforms.empty()) return from;
  auto [out, changed] = transformed(*from, config, {prepared_, *samples_, options_.rounding.threads, options_.log});
  // Other settings may have made the same graph: one calibration serves both.
  const auto known = by_digest_.find(out->digest);
  if (known != by_digest_.end()) {
    out->calibration = known->second->calibration;
    out->rounder = known->second->rounder;
    return out;
  }
  out->calibration = calibration_of(out->model);
  out->calibration->reuse(from->calibration, std::move(changed));
  RounderOptions rounding = options_.rounding;
  if (!scaled_by(config).empty()) rounding.log = warnings_of(rounding.log);  // improve() tells the rest
  out->rounder = std::make_shared<Rounder>(out->model, samples_, std::move(rounding));
  by_digest_[out->digest] = out;
  return out;
}

// Names as the variant's graph has them.
quant::Config Variants::resolved(const quant::Config& config, const Variant& variant) {
  quant::Config out = (config.optimize_model || !raw_names_ ? names_ : *raw_names_).resolved(config);
  if (variant.became.empty()) return out;
  const std::vector<std::string> excluded = succeeded({out.exclude.begin(), out.exclude.end()}, variant.became);
  out.exclude.assign(excluded.begin(), excluded.end());
  for (auto& rule : out.layers) rule.nodes = succeeded(rule.nodes, variant.became);
  out.selection = succeeded(std::move(out.selection), variant.became);
  return out;
}

quant::Plan Variants::plan(const quant::Config& given, const quant::Target& target) {
  const auto variant = of(given);
  quant::Config config = resolved(given, *variant);
  config.exclude.insert(config.exclude.end(), variant->in_float.begin(), variant->in_float.end());
  quant::Plan plan = quant::resolve(variant->model, variant->calibration->seen(config), config, target, variant->weights.get());
  for (const auto& name : variant->in_float) plan.skipped.erase(name);
  plan.graph = variant->digest;
  plan.corrections = variant->corrections;
  std::ranges::move(names_.notes(given), std::back_inserter(plan.notes));
  keep_given(plan, config, needs_);
  variant->rounder->settle(plan, config.calib_data_size);
  if (given.after_rounding.any() && plan.rounding.method != quant::Rounding().method) {
    const quant::Plan whole = this->plan(quant::while_rounding(given), target);
    if (quant::hash_of(whole) != quant::hash_of(plan)) plan.rounded_as = std::make_shared<const quant::Plan>(whole);
  }
  tell_new(plan.notes);
  plan.notes.insert(plan.notes.begin(), variant->notes.begin(), variant->notes.end());  // told when it was made
  return plan;
}

namespace {

// What "conv1: 2 weight scales raised so that …" has in common with the same of other nodes and numbers.
std::string kind_of(const std::string& note) {
  const size_t name = note.find(": ");
  std::string out = name == std::string::npos || note.find(' ') < name ? note : note.substr(name);
  std::erase_if(out, [](char c) { return c >= '0' && c <= '9'; });
  return out;
}

}  // namespace

// Of notes that differ in node and number only, the first is told, with how many are alike; the others are for the log.
void Variants::tell_new(const std::vector<std::string>& notes) {
  const std::lock_guard lock(guard_);
  std::vector<std::string> fresh;
  std::map<std::string, size_t> alike;
  for (const auto& note : notes) {
    if (!told_.insert(note).second) continue;
    fresh.push_back(note);
    ++alike[kind_of(note)];
  }
  for (const auto& note : fresh) {
    const std::string kind = kind_of(note);
    const size_t others = alike.at(kind) - 1;
    const bool first = told_kinds_.insert(kind).second;
    tell(options_.log, first ? Level::info : Level::debug,
         first && others > 0 ? note + " (" + std::to_string(others) + " more alike)" : note);
  }
}

const stats::Statistics& Variants::seen(const quant::Config& config) {
  const auto variant = of(config);
  return variant->calibration->seen(resolved(config, *variant));
}

struct Variants::Rounded {
  std::mutex guard;  // while it is rounded
  std::optional<quant::Plan> plan;
  RoundingReport report;
};

std::shared_ptr<Variants::Rounded> Variants::rounded(const quant::Config& config, const quant::Plan& plan,
                                                     const std::function<void()>& check) {
  const std::string hash = quant::hash_of(plan);
  std::shared_ptr<Rounded> out;
  {
    const std::lock_guard lock(guard_);
    const auto known = std::ranges::find(rounded_, hash, &std::pair<std::string, std::shared_ptr<Rounded>>::first);
    out = known == rounded_.end() ? std::make_shared<Rounded>() : known->second;
    if (known != rounded_.end()) rounded_.erase(known);
    rounded_.emplace_back(hash, out);
    if (rounded_.size() > most_rounded) rounded_.erase(rounded_.begin());
  }
  const std::lock_guard lock(out->guard);
  if (out->plan) return out;
  quant::Plan work = plan;
  out->report = round(config, work, check);
  out->plan = std::move(work);
  return out;
}

RoundingReport Variants::improve(const quant::Config& config, quant::Plan& plan, const std::function<void()>& check) {
  if (plan.rounding.method == quant::Rounding().method) return round(config, plan, check);
  const auto whole = rounded(quant::while_rounding(config), plan.rounded_as == nullptr ? plan : *plan.rounded_as, check);
  if (plan.rounded_as == nullptr) {
    plan.nodes = whole->plan->nodes;  // notes and reasons are of this configuration
    plan.refined = whole->plan->refined;
    // Of what rounding itself has to say.
    std::ranges::copy_if(whole->plan->notes, std::back_inserter(plan.notes),
                         [](const std::string& note) { return note.starts_with("end_loss_guidance"); });
    return whole->report;
  }
  const auto variant = of(config);
  variant->rounder->take_over(plan, *whole->plan);
  correct(*variant, plan);
  RoundingReport report = whole->report;
  std::erase_if(report.layers, [&](const LayerError& layer) {
    const auto node = plan.nodes.find(layer.node);
    return node == plan.nodes.end() || node->second.weight != whole->plan->nodes.at(layer.node).weight;
  });
  return report;
}

RoundingReport Variants::round(const quant::Config& config, quant::Plan& plan, const std::function<void()>& check) {
  const auto variant = of(config);
  RoundingReport report = variant->rounder->improve(plan, check);
  quant::Config unscaled = config;
  const std::string scaling = scaled_by(config);
  std::erase_if(unscaled.transforms, [&](const quant::TransformUse& use) { return use.name == scaling; });
  const auto plain = scaling.empty() ? variant : of(unscaled);
  if (plain->rounder != variant->rounder) {
    RounderOptions silent = options_.rounding;
    silent.log = {};
    Rounder rounder(plain->model, samples_, silent);
    set_nearest(report, plain->model, resolved(config, *plain), plan, rounder);
    for (const auto& layer : report.layers) tell(options_.rounding.log, Level::debug, in_words(layer));
    tell(options_.rounding.log, Level::info, summary_of(plan.rounding.method, report));
  }
  correct(*variant, plan);
  return report;
}

void Variants::correct(const Variant& variant, quant::Plan& plan) const {
  for (const auto& use : plan.corrections)
    quant::transforms::table().make(use.name, use.options)->correct(variant.model, variant.channels, plan);
}

graph::Model Variants::built_alike(const quant::Config& config, quant::Plan plan, const quant::Plan& rounded) {
  const auto variant = of(config);
  variant->rounder->take_over(plan, rounded);
  correct(*variant, plan);
  return quant::written(variant->model, plan);
}

Built Variants::build(const quant::Config& config, quant::Plan& plan, const std::function<void()>& check) {
  RoundingReport report = improve(config, plan, check);
  return {quant::written(of(config)->model, plan), std::move(report)};
}

}  // namespace quasar::tune
