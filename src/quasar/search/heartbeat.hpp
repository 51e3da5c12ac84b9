// The heartbeat of a process in a shared study: says that its trials are alive, finds those whose worker died, and hears from the
// leader that the search has ended.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "quasar/search/study.hpp"

namespace quasar::search {

class Heartbeat {
 public:
  // Beats in a thread of its own until the end of its life. `on_end`: called from that thread, with the leader's reason. The
  // study is not touched but for its storage.
  Heartbeat(Study& study, std::function<void(const std::string&)> on_end);
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  // This process runs the trial with this id from now on; and does not any more. From any thread.
  void begin(int64_t id);
  void end(int64_t id);

 private:
  // A heartbeat, and since when it has been the last one: by this machine's steady clock, so that clocks that differ, jump or are
  // set do not matter.
  struct Seen {
    std::string beat;
    std::chrono::steady_clock::time_point since;
  };

  void live(const std::stop_token& stop);
  void listen();
  void beat();
  void look_for_the_dead();

  Study& study_;
  std::function<void(const std::string&)> on_end_;
  HeartbeatOptions options_;  // a leader that continues the search may have others
  std::mutex guard_;          // of mine_
  std::condition_variable_any wake_;
  std::set<int64_t> mine_;
  std::map<int64_t, Seen> seen_;
  bool told_ = false;
  std::jthread thread_;  // the last member: it ends first
};

}  // namespace quasar::search
