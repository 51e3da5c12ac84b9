#include "quasar/worker/watch.hpp"

#include <algorithm>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/memory_cap.hpp"

namespace quasar::tune {

Watch::Watch(std::function<bool()> has_come, double seconds, std::stop_token outer)
    : has_come_(std::move(has_come)),
      seconds_(seconds),
      stop_(outer),
      thread_(has_come_ ? std::jthread([this](const std::stop_token& over) { run(over); }) : std::jthread()),
      ends_with_outer_(std::move(outer), [this] { thread_.request_stop(); }) {}

void Watch::run(const std::stop_token& over) {
  const CancelScope scope(over);
  while (!over.stop_requested()) {
    try {
      const Uncapped no_cap;
      passed_ = has_come_();
    } catch (const std::exception&) {  // such as a storage that is gone
    }
    if (passed_) return stop_.stop();
    std::unique_lock lock(mutex_);
    pause_.wait_for(lock, over, std::chrono::duration<double>(seconds_), [] { return false; });
  }
}

namespace {

// One that lives has the study in hand, but for a moment when the server was restarted.
bool is_led(const search::Study& study) {
  try {
    return study.sharing()->is_locked(study.id());
  } catch (const std::exception&) {  // the storage is gone: nobody knows
    return true;
  }
}

// A leader that ends says so before it lets the study go.
bool has_ended(const search::Study& study) {
  const Json said = study.sharing()->attribute(study.id(), search::search_attribute);
  return said.is_object() && said.value("state", Json()) == "ended";
}

// Looks at the leader: says once of each that it has gone, and at last that nobody has come back for so many seconds.
class Absence {
 public:
  Absence(const search::Study& study, std::optional<double> seconds, Log log)
      : study_(study), seconds_(seconds), log_(std::move(log)) {}

  bool is_too_long() {
    const bool led = is_led(study_);
    const auto now = Deadline::Clock::now();
    if (led) {
      seen_ = now;
      told_ = false;
    } else if (!told_ && now >= Deadline::after(std::min(launch_grace, study_.heartbeat().grace), seen_)) {
      told_ = true;
      if (!has_ended(study_))
        tell(log_, Level::warning,
             "the leader of this search has gone without a word: this worker goes on until the search's limits are reached, and "
             "`quasar search --resume` continues the search and writes its results");
    }
    return seconds_ && now >= Deadline::after(*seconds_, seen_);
  }

 private:
  const search::Study& study_;
  const std::optional<double> seconds_;
  const Log log_;
  Deadline::Clock::time_point seen_ = Deadline::Clock::now();
  bool told_ = false;
};

}  // namespace

LeaderWatch::LeaderWatch(const search::Study& study, std::optional<double> seconds, std::stop_token outer, Log log)
    : Watch([absence = Absence(study, seconds, std::move(log))]() mutable { return absence.is_too_long(); },
            std::min(study.heartbeat().interval, seconds.value_or(study.heartbeat().interval)), std::move(outer)) {}

bool LeaderWatch::has_gone(const search::Study& study) {
  try {
    return !is_led(study) && !has_ended(study);
  } catch (const Error&) {  // the storage is gone: nobody knows
    return false;
  }
}

namespace {

constexpr double visible = 5;  // seconds at least
constexpr double keeping = 4;  // seconds between two looks whether the connection is still there

}  // namespace

int64_t id_of_launch(const std::string& launch) {
  constexpr int64_t beyond_studies = int64_t{1} << 30;  // which number from 1; PostgreSQL's locks have 31 bits
  return beyond_studies + std::stoll(hash_of(launch).substr(0, 7), nullptr, 16);
}

LaunchLead::LaunchLead(const StudyKeys& study, const std::string& launch) {
  if (launch.empty() || !search::is_shared_storage(study.storage)) return;
  storage_ = search::open_storage(storage_url(study));
  try {
    lock_ = storage_->lock({.id = id_of_launch(launch), .name = launch, .directions = {}, .user_attributes = {}});
  } catch (const Error&) {  // several searches that one script began: each leads nobody
    return;
  }
  // A call finds a connection that was lost, makes it anew and holds again.
  const auto look = [this] {
    storage_->sharing()->leaders("");
    return false;
  };
  keeper_.emplace(look, keeping, std::stop_token());
}

void LaunchLead::let_others_see(const std::stop_token& stop) const {
  const auto end = begin_ + std::chrono::duration<double>(visible);
  while (lock_ && !stop.stop_requested() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace quasar::tune
