// report.html while the search runs: rewritten after trials, so that reloading it shows the search. It costs less than 2 % of the
// search: the next writing waits until fifty times the last one's duration has passed, and a second at least.
#pragma once

#include <filesystem>
#include <vector>

#include "quasar/base/stopwatch.hpp"
#include "quasar/report/time_left.hpp"
#include "quasar/search/run.hpp"
#include "quasar/tune/summary.hpp"

namespace quasar::report {

class LiveReport {
 public:
  LiveReport(const tune::Job& job, std::filesystem::path file) : job_(job), file_(std::move(file)) {}

  // The float model has been measured.
  void begin(const tune::Measured& baseline);
  // A trial started or finished; one call at a time. A failure to write is ignored: the final report will tell.
  void hear(const search::Event& event);

  double seconds() const { return spent_; }  // in all writings so far

 private:
  void write(const search::Event& event);
  Json result_so_far(const search::Event& event) const;

  const tune::Job& job_;
  std::filesystem::path file_;
  Json baseline_;
  std::vector<search::Trial> trials_;
  size_t earlier_ = 0;  // the first of them: of earlier runs of the study
  TimeLeft left_;
  Stopwatch watch_;
  double spent_ = 0, next_ = 1;  // a search of less than a second has no report on the way
};

}  // namespace quasar::report
