#include "quasar/tune/evidence.hpp"

#include "quasar/base/digits.hpp"
#include "quasar/base/names.hpp"

namespace quasar::tune {

std::vector<Rival> rivals_of(const ScoreBook& book, const Aim& aim, int64_t winner) {
  std::vector<Rival> out;
  if (aim.criterion || aim.goals.objectives.size() != 1 || is_cost(aim.goals.objectives.front().metric)) return out;
  const auto rivals = book.front_runners(aim.goals.objectives.front().metric);
  const auto best = std::ranges::find(rivals, winner, &FrontRunner::trial);
  if (best == rivals.end()) return out;
  for (const auto& rival : rivals) {
    const auto difference = eval::difference(best->score, rival.score);
    if (rival.trial != best->trial && difference) out.push_back({rival.trial, *difference});
  }
  return out;
}

namespace {

// "trial 3", "trials 3, 5"
std::string in_words(const std::vector<std::string>& trials) {
  return (trials.size() > 1 ? "trials " : "trial ") + joined(trials);
}

bool is_same(const eval::Difference& difference) {
  return difference.value == 0 && difference.low == 0 && difference.high == 0;
}

}  // namespace

std::string noise_warning(const std::vector<Rival>& rivals, int64_t winner, const std::string& metric) {
  std::vector<std::string> equal, near;
  eval::Difference first;
  for (const Rival& rival : rivals) {
    if (!rival.within_noise()) continue;
    if (!is_same(rival.difference) && near.empty()) first = rival.difference;
    (is_same(rival.difference) ? equal : near).push_back(std::to_string(rival.trial));
  }
  const std::string best = "trial " + std::to_string(winner) + ", the best";
  const std::string same =
      equal.empty() ? "" : in_words(equal) + (equal.size() > 1 ? " have" : " has") + " the same " + metric + " as ";
  if (near.empty()) return equal.empty() ? "" : same + best + ", on every sample: choose by size and speed";
  const std::string interval =
      in_digits(first.value) + ", 95 % interval " + in_digits(first.low) + " to " + in_digits(first.high);
  return "the difference between " + best + ", and " + in_words(near) + " is within noise (" + metric + " differs by " +
         interval + "): more evaluation samples would tell them apart, or choose by size and speed" +
         (equal.empty() ? "" : "; " + same + "it, on every sample");
}

namespace {

Json paired_json(const std::map<std::string, eval::Paired>& by_metric) {
  Json out = Json::object();
  for (const auto& [metric, paired] : by_metric)
    out[metric] = {{"lost", paired.lost}, {"gained", paired.gained}, {"p", paired.p}};
  return out;
}

}  // namespace

Json to_json(const Evidence& evidence) {
  Json rivals = Json::array();
  for (const auto& [trial, difference] : evidence.rivals) {
    rivals.push_back({{"trial", trial},
                      {"difference", {{"value", difference.value}, {"low", difference.low}, {"high", difference.high}}},
                      {"within_noise", Rival{trial, difference}.within_noise()}});
  }
  Json out{{"against_float", paired_json(evidence.against_float)}, {"rivals", rivals}};
  if (evidence.holdout) out["holdout"] = paired_json(*evidence.holdout);
  return out;
}

}  // namespace quasar::tune
