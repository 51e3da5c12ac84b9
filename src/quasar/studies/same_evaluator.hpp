// Whether the user's own evaluator is the one that a study's values come from. Its words alone do not tell: a script may be
// another version on another machine or day, and a library, a driver or a board behind it, too.
#pragma once

#include <string>

#include "quasar/eval/evaluate.hpp"
#include "quasar/job/job.hpp"

namespace quasar::tune {

// What stands in the study under evaluator_attribute: {metric, value: of the float model, files: {name: hash}}; null where the
// metrics are Quasar's own.
Json evaluator_facts(const Job& job, const eval::Scores& reference);

struct OtherEvaluator {
  std::string what;      // "score.py is another file and the float model's map50 is 0.5 (there 0.7)"; "": nothing is another
  bool certain = false;  // its files are others, and so is its value: not a comment, a path or noise
};
// `known`: what a study knows; null, or what no search writes: nothing is compared.
OtherEvaluator other_evaluator(const Json& known, const Json& now);

}  // namespace quasar::tune
