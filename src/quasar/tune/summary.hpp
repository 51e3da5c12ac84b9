// What a search found out, and who hears of it while it runs.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "quasar/base/log.hpp"
#include "quasar/eval/evaluate.hpp"
#include "quasar/job/job.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/runtime/latency.hpp"
#include "quasar/search/run.hpp"
#include "quasar/strategy/story.hpp"
#include "quasar/trial/quality.hpp"
#include "quasar/tune/all_cores.hpp"
#include "quasar/tune/evidence.hpp"
#include "quasar/tune/flips.hpp"
#include "quasar/tune/layer_facts.hpp"
#include "quasar/tune/pieces.hpp"
#include "quasar/tune/processors.hpp"
#include "quasar/tune/speed_gate.hpp"

namespace quasar::tune {

// strategy_failed: an exception came out of the strategy, and what was found until then is kept.
enum class Status { ok, goal_missed, no_candidate, strategy_failed, interrupted };

// A model with what was measured on it.
struct Measured {
  eval::Scores metrics;
  std::optional<eval::Scores> holdout;
  uintmax_t bytes = 0;
  runtime::Latency latency;
};

// The winner beside the float model, both run in turns.
struct Speed {
  runtime::Latency in_float = {};
  runtime::Ratio of_float = {};               // how many times as long as the float model a run takes on one thread
  std::optional<runtime::Ratio> on_all = {};  // the same with as many threads as there are cores; nullopt: not measured
  bool counts = true;                         // false: the model is for another processor
  Json operators = nullptr;                   // what they cost (operator_costs.hpp); null: not measured
  static constexpr double as_fast_as = 1.02;  // within noise
  bool slower_on_all() const { return on_all && is_slower(*on_all, as_fast_as); }
  bool faster() const { return of_float.high < 1 && !slower_on_all(); }
};

struct Winner : Measured {
  search::Trial trial;
  quant::Config config;
  size_t quantized_nodes = 0, float_nodes = 0;  // of those that the target could quantize
  std::string nodes_by = {};                    // who says which they are: the library that runs the model, in words, or "plan"
  double quantized_work = 1;                    // share of the multiply-adds that are planned in integers
  std::string unit_of_work = "multiply-adds";   // or weights, where shapes are unknown
  std::vector<LayerFacts> layers;
  std::vector<LayerRanges> ranges;  // of the layers that lose most
  std::optional<Flips> flips;
  std::vector<std::string> lost_parts = {};  // of its plan
  std::optional<size_t> broken_rules;        // of the NPU that it is for; nullopt: it is for none
  std::optional<Processors> processors;      // for which the scores hold; nullopt: for the one that the target simulates
  Quality quality;
  Speed speed;
  Evidence evidence;
  std::vector<PieceFacts> pieces = {};  // of a pipeline, in the order in which they run
  Json needs = nullptr;                 // the oldest ONNX Runtime that loads it (runtime/oldest_release.hpp)
};

// Everything that a report shows.
struct Summary {
  Status status = Status::ok;
  std::string reason;  // why the search ended, in words
  std::string lost;    // what became of the study while the search ran, so that its trials are not found again; "": nothing
  bool asked_to_stop = false;  // somebody asked its leader to stop (`quasar study stop`), and wants no more of it
  Measured baseline;
  Json head = nullptr;  // of the model, as eval::to_json() writes it; null: it was not looked for
  std::optional<Winner> best;
  std::vector<search::Trial> trials;
  std::vector<int64_t> front;  // numbers of the feasible trials that none dominates
  search::Counts counts;
  std::optional<Story> story;           // what the strategy tells of its way
  std::vector<std::string> warnings;    // what the user should know: of the job, and what the search found out
  std::optional<SpeedGate> speed_gate;  // which operators stay in float to be fast; nullopt: nobody asked
  double prepare_s = 0, float_s = 0, calibrate_s = 0, trials_s = 0, winner_s = 0, seconds = 0;
};

// Who watches, and who may stop it. `results` hears of the whole end, and writes into `folder` the result.json that is to appear
// together with best.onnx; not called where the search ended before its first trial.
struct Monitor {
  Log log = {};
  search::Listener listener = {};
  std::stop_token stop = {};
  std::function<void(const Measured&)> baseline = {};  // called when the float model has been measured
  std::function<void(const Summary&, const std::filesystem::path& folder)> results = {};
  std::function<void(const Job&)> goes_on = {};  // called when the search goes on with another job (rescue.hpp)
  std::string launch = {};                       // of processes that were started together: the same text for all of them
  std::string run = {};                          // a worker's, whose search ran when it came: which one (worker/said.hpp)
};

}  // namespace quasar::tune
