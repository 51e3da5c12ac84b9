#include "quasar/tune/prepared_job.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

#include "quasar/base/names.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/graph/pipeline/pipeline.hpp"
#include "quasar/quant/blocks.hpp"
#include "quasar/quant/node_names.hpp"
#include "quasar/quant/pairs.hpp"
#include "quasar/runtime/device.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/search/prior_trials.hpp"
#include "quasar/studies/warm_start.hpp"
#include "quasar/tune/open_data.hpp"

namespace quasar::tune {
namespace {

data::Splits open_splits(const Job& job, const PreparedJob& prepared) {
  const auto opened = [&](const Json& words) { return open_data(words, prepared.model, job.base, prepared.negative_ids); };
  data::Splits splits;
  if (!job.samples.split.is_null()) {
    splits = data::split(opened(job.samples.data), job.samples.split);
  } else {
    splits.calibration = opened(job.samples.calibration);
    splits.evaluation = opened(job.samples.evaluation);
  }
  if (!job.samples.holdout.is_null()) splits.holdout = opened(job.samples.holdout);
  return splits;
}

// Watched for samples in two splits, unless the user says himself that they are the same.
data::Splits open_watched(const Job& job, const PreparedJob& prepared) {
  data::Splits splits = open_splits(job, prepared);
  data::OverlapGuard& guard = *prepared.guard;
  if (job.samples.split.is_null() && job.samples.evaluation == job.samples.calibration) {
    for (auto* samples : {&splits.calibration, &splits.evaluation}) *samples = guard.watch_alone(*samples);
    return splits;
  }
  splits.calibration = guard.watch("calibration", splits.calibration);
  splits.evaluation = guard.watch("evaluation", splits.evaluation);
  splits.holdout = guard.watch("hold-out", splits.holdout);
  return splits;
}

// A graph that configurations quantize, and the names in them that are its nodes'.
struct NamedGraph {
  NamedGraph(const graph::Model& original, graph::Model of) : model(std::move(of)), index(model), names(original, model) {}
  const graph::Model model;
  const graph::Index index;
  const quant::NodeNames names;
};

// Why a model of this opset cannot have the scales per group that a configuration asks for.
class BlockCheck {
 public:
  explicit BlockCheck(const PreparedJob& prepared, bool with_raw)
      : clean_(std::make_shared<const NamedGraph>(prepared.original, prepared.model)),
        raw_(with_raw ? std::make_shared<const NamedGraph>(prepared.original, runtime::unoptimized(prepared.original)) : clean_),
        target_(prepared.target.get()) {}

  std::string operator()(const Json& words) const {
    const quant::Config config = quant::parse_config(words);
    if (!quant::asks_for_blocks(config)) return "";
    const std::string key = key_of(config);
    const std::scoped_lock lock(known_->mutex);
    if (const auto found = known_->why.find(key); found != known_->why.end()) return found->second;
    const NamedGraph& graph = config.optimize_model ? *clean_ : *raw_;
    return known_->why[key] = quant::why_no_blocks(graph.names.resolved(config), graph.index, *target_);
  }

 private:
  struct Known {
    std::mutex mutex;
    std::map<std::string, std::string> why;
  };

  // How ranges are found, weights rounded and the graph transformed makes no difference.
  static std::string key_of(quant::Config config) {
    config.rounding = {};
    config.transforms.clear();
    Json words = quant::to_json(config);
    for (const char* key : {"Percentile", "PercentileCandidates", "CalibMovingAverage", "CalibMovingAverageConstant"})
      words.erase(key);
    for (const char* side : {"activation_params", "weight_params"}) {
      if (words.contains(side)) words[side].erase("calibration_method");
    }
    return words.dump();
  }

  std::shared_ptr<const NamedGraph> clean_, raw_;
  const quant::Target* target_;
  std::shared_ptr<Known> known_ = std::make_shared<Known>();
};

bool speaks_of(const Json& space, const char* word) {
  return normalized(space.dump()).find(word) != std::string::npos;
}

// Scales per group that this model cannot have are left out before the first trial, or are an error where nothing else remains.
void leave_out_blocks(const Job& job, PreparedJob& prepared) {
  Spaces& spaces = prepared.spaces;
  for (size_t i = 0; i < job.spaces.size() && !quant::has_blocks(prepared.model); ++i) {
    if (!speaks_of(job.spaces[i], "group")) continue;
    const BlockCheck check(prepared, speaks_of(job.spaces[i], "optimizemodel"));
    std::string why;
    for (search::Space* space : {&spaces.calibration[i], &spaces.each[i]}) {
      const auto before = space->valid();
      space->forbid([plain = *space, check](const search::Point& point) {
        const std::string refused = plain.refused(point);
        return refused.empty() ? check(words_of(plain, point)) : refused;
      });
      if (before == space->valid()) continue;
      why = quant::why_no_blocks(prepared.model);
      if (space->valid() == 0U) throw Error(why);
    }
    if (!why.empty()) spaces.notes.push_back("combinations are left out: " + why);
  }
}

// For calibration, by any configuration of the spaces that are written and of those that strategies make.
size_t most_samples(const Job& job, const Spaces& spaces) {
  size_t most = spaces.needs.sizes.empty() ? 0 : *spaces.needs.sizes.rbegin();
  for (const Json& size : job.tuning.sampling_sizes) {
    if (size.is_number()) most = std::max(most, size.get<size_t>());
  }
  return most;
}

// Those of each configuration, with the first sample.
void check_fixed_shapes(const PreparedJob& prepared) {
  std::optional<data::Sample> first;
  for (const auto& [said, config] : prepared.spaces.names) {
    if (config.fixed_shapes.empty() || prepared.samples.calibration->size() == 0) continue;
    if (!first) first = prepared.samples.calibration->at(0);
    quant::check_sample(config.fixed_shapes, prepared.model.inputs, *first);
  }
}

}  // namespace

PreparedJob prepare(const Job& job) {
  PreparedJob prepared;
  for (const auto& device : job.devices) runtime::check_device(device);
  for (const auto& library : job.operator_libraries) runtime::load_custom_operators(library);
  prepared.spaces = read_spaces(job);
  prepared.strategy = strategies::table().make(job.strategy);
  prepared.strategy->check(job, prepared.spaces);
  prepared.earlier = earlier_trials(job);
  prepared.target = quant::targets::table().make(job.target);
  prepared.original = job.joined ? *job.joined : graph::load(job.model);
  prepared.model = runtime::prepare(prepared.original);
  if (graph::pipeline_of(prepared.model)) graph::split(prepared.model);  // what cannot be said now is not found out at the end
  prepared.spaces.extend(
      [&](size_t i) { return prepared.strategy->space_of(job, job.spaces[i], prepared.model, *prepared.target); });
  for (auto& note : prepared.strategy->idle(job, prepared.model, *prepared.target))
    prepared.spaces.notes.push_back(std::move(note));
  if (std::string note = quant::note_on_codes(prepared.model); !note.empty()) prepared.spaces.notes.push_back(std::move(note));
  leave_out_blocks(job, prepared);
  const quant::NodeNames names(prepared.original, prepared.model);
  std::optional<quant::NodeNames> raw;  // of the graph without clean-up
  for (const auto& [said, config] : prepared.spaces.names) {
    if (!config.optimize_model && !raw) raw.emplace(prepared.original, runtime::unoptimized(prepared.original));
    (config.optimize_model ? names : *raw).resolved(config);
    quant::check_shapes(*prepared.target, config, prepared.model.inputs);
    quant::check_tensors(*prepared.target, config, prepared.model);
  }
  for (const auto& words : prepared.strategy->also_needs(job, prepared.model, *prepared.target))
    prepared.spaces.needs.add(quant::parse_config(words));
  prepared.samples = open_watched(job, prepared);
  check_fixed_shapes(prepared);
  const size_t samples = prepared.samples.calibration->size();
  if (const size_t asked = most_samples(job, prepared.spaces); asked > samples)
    prepared.spaces.notes.push_back("calibration_sampling_size (CalibDataSize) asks for " + std::to_string(asked) +
                                    " samples, and there are " + std::to_string(samples) + ": all of them are used");
  if (job.aim.decoder.is_null() && job.aim.output_weights.is_null()) prepared.chosen = ops::chosen_outputs(prepared.model);
  return prepared;
}

Json warm_start_facts(const PreparedJob& prepared) {
  const auto& [spaces, earlier] = std::tie(prepared.spaces, prepared.earlier);
  size_t inside = 0;
  for (const auto& trial : earlier) {
    const auto fits = [&](const search::Space& space) { return !search::fitting({&trial, 1}, space).empty(); };
    const bool first_stage = prepared.strategy->in_stages() && std::ranges::any_of(spaces.calibration, fits);
    inside += first_stage || std::ranges::any_of(spaces.each, fits) ? 1 : 0;
  }
  return {{"trials", earlier.size()}, {"inside", inside}, {"outside", earlier.size() - inside}};
}

// "search space: 24 points, 20 different configurations, 20 calibrations"; what is not known is left out.
std::string in_words(const Json& space) {
  const auto some = [&](const char* key, const char* one, const char* many) {
    return space[key].is_null() ? "" : space[key].dump() + (space[key] == 1 ? one : many);
  };
  std::vector<std::string> parts;
  for (const std::string& part :
       {some("points", " point", " points"), some("distinct", " different configuration", " different configurations"),
        some("calibrations", " calibration", " calibrations")}) {
    if (!part.empty()) parts.push_back(part);
  }
  return "search space: " + (parts.empty() ? "more points than can be counted" : joined(parts));
}

void tell_spaces(const Job& job, const PreparedJob& prepared, const Log& log) {
  for (const Json& facts : prepared.spaces.facts) {
    if (facts.empty()) continue;
    tell(log, Level::info, in_words(facts));
    const std::string at_least = facts["invalid"].is_null() ? "at least " : "";  // a part of a large space was looked at
    for (const auto& [why, count] : facts["why"].items())
      tell(log, Level::warning, at_least + count.dump() + " combinations are left out: " + why);
  }
  if (job.translated) {
    for (const Json& space : job.spaces) tell(log, Level::info, "translated search space: " + space.dump());
  }
  if ((job.warm_start.place.empty() && job.study.predecessor.empty()) || !prepared.strategy->learns_from_earlier()) return;
  const Json facts = warm_start_facts(prepared);
  tell(log, facts["inside"] == 0 && facts["outside"] != 0 ? Level::warning : Level::info,
       "warm start: " + facts["inside"].dump() + " trials of " +
           (job.warm_start.place.empty() ? "this search's earlier studies" : without_password(job.warm_start.place)) +
           " teach the sampler, " + facts["outside"].dump() + " lie outside the space");
}

eval::EvaluatorOptions evaluator_options(const Job& job, const std::vector<std::string>& judged, bool holdout) {
  const bool own = job.aim.evaluator && (!holdout || job.aim.evaluator->looks_at_samples());
  eval::EvaluatorOptions options{.metrics = {},
                                 .memory_limit = job.limits.memory,
                                 .spill = job.output.temp_dir,
                                 .seed = job.seed,
                                 .device = job.devices.front(),
                                 .custom = own ? job.aim.evaluator : nullptr,
                                 .model = job.model,
                                 .base = job.base,
                                 .candidates = job.words.value("temp_dir", std::string()).empty() ? "" : job.output.temp_dir,
                                 .decoder = job.aim.decoder.is_null() ? job.aim.head_decoder : job.aim.decoder,
                                 .output_weights = job.aim.output_weights,
                                 .judged = judged};
  for (const auto& metric : job.aim.metrics) {
    if (own || !is_own(job.aim.goals, metric)) options.metrics.push_back(metric);
  }
  return options;
}

}  // namespace quasar::tune
