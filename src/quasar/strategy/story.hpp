// How a strategy came to its result: what it tried, what it left in float and why, how sensitive operators are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quasar/base/log.hpp"
#include "quasar/job/accuracy.hpp"
#include "quasar/sensitivity/unit_errors.hpp"

namespace quasar::tune {

struct Story {
  // One trial. The strategy `repair` tells what was changed for it, other tuning strategies what it loses.
  struct Step {
    struct Change {
      Json parameters;  // name -> new value
      bool kept = false;
    };
    struct Loss {
      double value = 0;  // not finite: unknown
      size_t in_float = 0;
    };
    std::string name;
    int64_t trial = -1;
    std::optional<double> value = {};  // of the objective
    std::optional<Change> change = {};
    std::optional<Loss> loss = {};
  };

  // An operator that is not quantized to 8 bits in the end.
  struct InFloat {
    // What the search knows of the model that differs in this operator alone.
    struct Quantized {
      std::optional<double> gives = {};  // the objective
      Json bounds = Json::object();      // of that value where the trial was given up early (beyond_the_goal)
      std::string given_up = {};         // when it was
    };
    std::string node, type;
    std::string why = {};
    std::optional<Quantized> quantized = {};
    std::optional<double> gained = {};        // by leaving it in float
    std::optional<double> output_error = {};  // that it causes alone
  };

  // What is known of one operator, by the names that the report shows.
  struct Sensitivity {
    std::string node, op_type;
    std::vector<std::pair<std::string, double>> measures;
  };

  std::string strategy;
  // The rest is told by strategies that have a goal.
  std::optional<AccuracyCriterion> goal = {};
  // {bounds: {cost: the most that it may be}, front: {cost: [{trial, cost, value}]}, more: [what more would bring:
  // budget_more.hpp]}; null: it has none.
  Json budget = nullptr;
  std::vector<Step> steps = {};
  std::vector<InFloat> in_float = {};
  std::vector<std::string> ignored = {};                     // keys of the job without effect, in words
  std::optional<std::vector<Sensitivity>> sensitivity = {};  // the most sensitive first
  std::optional<size_t> instrumented_models = {};            // that were made to measure operators
  std::string sampler = {};                                  // that chose the trials; "": none
};

std::vector<Story::Sensitivity> sensitivities(std::span<const UnitError> errors);

// result.json's `tuning`.
Json to_json(const Story& story);

// For the log: one line per operator that is left in float, and per operator whose sensitivity is known.
void tell_story(const Log& log, const Story& story);

}  // namespace quasar::tune
