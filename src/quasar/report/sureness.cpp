#include "quasar/report/sureness.hpp"

#include "quasar/base/digits.hpp"

namespace quasar::report {
namespace {

std::string on_answers(const std::string& metric, const Json& facts, const std::string& samples) {
  constexpr double unlikely = 0.05;
  const double p = facts.value("p", 1.0);
  const size_t lost = facts.value("lost", size_t{0}), gained = facts.value("gained", size_t{0});
  const std::string text = metric + samples + ": " + std::to_string(lost) + " lost, " + std::to_string(gained) +
                           " gained against float (McNemar p = " + in_digits(p);
  if (p >= unlikely) return text + ": chance?)";
  return text + (lost > gained ? ": worse)" : ": better)");
}

}  // namespace

std::vector<std::string> sureness(const Json& evidence) {
  std::vector<std::string> out;
  if (!evidence.is_object()) return out;
  for (const auto& [key, samples] : {std::pair("against_float", ""), std::pair("holdout", " (hold-out)")}) {
    const Json by_metric = evidence.value(key, Json::object());
    for (const auto& [metric, facts] : by_metric.items()) out.push_back(on_answers(metric, facts, samples));
  }
  std::string trials;
  size_t close = 0;
  for (const Json& rival : evidence.value("rivals", Json::array())) {
    if (!rival.value("within_noise", false)) continue;
    trials += (close++ == 0 ? "" : ", ") + rival["trial"].dump();
  }
  if (close > 0) out.push_back("within noise of the best: trial" + std::string(close > 1 ? "s " : " ") + trials);
  return out;
}

}  // namespace quasar::report
