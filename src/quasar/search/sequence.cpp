#include "quasar/search/sequence.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "quasar/base/deadline.hpp"
#include "quasar/search/tracker.hpp"

namespace quasar::search {
namespace {

// Leaves every choice to RunOptions::first.
class Nothing final : public Sampler {
 public:
  std::optional<Point> next(const History&, Rng&) override { return std::nullopt; }
};

}  // namespace

Sequence::Sequence(RunOptions options, Study& study, const Space& space, StopConditions conditions, Objective objective)
    : options_(std::move(options)),
      study_(study),
      space_(space),
      conditions_(std::move(conditions)),
      objective_(std::move(objective)) {}

Trial Sequence::evaluate(const Point& point, const std::string& step, const Ahead& ahead) {
  return evaluate(std::span<const Point>(&point, 1), std::span<const std::string>(&step, 1), ahead).front();
}

std::vector<Trial> Sequence::evaluate(std::span<const Point> points, std::span<const std::string> steps, const Ahead& ahead) {
  RunOptions options = options_;
  options.first_only = true;
  options.ahead = ahead;
  options.step = [&](const Point& point) {
    const auto place = static_cast<size_t>(std::ranges::find(points, point) - points.begin());
    return place < steps.size() ? steps[place] : "";
  };
  for (const Point& point : points) {
    if (find(point) == nullptr) options.first.push_back(point);
  }
  if (!options.first.empty()) {
    Nothing nothing;
    const RunResult result = run(options, study_, space_, nothing, conditions_, objective_);
    const bool all = std::all_of(points.begin(), points.end(), [&](const Point& point) { return find(point) != nullptr; });
    if (!all || result.end == RunResult::End::interrupted) throw SequenceOver{result};
  } else {
    check_time();
  }
  std::vector<Trial> trials;
  for (const Point& point : points) trials.push_back(*find(point));
  check_progress(trials);
  return trials;
}

RunResult Sequence::finished(const std::string& reason) const {
  return {RunResult::End::condition, reason, Tracker(study_.trials(), options_.stage, study_.directions()).counts()};
}

double Sequence::seconds_left() const {
  const double seconds = std::chrono::duration<double>(Deadline::Clock::now() - options_.begin).count();
  double out = HUGE_VAL;
  for (const auto& condition : conditions_) {
    if (const auto deadline = condition->deadline()) out = std::min(out, *deadline - seconds);
  }
  return out;
}

// A strategy that asks for known points only starts no trials, which would notice.
void Sequence::check_time() const {
  if (options_.stop.stop_requested()) {
    RunResult result = finished("interrupted");
    result.end = RunResult::End::interrupted;
    throw SequenceOver{result};
  }
  const double seconds = std::chrono::duration<double>(Deadline::Clock::now() - options_.begin).count();
  for (const auto& condition : conditions_) {
    const auto deadline = condition->deadline();
    if (!deadline || seconds < *deadline) continue;
    const Tracker tracker(study_.trials(), options_.stage, study_.directions());
    if (const auto reason = condition->met(tracker.progress(seconds))) throw SequenceOver{finished(*reason)};
  }
}

// A long way back is allowed to be walked again as a whole.
void Sequence::check_progress(std::span<const Trial> trials) {
  bool fresh = false;
  for (const Trial& trial : trials) fresh = passed_.insert(trial.number).second || fresh;
  repeats_ = fresh ? 0 : repeats_ + 1;
  if (repeats_ < std::max(most_repeats, 2 * passed_.size())) return;
  throw SequenceOver{finished("the strategy asks for nothing new: " + std::to_string(repeats_) +
                              " times in a row for configurations that it had tried")};
}

const Trial* Sequence::find(const Point& point) const {
  for (const int64_t number : study_.numbers_at(point)) {
    if (study_.at(number).finished()) return &study_.at(number);
  }
  return nullptr;
}

}  // namespace quasar::search
