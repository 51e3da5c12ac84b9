// Two stages of a search with made-up objectives and times of forms.
#pragma once

#include <gtest/gtest.h>

#include "quasar/base/error.hpp"
#include "quasar/strategy/strategy.hpp"

namespace quasar::tune {

inline const char* const space_text = R"({
  "activation": ["Int8Spec"],
  "activation_params": {"symmetric": [true, false], "calibration_method": ["MinMax", "Percentile"], "only_if": "activation"},
  "weight": ["Int8Spec"],
  "weight_params": {"quant_granularity": ["Tensor", "Channel"], "only_if": "weight"},
  "PercentileCandidates": [[99.9, 99.99]],
  "exclude": [null, ["conv1", "conv2"]],
  "OptimizeModel": [true],
  "algorithms": ["adaround", "adaquant"],
  "adaround_params": {"num_iterations": {"type": "int", "low": 1, "high": 20}, "only_if": {"algorithms": "adaround"}},
  "adaquant_params": {"damping": {"type": "float", "low": 0.1, "high": 10.0, "log": true}, "only_if": {"algorithms": "adaquant"}}
})";

struct Stages : testing::Test {
  Stages() {
    job.spaces = {parse_json(space_text, "test")};
    job.strategy = "two_stage";
    job.sampler.name = "tpe";
    job.aim.metrics = {"L2"};
    job.aim.goals.objectives = {{"L2", Direction::minimize}};
    job.limits.n_trials = 12;
  }

  // Lower is better: Channel, asymmetric, MinMax and nothing excluded are best; rounding helps a little.
  double score(const Json& words) const {
    double value = 10 + offset;
    if (words["weight_params"]["quant_granularity"] == "Channel") value -= 4;
    if (words["activation_params"]["symmetric"] == false) value -= 2;
    if (words["activation_params"]["calibration_method"] == "MinMax") value -= 1;
    if (!words["exclude"].is_null()) value += 0.5;
    const std::string form = words.value("form", "all");
    if (form != "all")
      value -= form == "products" ? 0.2 : form == "dynamic_products" ? gain_of_dynamic_products : gain_of_dynamic;
    if (words.value("algorithms", Json()) == "adaround") value -= 0.01 * words["adaround_params"]["num_iterations"].get<double>();
    if (words.value("algorithms", Json()) == "adaquant") value -= 0.1;
    return value;
  }

  search::RunResult run(bool resume = false, size_t die_after = 1000) {
    Spaces spaces = read_spaces(job);
    spaces.form_times = form_times;
    spaces.lesser_forms = lesser_forms;
    for (const auto& form : left_out) spaces.leave_out(form, "is left out");
    search::Study study(*storage, {.directions = {direction}, .resume = resume});
    const auto strategy = strategies::table().make(job.strategy);
    strategy->check(job, spaces);
    std::stop_source stop;
    size_t done = 0;
    const auto objective = [&](search::RunningTrial& trial) -> search::Outcome {
      if (done++ >= die_after) {
        stop.request_stop();
        throw Cancelled("killed");
      }
      const Json words = words_of(spaces.all, trial.point());
      if (!failing.empty() && words.value("form", "") == failing) throw Error("this form fails");
      const double value = score(words);
      const double sign = direction == Direction::minimize ? 1 : -1;
      const bool violates = !violating.empty() && words.value("form", "") == violating;
      return {.values = {sign * value},
              .constraints = violating.empty() ? std::vector<double>() : std::vector<double>{violates ? 1.0 : 0.0},
              .candidate = value < good_enough};
    };
    const Finding found = strategy->run({.job = job,
                                         .spaces = spaces,
                                         .space = spaces.each[0],
                                         .study = study,
                                         .objective = objective,
                                         .stop = stop.get_token()});
    trials.assign(study.trials().begin(), study.trials().end());
    const search::Trial* chosen = found.winner ? &study.at(*found.winner) : study.best();
    best = chosen != nullptr ? words_of(spaces.all, chosen->point) : Json();
    in_need = found.in_need;
    nearer = found.nearer;
    return found.result;
  }

  size_t in_stage(const std::string& name) const {
    return static_cast<size_t>(std::ranges::count_if(
        trials, [&](const auto& trial) { return trial.finished() && trial.user_attributes.at("stage") == name; }));
  }

  std::unique_ptr<search::Storage> storage = search::open_storage("memory");
  Direction direction = Direction::minimize;
  double good_enough = -1e9;
  std::map<std::string, double> form_times = {};
  std::set<std::string> lesser_forms = {};
  double offset = 0, gain_of_dynamic = 3, gain_of_dynamic_products = 0.3;
  std::optional<int64_t> in_need, nearer;
  std::vector<std::string> left_out = {};
  std::string failing = {};    // a form that no model can be made in
  std::string violating = {};  // a form that breaks a constraint
  Job job;
  std::vector<search::Trial> trials;
  Json best;
};

}  // namespace quasar::tune
