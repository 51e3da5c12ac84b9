// What `quasar status` says, in words.
#include <cmath>
#include <iomanip>
#include <sstream>

#include "quasar/base/digits.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/report/study_view.hpp"

namespace quasar::report {
namespace {

std::string duration(double seconds) {
  const auto whole = static_cast<int64_t>(std::lround(seconds));
  if (whole < 120) return std::to_string(whole) + " s";
  if (whole < 7200) return std::to_string(whole / 60) + " min";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

std::string numbers_in(const Json& numbers) {
  std::vector<std::string> texts;
  for (const Json& number : numbers) texts.push_back(number.dump());
  return texts.empty() ? "-" : joined(texts);
}

std::string state_in_words(const Json& status) {
  const std::string state = status["state"], reason = status["reason"];
  if (state == "left") return "left: nobody leads it; `quasar search --resume` goes on";
  if (state.empty()) return "no search runs in it";
  return reason.empty() ? state : state + ": " + printable_name(reason);
}

}  // namespace

std::string status_table(const Json& status) {
  std::ostringstream out;
  const Json& trials = status["trials"];
  out << status["study"].get<std::string>() << " in " << status["where"].get<std::string>() << ": " << state_in_words(status)
      << "\n";
  const size_t finished = trials["complete"].get<size_t>() + trials["pruned"].get<size_t>() + trials["failed"].get<size_t>() +
                          trials["duplicates"].get<size_t>();
  out << finished << (status["total"].is_null() ? "" : " of " + status["total"].dump()) << " trials";
  for (const char* kind : {"pruned", "failed", "duplicates", "running", "waiting"}) {
    if (trials[kind] != 0) out << ", " << trials[kind] << " " << kind;
  }
  if (trials["of_other_programs"] != 0) out << ", " << trials["of_other_programs"] << " more of other programs";
  if (status["deaths"] != 0) out << ", " << status["deaths"] << " run again after a death";
  if (!status["rate"].is_null()) out << "; " << in_digits(status["rate"].get<double>(), 3) << " a second";
  if (!status["left_s"].is_null()) out << ", about " << duration(status["left_s"].get<double>()) << " left";
  out << "\n";
  if (!status["best"].is_null()) {
    out << "best: trial " << status["best"]["trial"];
    for (size_t i = 0; i < status["best"]["values"].size(); ++i) {
      const Json& value = status["best"]["values"][i];
      out << (i == 0 ? ", " : ", ") << printable_name(status["objectives"][i]["name"].get<std::string>()) << " "
          << (value.is_number() ? plain_digits(value.get<double>(), 4) : "?");
    }
    out << "\n";
  }
  if (status["workers"].empty()) return out.str();
  out << "\n"
      << std::left << std::setw(44) << "process" << std::setw(8) << "alive" << std::setw(10) << "trials" << std::setw(9)
      << "at work"
      << "runs\n";
  for (const Json& worker : status["workers"]) {
    const Json& share = worker["share"];
    const std::string at_work =
        share.is_number() ? std::to_string(std::lround(100 * share.get<double>())) + " %" : std::string("-");
    out << std::setw(44) << printable_name(worker["name"].get<std::string>()) << std::setw(8)
        << (worker["alive"].get<bool>() ? "yes" : "no") << std::setw(10) << worker["finished"].dump() << std::setw(9) << at_work
        << numbers_in(worker["running"]) << "\n";
  }
  return out.str();
}

}  // namespace quasar::report
