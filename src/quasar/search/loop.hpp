// The loop of run(): who asks, who tries, who tells, with one thread or several, alone or among other processes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "quasar/base/deadline.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/search/claims.hpp"
#include "quasar/search/heartbeat.hpp"
#include "quasar/search/objective.hpp"
#include "quasar/search/proposals.hpp"
#include "quasar/search/run_options.hpp"
#include "quasar/search/tracker.hpp"

namespace quasar::search {

class Loop {
 public:
  // As run(); all of it outlives the loop.
  Loop(const RunOptions& options, Study& study, const Space& space, Sampler& sampler, const StopConditions& conditions,
       const Objective& objective);

  RunResult run();

 private:
  // One trial in the hands of its objective.
  class MyRunningTrial final : public RunningTrial {
   public:
    MyRunningTrial(Loop& loop, Trial trial) : loop_(loop), trial_(std::move(trial)) {}
    const Point& point() const override { return trial_.point; }
    int64_t number() const override { return trial_.number; }
    uint64_t seed() const override { return seed_of(loop_.options_.seed, static_cast<uint64_t>(trial_.number)); }
    std::stop_token stop() const override { return loop_.stop_.token(); }

    std::optional<int64_t> claim(const std::string& hash) override {
      trial_.user_attributes[attribute::plan_hash] = hash;
      return loop_.claim(hash, trial_.number);
    }
    void report(int64_t step, double value) override { trial_.intermediate[step] = value; }

    const Trial& trial() const { return trial_; }
    void keep(std::unique_ptr<Heartbeat::Turn> turn) { turn_ = std::move(turn); }

   private:
    Loop& loop_;
    Trial trial_;
    std::unique_ptr<Heartbeat::Turn> turn_;  // ends with this, when the result is stored
  };

  static std::optional<Deadline::Clock::time_point> deadline_of(const StopConditions& conditions,
                                                                Deadline::Clock::time_point begin);
  double seconds() const;
  void work();
  void work_together();
  // Ends the run with an exception; the first one counts.
  void fail(std::exception_ptr failure);
  std::unique_ptr<MyRunningTrial> ask();
  // Whether this process may take a further trial; waits for the word without the lock.
  std::unique_ptr<Heartbeat::Turn> turn(std::unique_lock<std::mutex>& lock) const;
  // The next trial; nullptr: the run has ended, or enough is running. In a shared study nobody else decides meanwhile.
  std::unique_ptr<MyRunningTrial> take_turn();
  // Number of the trial that runs from now on.
  std::optional<int64_t> decide();
  std::optional<int64_t> start();
  int64_t resume(int64_t number);
  void end(RunResult::End how, const std::string& why);
  bool end_by_leader(const std::string& why);
  void end_told(const std::string& why);
  std::optional<int64_t> claim(const std::string& hash, int64_t number);
  // What other processes did, taken into the books; their listeners and duplicates come afterwards, outside of any turn.
  void refresh();
  void hear_from_others();
  void settle_others();
  // Until something has changed on which a decision may depend. `before`: the version that it was decided for. `once`: at most
  // until others have been looked after.
  void wait_for_others(std::unique_lock<std::mutex>& lock, uint64_t before, bool once);
  // Whether what is to be tried next is begun by the process that makes it ready. Asks without the lock.
  bool is_left_to_another(std::unique_lock<std::mutex>& lock);
  // A piece of what can be done for later trials, without the lock. -> false: there is nothing
  bool get_ahead(std::unique_lock<std::mutex>& lock);
  // Whether some of the first points have no result yet, as far as others have told.
  bool waits_for_first();
  bool is_first_open() const;
  bool may_come_back() const;
  // The heart has heard of trials.
  void hear_news();
  // For the heart, which beats whatever holds the lock: nothing after a fifth of a second.
  std::unique_lock<std::mutex> lock_soon();
  // Duplicates of what another process has not finished: they wait in the study for whoever continues it.
  void give_up_waiting();
  std::optional<std::string> met(const Progress& progress) const;
  // The trial's end; without the lock, this is where the time goes.
  Trial attempt(MyRunningTrial& job);
  Trial finished(const MyRunningTrial& job, const Outcome& outcome) const;
  Trial waiting(const MyRunningTrial& job) const;
  static Trial failed(const MyRunningTrial& job, const char* why);
  // The machine failed and not the trial, which waits for whoever runs it next; this run ends.
  Trial broken(const MyRunningTrial& job, const Error& why);
  // Records the trial, or keeps a duplicate until the trial that it repeats has ended.
  void tell(Trial trial);
  void settle(Trial trial);
  void settle_duplicates(const Trial& original);
  // The result of the original under the duplicate's own number, point and stage.
  static Trial copied(Trial duplicate, const Trial& original);
  void hear(Event::Kind kind, const Trial& trial, bool elsewhere = false);
  RunResult result() const;

  const RunOptions& options_;
  Study& study_;
  const Space& space_;
  const StopConditions& conditions_;
  const Objective& objective_;
  const Deadline::Clock::time_point begin_ = options_.begin;
  Deadline stop_;

  std::mutex mutex_;  // guards everything below but the heart, the study and the sampler
  Claims claims_;
  Proposals proposals_;
  Tracker tracker_;
  std::map<int64_t, std::vector<Trial>> waiting_;  // duplicates of trials that are still running
  std::optional<std::pair<RunResult::End, std::string>> end_;
  std::optional<uint64_t> total_;
  std::exception_ptr failure_;            // of the storage, or of Quasar
  std::exception_ptr broken_;             // of the machine, under a trial
  bool cut_ = false;                      // some trial was interrupted
  std::vector<int64_t> ended_elsewhere_;  // trials of other processes, not yet heard of
  uint64_t version_ = 0;                  // counts changes that a decision may depend on
  std::atomic<uint64_t> news_ = 0;        // how often others have told of trials
  size_t waiting_for_others_ = 0;         // threads
  uint64_t heard_ahead_ = 0;              // of the news, by get_ahead()
  bool nothing_ahead_ = false;
  std::condition_variable_any changed_;  // a trial ended, or the run; or others have told something

  // The heart of a shared study, which tells this run; nullptr: it is not shared.
  struct Listening {
    Heartbeat* heart = nullptr;
    ~Listening() {
      if (heart != nullptr) heart->deafen();
    }
  };
  Listening listening_;  // the last member: it ends first
};

}  // namespace quasar::search
