// The line that a terminal shows while a search runs: how far it is, the best so far, what became of the trials, the time left.
#pragma once

#include <optional>
#include <string>

#include "quasar/report/time_left.hpp"
#include "quasar/search/run.hpp"

namespace quasar::cli {

// Of standard error: colours are for terminals, unless NO_COLOR is set or TERM says that there are none (no-color.org).
bool wants_colour();

// "[####............]", and "12 s", "3 min".
std::string progress_bar(double share);
std::string duration(double seconds);

class ProgressLine {
 public:
  explicit ProgressLine(std::string objective) : objective_(std::move(objective)) {}

  void hear(const search::Event& event);

  // At most `width` columns; what does not fit is left out, the least important first.
  std::string draw(size_t width, bool colour) const;

 private:
  std::string objective_;
  report::TimeLeft left_;
  search::Counts counts_;
  std::optional<uint64_t> total_;
  std::optional<double> best_;
};

}  // namespace quasar::cli
