// Strategies that tune, on the model of the example digits, with trials whose scores are made up.
#pragma once

#include <functional>

#include "quasar/base/file.hpp"
#include "quasar/strategy/parse_job.hpp"
#include "quasar/tune/prepared_job.hpp"
#include "quasar/tune/search_parts.hpp"

namespace quasar::tune {

inline Json digits_words() {
  const std::string digits = QUASAR_SOURCE_DIR "/examples/digits/";
  const auto reader = [&](const char* file) {
    return Json{{"reader", "npz"}, {"path", digits + file}, {"labels", "label"}, {"limit", 20}};
  };
  return {{"model_input", digits + "digits.onnx"},
          {"calib_data_reader", reader("calibration.npz")},
          {"eval_data_reader", reader("evaluation.npz")},
          {"search_metric", "L2"},
          {"strategy", "repair"},
          {"accuracy_criterion", {{"criterion", "absolute"}, {"tolerable_loss", 0.0001}}}};
}

class MadeUpTrials {
 public:
  // What a point measures, by metric; with `pruned`: on the samples before it was given up.
  using Score = std::function<Measures(const search::Point&)>;

  explicit MadeUpTrials(Json words, VariantOptions options = {})
      : words_(with_folder(std::move(words), folder_)),
        job(parse_job(words_, folder_.path())),
        setting(prepare(job)),
        variants(setting.original, setting.model, setting.samples.calibration, setting.spaces.needs, std::move(options)),
        evaluator_(evaluator_of(job, setting)),
        devices_(job.devices),
        context_{job,          setting.model, *setting.target, setting.spaces.all,
                 variants,     evaluator_,    book_,           *setting.samples.evaluation,
                 undisturbed_, devices_},
        storage_(search::open_storage("memory")),
        study(*storage_, {.directions = job.aim.goals.directions()}) {
    variants.observe();
  }

  Finding run(const Strategy& strategy, const Score& score) {
    return strategy.run({.trial_context = &context_,
                         .job = job,
                         .spaces = setting.spaces,
                         .space = setting.spaces.each.front(),
                         .study = study,
                         .objective = [&](search::RunningTrial& trial) { return outcome(score(trial.point())); },
                         .samples = setting.samples.calibration});
  }
  Finding run(const Score& score) { return run(*setting.strategy, score); }

  const TrialContext& trial_context() const { return context_; }
  search::Point default_point() const { return tune::default_point(setting.spaces.each.front()); }

 private:
  static Json with_folder(Json words, const TemporaryFolder& folder) {
    words["output_dir"] = folder.path().string();
    return words;
  }

  search::Outcome outcome(const Measures& measures) const {
    search::Outcome out{.values = values_of(job.aim.goals, measures),
                        .constraints = criterion_is_constraint(job.aim)
                                           ? constraints_of(job.aim, measures, evaluator_.reference())
                                           : excesses(job.aim.goals, measures, evaluator_.reference()),
                        .pruned = measures.contains("pruned"),
                        .user_attributes = {{"metrics", measures}}};
    const bool feasible = std::ranges::all_of(out.constraints, [](double excess) { return excess <= 0; });
    out.candidate = feasible && is_good_enough(job.aim, measures, evaluator_.reference());
    return out;
  }

  TemporaryFolder folder_;
  Json words_;

 public:
  const Job job;
  const PreparedJob setting;
  Variants variants;

 private:
  const eval::Evaluator evaluator_;
  ScoreBook book_;
  Undisturbed undisturbed_;
  runtime::DeviceRing devices_;
  const TrialContext context_;
  std::unique_ptr<search::Storage> storage_;

 public:
  search::Study study;
};

}  // namespace quasar::tune
