// Whether the best model of a search is of use, and why not: what a score alone does not show.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/eval/examination.hpp"
#include "quasar/job/goal_parts.hpp"

namespace quasar::tune {

struct Quality {
  // A part of the outputs, and how far it is from the float model's.
  struct Part {
    std::string output;
    double size = 0;  // √ of the mean square of the float model's values
    double relative = 0, cosine = 0;
    std::optional<double> of_spread = {};  // √ of the mean square of the error, in units of what values vary between samples
    std::string word = {};
    std::optional<size_t> axis = {};  // nullopt: the whole output
    std::string slices = {};          // along the axis
    bool constant = false;            // one value everywhere, and none in the float model
  };
  struct Answers {
    std::string metric;
    size_t samples = 0, sure = 0;  // float is sure of so many
    double same = 0;               // share of these with float's answer
    double mean = 0;               // of the metric over these
  };
  std::string word = "unknown";      // good, check or poor; unknown: it was not looked at
  std::vector<std::string> reasons;  // why it is poor
  std::vector<std::string> cures;    // what to try then
  std::string metric_blind = {};     // what the objective does not see of the outputs' parts; "": it sees them, or they are alike
  std::vector<Part> parts = {};
  std::optional<Answers> answers = {};
  Json goal = nullptr;  // what makes it poor, as an accuracy_criterion for strategy repair; null: it is not poor
  bool poor() const { return word == "poor"; }
};

// What is known of a model when its quality is judged.
struct Judged {
  const Aim& aim;
  const Json& words;              // the job's
  const eval::Scores& reference;  // the float model's scores
  const eval::Scores& scores;
  const eval::Evaluator& evaluator;
  const eval::Examination& examination;
  bool repaired = false;    // the model comes from a strategy that repairs() for the job's goal
  bool classes = false;     // the outputs name classes: their answers are judged, and not their values
  std::string unquantized;  // why hardly anything is quantized; "": enough is
};

// Of a metric that counts answers: one or two fewer are lost by chance, and won by it.
inline constexpr double answers_to_lose = 3;

// Poor is a model
// - whose answers are float's on less than least_agreement of the samples on which float is sure,
// - that loses more than a tenth of a metric with labels, three answers at least, and more than the user's criterion allows,
// - with a part of the outputs, where these are no classes, whose cosine is below 0.9, whose error is as large as what its values
//   vary between samples (1 − R² ≥ 1), or which became constant,
// - of which hardly anything is quantized.
// To be checked is one with a part that is off by more than a tenth, or by half of what it varies (of classes: broken), or whose
// answers are just enough, or alike in part (a mean of the metric below 0.95).
Quality quality_of(const Judged& judged);

// Whether a model may be better than this one by its answers or its word: not beside one that is good and gives all answers.
bool may_give_fewer_answers(const Quality& quality);

// Whether it gives more of float's answers; or as many, and is good where the other is not.
bool gives_more_answers(const Quality& one, const Quality& other);

// A plain word for a score: good, check or broken; "" for metrics of which a number alone says nothing.
//   relative, parts   good up to 0.1, broken beyond 0.4
//   cos               good from 0.995, broken below 0.9
//   agreement         good from 0.95, broken below 0.9
std::string plain_word(const std::string& metric, double value);

// {quality, reasons, cures, parts, answers}: for result.json.
Json to_json(const Quality& quality);

}  // namespace quasar::tune
