// One trial: point -> configuration -> plan -> quantized model -> scores.
#pragma once

#include "quasar/eval/evaluate.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/job/job.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/search/racer.hpp"
#include "quasar/search/run.hpp"
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
};

// What goals ask of a model: its scores, and its costs as far as they are needed. Latency is measured while no other trial
// computes; `work` is the caller's share.
Measures measured(const TrialContext& context, const graph::Model& model, const eval::Scores& scores, Undisturbed::Work& work,
                  const runtime::Device& device);

// Where a configuration wants weights to be saved.
graph::ExternalData external(const quant::Config& config);

// The plan of a configuration in the laboratory, before rounding is optimized.
quant::Plan plan_of(const TrialContext& context, const quant::Config& config);

// The quantized model of a configuration's plan, rounding optimized as the plan says.
Built build(const TrialContext& context, const quant::Config& config, quant::Plan plan, const std::function<void()>& check = {});

// Why a trial of this point would fail before anything is built; "": nothing speaks against it.
std::string why_impossible(const TrialContext& context, const search::Point& point);

// What a finished trial tried: as it recorded it, also when the space has changed since.
quant::Config config_of(const TrialContext& context, const search::Trial& trial);

// Why no trial of this job can be given up early, in words; "": they can.
std::string why_not_raced(const Job& job);

// What the user should know of a pruner that he named and that cannot act; "" when it can.
std::string idle_pruner(const Job& job);

// The racer of the job's pruner; nullptr for the pruner none, and where the objective is no mean over samples or not the only
// one.
std::unique_ptr<search::Racer> racer_of(const Job& job, const search::Study& study, const eval::Evaluator& evaluator);

// Where keep_models puts a trial's model. Studies that succeed another have their own names in front.
std::filesystem::path kept_file(const Job& job, int64_t trial);

// What the trials of a resumed study have made, so that an equal model is not scored again.
void recall_models(const TrialContext& context, std::span<const search::Trial> trials);

// A finished trial's scores as the study has them, without intervals and values per sample; nullopt: one that candidates must be
// scored on is not there.
std::optional<eval::Scores> recorded_scores(const Job& job, const search::Trial& trial);
// What the user's evaluator gave of them; empty: it gave none, or not all. It says no more when it is asked again, and may take
// its time.
eval::Scores said_before(const Job& job, const search::Trial& trial);
// Whether these are all that candidates must be scored on.
bool all_there(const Job& job, const eval::Scores& scores);

// The best trial of a resumed study, scored again unless a user's evaluator did: what the racer compares with, and what becomes
// best.onnx if nothing better comes.
void recall_best(const TrialContext& context, const search::Trial& trial);

// Runs one trial. A plan that another trial has is a duplicate and costs nothing. Throws Error when the configuration cannot be
// carried out, Cancelled when the search is stopped.
search::Outcome try_point(const TrialContext& context, search::RunningTrial& trial);

// Whether these values are good enough for the user: by accuracy_criterion, or the objective's not worse than the float model's
// by more than search_metric_tolerance. Constraints are another matter.
bool is_good_enough(const Job& job, const Measures& values, const eval::Scores& reference);

}  // namespace quasar::tune
