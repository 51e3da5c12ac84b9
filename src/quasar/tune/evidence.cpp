#include "quasar/tune/evidence.hpp"

#include <cstdio>

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

std::string noise_warning(const Json& rivals, const Winner& winner, const std::string& metric) {
  std::string trials;
  size_t count = 0;
  const Json* first = nullptr;
  for (const Json& rival : rivals) {
    if (!rival["within_noise"].get<bool>()) continue;
    if (first == nullptr) first = &rival["difference"];
    trials += (count == 0 ? "" : ", ") + rival["trial"].dump();
    ++count;
  }
  if (count == 0) return "";
  char interval[96];
  std::snprintf(interval, sizeof(interval), "%.3g, 95 %% interval %.3g to %.3g", (*first)["value"].get<double>(),
                (*first)["low"].get<double>(), (*first)["high"].get<double>());
  return "the difference between trial " + std::to_string(winner.trial.number) + ", the best, and trial" +
         (count > 1 ? "s " : " ") + trials + " is within noise (" + metric + " differs by " + interval +
         "): more evaluation samples would tell them apart, or choose by size and speed";
}

}  // namespace quasar::tune
