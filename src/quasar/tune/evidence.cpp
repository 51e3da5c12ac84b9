#include "quasar/tune/evidence.hpp"

#include "quasar/base/digits.hpp"
#include "quasar/base/names.hpp"
#include "quasar/eval/paired.hpp"

namespace quasar::tune {

Json against_float(const ScoreBook& book, const eval::Scores& reference, const Winner& winner) {
  const auto scores = book.by_sample(winner.trial.number);
  return eval::against(reference, scores ? *scores : winner.metrics);
}

Json rivals_of(const ScoreBook& book, const Job& job, const Winner& winner) {
  Json out = Json::array();
  if (job.criterion || job.goals.objectives.size() != 1 || is_cost(job.goals.objectives.front().metric)) return out;
  const auto rivals = book.front_runners(job.goals.objectives.front().metric);
  const auto best = std::ranges::find(rivals, winner.trial.number, &FrontRunner::trial);
  if (best == rivals.end()) return out;
  for (const auto& rival : rivals) {
    const auto difference = eval::difference(best->score, rival.score);
    if (rival.trial == best->trial || !difference) continue;
    const auto [value, low, high] = *difference;
    out.push_back({{"trial", rival.trial},
                   {"difference", {{"value", value}, {"low", low}, {"high", high}}},
                   {"within_noise", low <= 0 && high >= 0}});
  }
  return out;
}

namespace {

// "trial 3", "trials 3, 5"
std::string in_words(const std::vector<std::string>& trials) {
  return (trials.size() > 1 ? "trials " : "trial ") + joined(trials);
}

bool is_same(const Json& difference) {
  return difference["value"] == 0 && difference["low"] == 0 && difference["high"] == 0;
}

}  // namespace

std::string noise_warning(const Json& rivals, const Winner& winner, const std::string& metric) {
  std::vector<std::string> equal, near;
  const Json* first = nullptr;
  for (const Json& rival : rivals) {
    if (!rival["within_noise"].get<bool>()) continue;
    const Json& difference = rival["difference"];
    if (is_same(difference)) {
      equal.push_back(rival["trial"].dump());
      continue;
    }
    if (first == nullptr) first = &difference;
    near.push_back(rival["trial"].dump());
  }
  const std::string best = "trial " + std::to_string(winner.trial.number) + ", the best";
  const std::string same =
      equal.empty() ? "" : in_words(equal) + (equal.size() > 1 ? " have" : " has") + " the same " + metric + " as ";
  if (near.empty()) return equal.empty() ? "" : same + best + ", on every sample: choose by size and speed";
  const auto digits = [&](const char* key) { return in_digits((*first)[key].get<double>()); };
  const std::string interval = digits("value") + ", 95 % interval " + digits("low") + " to " + digits("high");
  return "the difference between " + best + ", and " + in_words(near) + " is within noise (" + metric + " differs by " +
         interval + "): more evaluation samples would tell them apart, or choose by size and speed" +
         (equal.empty() ? "" : "; " + same + "it, on every sample");
}

}  // namespace quasar::tune
