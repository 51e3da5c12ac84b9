// The heartbeat of a process in a shared study: says that its trials are alive, finds those whose worker died, and hears what
// other processes tell; and whether the process takes further trials.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "quasar/base/deadline.hpp"
#include "quasar/search/study.hpp"

namespace quasar::search {

// Lives beside its study, however many runs come one after the other; no two at a time.
class Heartbeat final : public Study::Companion {
 public:
  // The study's; it begins to beat when it is asked for the first time. The study is not touched from its thread, but for its
  // storage and for what it hears.
  static Heartbeat& of(Study& study);

  explicit Heartbeat(Study& study);
  ~Heartbeat() override;

  // Who hears of news, from the heart's thread, from hear() to deafen().
  struct Listener {
    // The search has ended, with the leader's reason. false: it could not be heard now, and is to be said again.
    std::function<bool(const std::string&)> on_end;
    std::function<void()> on_trials;  // some trial of others has ended, or waits
  };
  void hear(Listener listener);
  void deafen();  // returns when nobody is in the listener any more

  // A trial that this process may take: what it is given before it looks for one, until the result is stored.
  class Turn {
   public:
    Turn() = default;
    virtual ~Turn() = default;
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    virtual void taken() = 0;  // there is a trial, which runs from now on
  };
  // Who gives turns, from any thread; it may wait, and throws Cancelled where no further trial is to begin. Empty: whoever asks
  // has one. Set before the runs begin.
  void give_turns_by(std::function<std::unique_ptr<Turn>()> giver) { giver_ = std::move(giver); }
  std::unique_ptr<Turn> turn() const { return giver_ ? giver_() : nullptr; }

  // This process runs the trial with this id from now on; and does not any more. From any thread.
  void begin(int64_t id);
  void end(int64_t id);

 private:
  using Clock = std::chrono::steady_clock;

  // A heartbeat, and since when it has been the last one: by this machine's steady clock, so that clocks that differ, jump or are
  // set do not matter.
  struct Seen {
    std::string beat;
    Clock::time_point since;
  };

  void live(const std::stop_token& over);
  void beat();
  void look_for_the_dead(const std::map<int64_t, std::string>& beats, Clock::time_point now);
  void tell_of(const News& news);

  Study& study_;
  HeartbeatOptions options_;  // a leader that continues the search may have others
  std::function<std::unique_ptr<Turn>()> giver_;
  std::mutex guard_;  // of mine_
  std::set<int64_t> mine_;
  std::mutex listening_;  // guards the next two, and is held while the listener is called
  Listener listener_;
  bool told_ = false;
  std::map<int64_t, Seen> seen_;
  Clock::time_point looked_{};  // at seen_ for the last time
  Deadline stop_;               // of waits for the storage: with the work that the heart was made in
  std::jthread thread_;         // the last member: it ends first
};

}  // namespace quasar::search
