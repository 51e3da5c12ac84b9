// How long a search will still take, by what its trials cost so far.
#pragma once

#include <optional>

#include "quasar/base/stopwatch.hpp"
#include "quasar/search/run.hpp"

namespace quasar::report {

class TimeLeft {
 public:
  // Trials of an earlier run are in the counts alone: they say what is left, and nothing of what that costs.
  void hear(const search::Event& event);

  // nullopt: not known, or nothing is left.
  std::optional<double> seconds() const;

 private:
  Stopwatch watch_;
  size_t finished_ = 0;
  std::optional<uint64_t> total_;
  double cost_ = 0;  // seconds of the trials executed in this run
  size_t executed_ = 0, heard_ = 0;
};

}  // namespace quasar::report
