// One trial: point -> configuration -> plan -> quantized model -> scores.
#pragma once

#include "quasar/eval/evaluate.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/job/job.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/search/racer.hpp"
#include "quasar/search/run.hpp"
#include "quasar/sensitivity/toggled_model.hpp"
#include "quasar/trial/early_rejection.hpp"
#include "quasar/trial/quantized_share.hpp"
#include "quasar/trial/score_book.hpp"
#include "quasar/trial/undisturbed.hpp"
#include "quasar/trial/variants.hpp"

namespace quasar::tune {

// What all trials share; immutable but for the variants of the float graph, which are made on first use.
struct TrialContext {
  const Job& job;
  const graph::Model& model;
  const quant::Target& target;
  const search::Space& space;
  Variants& variants;
  const eval::Evaluator& evaluator;
  ScoreBook& book;
  const data::Dataset& samples;  // that costs are measured on
  Undisturbed& undisturbed;
  runtime::DeviceRing& devices;         // that candidates are scored and timed on
  search::Racer* racer = nullptr;       // nullptr: every trial is scored on all samples
  EarlyRejection* rejection = nullptr;  // the same, unless it watches; nullptr: it never does
  double float_ms = 0;  // what the float model took when the study began, by which latencies are told; 0: nobody asks for them
};

// What goals ask of a model: its scores, and its costs as far as they are needed. Latency is measured while no other trial
// computes, in turns with the float model: how many times as long, times float_ms. So a machine that is busy in one trial and
// free in another compares the models and not itself. `work` is the caller's share.
Measures measured(const TrialContext& context, const graph::Model& model, const eval::Scores& scores, Undisturbed::Work& work,
                  const runtime::Device& device);

// Of the file that the model makes; beyond protobuf's 2 GB its weights, which are nearly all of it.
size_t bytes_of(const graph::Model& model);

// Where a configuration wants weights to be saved.
graph::ExternalData external(const quant::Config& config);

// The plan of a configuration in the laboratory, before rounding is optimized.
quant::Plan plan_of(const TrialContext& context, const quant::Config& config);

// The quantized model of a configuration's plan, rounding optimized as the plan says.
Built build(const TrialContext& context, const quant::Config& config, quant::Plan plan, const std::function<void()>& check = {});

// plan_of() the point's configuration. Throws Error where a trial would fail before anything is built.
quant::Plan possible_plan(const TrialContext& context, const quant::Config& config, const search::Point& point);

// Why possible_plan() throws; "": it does not.
std::string why_impossible(const TrialContext& context, const search::Point& point);

// What a finished trial tried: as it recorded it, also when the space has changed since.
quant::Config config_of(const TrialContext& context, const search::Trial& trial);

// Where keep_models puts a trial's model. Studies that succeed another have their own names in front.
std::filesystem::path kept_file(const StudyKeys& study, int64_t trial);

// A user attribute of trials whose model was rounded in the light of samples: a hash of all that it holds, and that hash of a
// model of this plan.
inline constexpr const char* content_attribute = "model_hash";
std::string content_of(const graph::Model& model, quant::Plan plan);

// Keeps what a trial has found out in the laboratory's book; `value`: of the first objective.
void keep(const TrialContext& context, int64_t trial, const eval::Scores& scores, double value, const graph::Model& model);

// Runs one trial. A plan that another trial has is a duplicate and costs nothing. Throws Error when the configuration cannot be
// carried out, Cancelled when the search is stopped.
search::Outcome try_point(const TrialContext& context, search::RunningTrial& trial);

// Whether these values are good enough for the user: by accuracy_criterion, or the objective's not worse than the float model's
// by more than search_metric_tolerance. Constraints are another matter.
bool is_good_enough(const Aim& aim, const Measures& values, const eval::Scores& reference);

// The plan with its rounding. `check`: called between layers, and what it throws ends the work.
quant::Plan rounded_plan(const TrialContext& context, const quant::Config& config, const std::function<void()>& check = {});

// With this plan of it; keeps what the job's memory_limit allows. Throws as ToggledModel does.
ToggledModel instrumented(const TrialContext& context, const quant::Config& config, const quant::Plan& plan);

}  // namespace quasar::tune
