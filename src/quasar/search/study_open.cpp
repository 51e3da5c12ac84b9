// How a study begins: made or found, held, and what a process that died has left in it; what is done with it stands in study.cpp.
#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/process.hpp"
#include "quasar/search/study.hpp"

namespace quasar::search {
namespace {

// The leader's, as far as it has said it.
HeartbeatOptions heartbeat_of(const Json& said, HeartbeatOptions out) {
  const Json heartbeat = said.is_object() ? said.value("heartbeat", Json()) : Json();
  const auto number = [&](const char* key, auto& value) {
    const Json found = heartbeat.is_object() ? heartbeat.value(key, Json()) : Json();
    if (found.is_number() && found.get<double>() >= 0) value = found.get<std::decay_t<decltype(value)>>();
  };
  number("interval", out.interval);
  number("grace", out.grace);
  number("max_retry", out.max_retry);
  out.interval = std::max(out.interval, 0.01);
  return out;
}

}  // namespace

void refuse_existing(std::span<const StudyRecord> studies, const std::string& name) {
  if (std::ranges::find(studies, name, &StudyRecord::name) != studies.end()) refuse_name(name);
}

Study::Study(Storage& storage, const StudyOptions& options)
    : storage_(storage),
      sharing_(storage.sharing()),
      worker_(options.worker),
      only_claimed_(options.only_claimed),
      heartbeat_(options.heartbeat),
      process_(sharing_ == nullptr ? "" : process_name()),
      launch_(options.launch),
      run_(process_.empty() ? "" : process_ + " at " + std::to_string(now().time_since_epoch().count())) {
  if (worker_ && sharing_ == nullptr)
    throw Error("a worker needs a storage that several processes share: postgresql://user@host:port/database");
  open(options);
  if (!worker_) lock();
  trials_ = storage.trials(record_.id);
  for (size_t i = 0; i < trials_.size(); ++i) {
    keep_new(i);
    compare(i);
    if (trials_[i].state == State::running && sharing_ == nullptr) requeue_or_fail(trials_[i].number);
  }
}

void Study::open(const StudyOptions& options) {
  const auto known = storage_.studies();
  const auto found = std::find_if(known.begin(), known.end(), [&](const StudyRecord& r) { return r.name == options.name; });
  if (found == known.end()) {
    if (worker_) throw Error("there is no study '" + options.name + "' to work on");
    record_ = storage_.create(options.name, options.directions);
    return;
  }
  if (!options.resume && !worker_) refuse_existing(known, options.name);
  if (found->directions != options.directions) {
    throw Error("the study '" + options.name + "' has other objectives or directions" +
                (worker_ ? " than this worker; give it the same configuration and --set as `quasar search`"
                         : "; choose another study_name"));
  }
  record_ = *found;
  hear({{search_attribute, record_.user_attributes.value(search_attribute, Json())},
        {stop_attribute, record_.user_attributes.value(stop_attribute, Json())}});
  if (worker_) heartbeat_ = heartbeat_of(record_.user_attributes.value(search_attribute, Json()), heartbeat_);
}

// Of a shared study in a transaction: whoever looks in a transaction of its own never sees a leader whose words are still those
// of another run.
void Study::lock() {
  for (;;) {
    try {
      const auto taken = transaction();
      lock_ = storage_.lock(record_);
      announce("preparing");
      if (taken) taken->commit();
      return;
    } catch (const ConnectionLost&) {  // transaction() waits until the storage is back
      lock_.reset();
    }
  }
}

// A trial that was running when its process died, of a study that one process has at a time: what heartbeats do in a shared one.
void Study::requeue_or_fail(int64_t number) {
  Trial& trial = trials_[position(number)];
  const Json before = trial.system_attributes.value(retries_attribute, Json(0));
  const int64_t deaths = before.is_number_integer() ? before.get<int64_t>() + 1 : 1;
  trial.system_attributes[retries_attribute] = deaths;  // stored when it runs again, or has failed
  if (deaths <= heartbeat_.max_retry) {
    release(number);
    return;
  }
  Trial failed = trial;
  failed.state = State::failed;
  failed.user_attributes[attribute::error] = dead_process(deaths);
  finish(std::move(failed));
  died_too_often_.push_back(number);
}

void Study::announce(const std::string& state, const std::string& reason) {
  if (!is_shared() || worker_) return;
  const Json heartbeat{{"interval", heartbeat_.interval}, {"grace", heartbeat_.grace}, {"max_retry", heartbeat_.max_retry}};
  set_attribute(search_attribute,
                {{"state", state}, {"reason", reason}, {"run", run_}, {"launch", launch_}, {"heartbeat", heartbeat}});
}

const std::vector<std::string>& Study::words() {
  static const std::vector<std::string> all{search_attribute, stop_attribute};
  return all;
}

void Study::hear(const std::map<std::string, Json>& said) {
  const auto of = [&](const char* key) {
    const auto found = said.find(key);
    return found == said.end() ? Json() : found->second;
  };
  const std::scoped_lock lock(heard_->mutex);
  heard_->leader = of(search_attribute);
  heard_->stop = of(stop_attribute);
}

Study::LeaderMessage Study::leader_message() const {
  const std::scoped_lock lock(heard_->mutex);
  if (!worker_ && sharing_ != nullptr && heard_->stop == Json(run_))
    return {"it was asked to stop (quasar study stop)", heartbeat_};
  const Json& said = heard_->leader;
  if (!worker_ || !said.is_object()) return {std::nullopt, heartbeat_};
  const bool over = said.value("state", "") == "ended";
  return {over ? std::optional(said.value("reason", "")) : std::nullopt, heartbeat_of(said, heartbeat_)};
}

}  // namespace quasar::search
