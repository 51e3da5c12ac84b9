// The parts of read_job(), each for the keys of one subject.
#pragma once

#include "quasar/job/job.hpp"
#include "quasar/job/strategy_facts.hpp"

namespace quasar::tune {

// Throws Error, which says where it belongs, for a key at the top level that is one of a nested mapping, or nearly.
void check_places(const Json& words);

// The opposite: for a key of the mapping `place` that is one of the top level and not among `known`.
void check_nested(const std::string& place, const Json& words, const std::vector<std::string>& known);

// Where a study is kept, and how processes share it: the keys, and what they say. `base`: where paths in URLs start, `folder`:
// where those of files do.
std::vector<OptionSpec> storage_key_specs();
StudyKeys study_of(const Options& keys, const std::filesystem::path& base, const std::filesystem::path& folder);

// A relative sqlite:/// URL with its path from `folder`; other storages as they are.
std::string sqlite_from(const std::filesystem::path& folder, const std::string& storage);

// search_metric, search_evaluator, objectives, constraints, direction, accuracy_criterion, search_metric_tolerance; and the
// metrics that the strategy needs besides.
Aim aim_of(const Options& keys, const std::filesystem::path& base, const StrategyFacts& strategy);

// search_algo: the sampler by name, or as {name: …, option: value}. Options are checked here, before anything runs.
Named sampler_of(const Json& words);

// pruner, likewise.
Named pruner_of(const Json& words);

// Names of presets in search_spaces, replaced by the spaces of those.
Json with_named_spaces(Json words);

// search_space, search_spaces, calibration_sampling_size, recipes.
void read_spaces_key(Job& job, const Options& keys, const StrategyFacts& strategy);

// strategy, two_stage_search and what else names a strategy.
std::string strategy_of(const Options& keys, const TuningKeys& tuning, const KnownStrategies& strategies);

// Without fine-tuning, or without a choice of calibration, there is one stage only.
void check_stages(Job& job, const StrategyFacts& strategy);

// Keys of tuning that would have no effect are an error.
void check_tuning_keys(Job& job, const Options& keys, const KnownStrategies& strategies);

}  // namespace quasar::tune
