#include "quasar/strategy/exit_policy.hpp"

#include <algorithm>
#include <limits>

#include "quasar/base/digits.hpp"
#include "quasar/base/error.hpp"

namespace quasar::tune {
namespace {

std::optional<int64_t> smaller(std::optional<int64_t> a, std::optional<int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

class MaxTrials final : public search::StopCondition {
 public:
  explicit MaxTrials(int64_t most) : most_(static_cast<uint64_t>(most)) {}

  std::optional<std::string> met(const search::Progress& progress) const override {
    if (progress.counts.executed() + progress.counts.running >= most_)
      return "max_trials of " + std::to_string(most_) + " reached";
    if (progress.duplicates_in_a_row < most_duplicates) return std::nullopt;
    return "nothing new comes: " + std::to_string(progress.duplicates_in_a_row) +
           " configurations in a row made models that were tried before";
  }
  std::optional<uint64_t> limit() const override { return most_; }  // duplicates aside

 private:
  uint64_t most_;
};

int64_t most_of(const Limits& limits) {
  return max_trials_of(limits).value_or(n_trials_of(limits) ? std::numeric_limits<int64_t>::max() : default_max_trials);
}

void replace(std::string& text, const std::string& what, const std::string& by) {
  if (const size_t at = text.find(what); at != std::string::npos) text.replace(at, what.size(), by);
}

}  // namespace

std::optional<int64_t> n_trials_of(const Limits& limits) {
  const Json own = limits.stop.value("n_trials", Json());
  const bool given = own.is_number_integer() && own.get<int64_t>() >= 0;
  return smaller(limits.n_trials > 0 ? std::optional(limits.n_trials) : std::nullopt,
                 given ? std::optional(own.get<int64_t>()) : std::nullopt);
}

std::optional<int64_t> max_trials_of(const Limits& limits) {
  if (limits.exit.max_trials) return limits.exit.max_trials;
  return limits.exit.given && !n_trials_of(limits) ? std::optional(default_max_trials) : std::nullopt;
}

std::unique_ptr<search::StopCondition> max_trials(int64_t most) {
  return std::make_unique<MaxTrials>(most);
}

search::StopConditions exit_policy(const Limits& limits) {
  Json words = limits.stop;
  if (const auto most = n_trials_of(limits)) words["n_trials"] = *most;
  auto conditions = search::stop_conditions(words);  // its time_limit is timeout's already
  conditions.push_back(max_trials(most_of(limits)));
  return conditions;
}

MostTrials most_trials_of(const Limits& limits) {
  const int64_t models = most_of(limits), all = n_trials_of(limits).value_or(models);
  return all < models || models == std::numeric_limits<int64_t>::max() ? MostTrials{all, "n_trials"}
                                                                       : MostTrials{models, "max_trials"};
}

size_t trials_left(const Limits& limits, const search::Counts& used) {
  const auto left = [](int64_t most, size_t done) { return most - std::min(most, static_cast<int64_t>(done)); };
  int64_t out = left(most_of(limits), used.executed());
  if (const auto most = n_trials_of(limits)) out = std::min(out, left(*most, used.finished()));
  return static_cast<size_t>(out);
}

std::string in_the_users_words(const Limits& limits, std::string reason) {
  const Json seconds = limits.stop.value("time_limit", Json());
  if (limits.whole_time > 0)
    replace(reason, "time_limit of " + seconds.dump() + " s",
            std::string("two thirds of ") + (limits.exit.timeout == limits.whole_time ? "timeout" : "time_limit") + " (" +
                in_digits(limits.whole_time, 4) + " s; the rest repairs a poor model)");
  if (limits.exit.timeout > 0 && seconds.is_number() && seconds.get<double>() == limits.exit.timeout)
    replace(reason, "time_limit of", "timeout of");
  return reason;
}

}  // namespace quasar::tune
