// Which of two trials is nearer to the float model.
#pragma once

#include <string>

#include "quasar/job/job.hpp"

namespace quasar::tune {

// By the distance of the outputs' worst part, which is smooth where accuracy moves in steps of one sample. Where outputs have
// none (their number may depend on the data), by what the goal counts, from the first trial on that shows it.
class Guide {
 public:
  static constexpr const char* metric = "parts";

  // Both outlive it.
  Guide(const Job& job, const eval::Scores& reference) : job_(job), baseline_(measures_of(reference)) {}

  bool nearer(const search::Trial& a, const search::Trial& b);
  bool lost() const { return lost_; }

  // What the user should know: of a guide that was lost, and of operators that were ranked `locally`.
  std::string told(bool locally) const;

 private:
  const Job& job_;
  const Measures baseline_;
  bool lost_ = false;
};

}  // namespace quasar::tune
