#include "quasar/worker/search_to_join.hpp"

#include <algorithm>

#include "quasar/base/secrets.hpp"
#include "quasar/search/study.hpp"
#include "quasar/studies/attributes.hpp"
#include "quasar/studies/continuation.hpp"
#include "quasar/studies/past_study.hpp"
#include "quasar/tune/search_parts.hpp"
#include "quasar/worker/said.hpp"
#include "quasar/worker/waiting.hpp"
#include "quasar/worker/watch.hpp"

namespace quasar::tune {
namespace {

Job in_study(Job job, const search::StudyRecord& study) {
  job.study.name = study.name;
  job.study.predecessor = study.user_attributes.value(predecessor_attribute, "");
  return job;
}

std::string place_of(const std::string& study, const Job& job) {
  return "the study '" + study + "' in " + without_password(job.study.storage);
}

// Those that may be the search, the likeliest first: a search that was continued with other choices goes on in another study of
// the chain. One with other choices is there to be told so.
std::vector<const search::StudyRecord*> candidates(std::span<const search::StudyRecord> studies, const Job& job) {
  auto out = chain_of(studies, job.study.name);
  std::ranges::reverse(out);
  if (const auto* study = with_choices(studies, job.study.name, choices_of(job))) {
    std::erase(out, study);
    out.insert(out.begin(), study);
  }
  return out;
}

}  // namespace

// What there is at one moment.
struct SearchToJoin::Look {
  std::optional<Found> found;
  std::optional<std::string> ended;  // some earlier run, with its reason
  std::string missing;               // what is waited for, in words
  std::string trouble;               // why it could not be seen whether a search may be joined; "": it could
};

SearchToJoin::SearchToJoin(Job asked, search::Storage& storage, const Which& which)
    : asked_(std::move(asked)), storage_(storage), launch_(which.launch) {
  const auto studies = storage_.studies();
  for (const auto* study : candidates(studies, asked_)) {
    const Said said(*study);
    const bool of_this_launch = !launch_.empty() && said.launch == launch_;  // it was shorter than this process took to begin
    if (said.state == "ended" && !of_this_launch && said.run != which.run) over_.insert(said.run);
  }
  // An error where they cannot be read: no leader could go on with them, however long a worker waits.
  if (const auto* study = with_choices(studies, asked_.study.name, choices_of(asked_))) storage_.trials(study->id);
}

Job SearchToJoin::guess() const {
  const auto studies = storage_.studies();
  const auto* study = with_choices(studies, asked_.study.name, choices_of(asked_));
  return study == nullptr ? asked_ : in_study(asked_, *study);
}

bool SearchToJoin::may_be_joined(const search::StudyRecord& study, std::string& trouble) const {
  return Said(study).state == "running" && study.user_attributes.contains(job_attribute) && led(study, trouble) == Led::yes;
}

// In a transaction, so that no leader is just taking over from one that died (Study::lock()).
SearchToJoin::Led SearchToJoin::led(const search::StudyRecord& study, std::string& trouble) const {
  try {
    const auto transaction = storage_.sharing()->transaction(study.id);
    if (!storage_.sharing()->is_locked(study.id)) return Led::no;
    const Json said = study.user_attributes.value(search::search_attribute, Json());
    return storage_.sharing()->attribute(study.id, search::search_attribute) == said ? Led::yes : Led::otherwise;
  } catch (const search::ConnectionLost& lost) {  // looked at again
    trouble = lost.what();
    return Led::otherwise;
  }
}

SearchToJoin::Look SearchToJoin::look() const {
  const std::string place = place_of(asked_.study.name, asked_);
  const auto studies = storage_.studies();
  const auto all = candidates(studies, asked_);
  Look out{.found = {}, .ended = {}, .missing = "`quasar search` to begin " + place, .trouble = {}};
  for (const auto* study : all) {
    const Said said(*study);
    if (!launch_.empty() && said.launch != launch_) continue;
    if (may_be_joined(*study, out.trouble)) {
      out.found = {in_study(asked_, *study), std::nullopt};
      return out;
    }
    const bool came_and_went = said.state == "ended" && !over_.contains(said.run);
    if (came_and_went && !out.found) out.found = {in_study(asked_, *study), said.reason};
  }
  if (!out.trouble.empty()) out.missing = "an answer of the storage: " + out.trouble;
  if (all.empty() || out.found || !launch_.empty() || !out.trouble.empty()) return out;
  const Said said(*all.front());
  const std::string again = "`quasar search --resume` to continue " + place;
  if (said.state == "ended") {
    out.ended = said.reason;
    out.missing = again + ", whose search has ended: " + said.reason;
  } else if ((said.state == "running" || said.state == "preparing") && led(*all.front(), out.trouble) == Led::no) {
    out.missing = again + ": whoever led its search is not there any more";
  }
  return out;
}

std::optional<std::string> SearchToJoin::over() {
  if (launch_.empty()) {
    std::string leaders = storage_.sharing()->leaders(search::search_attribute);
    if (leaders_ == leaders) return std::nullopt;
    leaders_ = std::move(leaders);
  }
  const auto studies = storage_.studies();
  std::optional<std::string> reason;
  for (const auto* study : candidates(studies, asked_)) {
    const Said said(*study);
    if (!launch_.empty() && said.launch != launch_) continue;
    if (launch_.empty() && (said.state == "preparing" || said.state == "running")) return std::nullopt;  // wait() looks closer
    if (said.state == "ended" && !over_.contains(said.run)) reason = said.reason;
  }
  if (!reason) expect_launch();
  return reason;
}

void SearchToJoin::expect_launch() {
  if (launch_.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  try {
    const bool held = storage_.sharing()->is_locked(id_of_launch(launch_));
    launch_seen_ = launch_seen_ || held;
    launch_missed_ = held || !launch_seen_ ? std::nullopt : std::optional(launch_missed_.value_or(now));
  } catch (const search::ConnectionLost&) {  // so has the leader
    launch_missed_.reset();
  }
  if (launch_missed_ && now - *launch_missed_ > std::chrono::duration<double>(launch_grace))
    throw LaunchGone(
        "the first process of this launch has ended before this one could join its search: its own message says why");
}

void SearchToJoin::tell_what_is_missing(double patience, const Log& log) const {
  const Look now = look();
  if (!now.found) tell(log, Level::info, words_on_waiting(now.missing, patience));
}

SearchToJoin::Found SearchToJoin::wait(double patience, const Log& log) const {
  Waiting waiting(patience);
  std::optional<std::string> leaders;
  for (Look now = look();;) {
    if (now.found) return *now.found;
    if (waiting.is_over() && now.ended) return {guess(), now.ended, true};
    if (waiting.is_over() && !now.trouble.empty())
      throw Error("no search could be joined in " + Json(patience).dump() + " s: " + now.trouble, Blame::world);
    if (waiting.is_over())
      throw NoSearch("there is no search to work for: waited " + Json(patience).dump() + " s for " + now.missing +
                     "; start `quasar search` with the same storage, or wait longer (--wait)");
    waiting.say(now.missing, log);
    waiting.for_news(storage_);
    // One question, whatever the database holds. It comes before the look, so that nothing falls between them.
    std::string now_leading = storage_.sharing()->leaders(search::search_attribute);
    if (leaders == now_leading && now.trouble.empty()) continue;
    leaders = std::move(now_leading);
    now = look();
  }
}

}  // namespace quasar::tune
