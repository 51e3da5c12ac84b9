// A study: trials towards one goal, in memory and in its storage.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/search/heartbeat_options.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::search {

struct StudyOptions {
  std::string name = "AutoSearch";
  std::vector<Direction> directions = {Direction::minimize};
  bool resume = false;        // an existing study is continued; otherwise it is an error
  bool worker = false;        // joins a shared study that another process leads, and never makes one
  bool only_claimed = false;  // trials without a claimed plan, which other programs put there, are never the best
  std::string launch = {};    // of processes that were started together: the same text for all of them
  HeartbeatOptions heartbeat = {};
};

// Throws Error, with the ways out, when there is a study of this name: one that is not to be continued.
QUASAR_API void refuse_existing(std::span<const StudyRecord> studies, const std::string& name);

// A user attribute of a shared study: {state, reason, run, launch, heartbeat}, see Study::announce(). `run` is another text for
// every run.
inline constexpr const char* search_attribute = "search";

// The reason of a run that ended before its end and is to be continued.
inline constexpr const char* was_interrupted = "it was interrupted";

// The user attribute by which anybody asks the leader of a run to stop: the text of that run.
inline constexpr const char* stop_attribute = "stop";

// What another process did to a trial.
struct Change {
  int64_t number;
  std::optional<State> before;  // nullopt: the trial is new
};

// Not thread-safe; `storage` must outlive it.
//
// In a storage that is shared(), several processes have the study at a time: each sees what the others did by refresh(), and
// starts trials within a transaction().
class QUASAR_API Study {
 public:
  // Creates the study, or continues it, and holds it to its own end; a worker holds nothing. Trials that were running when their
  // process died wait to be tried again; in a shared study heartbeats tell (heartbeat.hpp). Throws Error when it exists and
  // resume is off, when it does not and this is a worker, when its directions are others, and, naming the holder, when another
  // process holds it.
  Study(Storage& storage, const StudyOptions& options);

  const std::string& name() const { return record_.name; }
  const std::vector<Direction>& directions() const { return record_.directions; }
  const Json& user_attributes() const { return record_.user_attributes; }
  std::span<const Trial> trials() const { return trials_; }

  void set_attribute(const std::string& key, const Json& value);

  bool is_shared() const { return sharing_ != nullptr; }
  bool is_worker() const { return worker_; }
  Sharing* sharing() const { return sharing_; }                     // nullptr unless shared
  const HeartbeatOptions& heartbeat() const { return heartbeat_; }  // a worker's: what its leader had when it joined
  int64_t id() const { return record_.id; }

  // What the leader of a shared study says to its workers: "preparing" (from its hold on), "running" when they may join, or
  // "ended" and why; and how its heart beats, so that all processes take the same ones for dead.
  void announce(const std::string& state, const std::string& reason = "");

  // What leader_message() tells from then on: the words for which the study is asked, and what it answered. From any thread.
  static const std::vector<std::string>& words();
  void hear(const std::map<std::string, Json>& said);

  // A worker hears whether the search has ended, and why, and the leader's heartbeat; the leader, whether it was asked to stop:
  // as of the last refresh() or hear(). From any thread.
  struct LeaderMessage {
    std::optional<std::string> ended;
    HeartbeatOptions heartbeat;
  };
  LeaderMessage leader_message() const;

  // What lives beside the study until its end, such as the heart that beats for its trials.
  class Companion {
   public:
    Companion() = default;
    virtual ~Companion() = default;
    Companion(const Companion&) = delete;
    Companion& operator=(const Companion&) = delete;
  };
  Companion* companion() const { return companion_.get(); }
  void keep(std::unique_ptr<Companion> companion) { companion_ = std::move(companion); }

  // nullptr unless shared. Throws ConnectionLost.
  std::unique_ptr<StudyTransaction> transaction();

  // The transaction in which this trial was started or resumed was lost.
  void undo(int64_t number);

  // Takes over what other processes did; where the study is not shared, trials that other programs have added. Trials that others
  // run are running here too.
  std::vector<Change> refresh();

  // In a transaction: says for others that this process's trial has claimed `hash`.
  void note_claim(int64_t number, const std::string& hash);

  // Throws Error when a finished trial used one of the space's parameters with other choices or bounds: such a study cannot be
  // continued with this space.
  void check(const Space& space) const;

  // Numbers of the waiting trials with this attribute `stage` ("": without) whose point is one of the space, and of enqueued ones
  // (enqueued.hpp) of any stage.
  std::vector<int64_t> waiting(const Space& space, const std::string& stage) const;

  // Says anew which complete trials are good enough, for a study that is continued with another tolerance.
  void reconsider(const std::function<bool(const Trial&)>& is_candidate);

  // Trials whose result holds no longer, for a study that is continued with another goal: they stay in it, but their points and
  // the plans that they claimed may be tried again.
  void outdate(const std::function<bool(const Trial&)>& is_outdated);

  // Ask: a new running trial at this point. The reference holds until the next start().
  const Trial& start(const Space& space, const Point& point, const Json& user_attributes = Json::object());

  // Tell: replaces the trial of this number, which now has its final state; the end is now unless it is set. A trial of a shared
  // study that another process has ended meanwhile stays as that left it.
  const Trial& finish(Trial trial);

  // Trials that have failed as this study was opened, because their processes died too often (max_retry).
  const std::vector<int64_t>& died_too_often() const { return died_too_often_; }

  // A running trial ended from outside: it waits as it was when it began.
  const Trial& release(int64_t number);

  // A waiting trial runs from now on, under its number. An enqueued one gets its point of the space, and the stage.
  const Trial& resume(int64_t number, const Space& space, const std::string& stage);

  // Throws Error when there is no trial of this number.
  const Trial& at(int64_t number) const;

  // Numbers of the trials at this point that are not outdated, the earliest first; found without looking through the others.
  std::vector<int64_t> numbers_at(const Point& point) const;

  // The complete trial with the best first value (of equals the best second one, and so on, then the earliest) among those that
  // violate the constraints least; nullptr: none.
  const Trial* best() const { return best_ ? &trials_[*best_] : nullptr; }

 private:
  size_t position(int64_t number) const;
  void compare(size_t position);  // with the best so far
  void open(const StudyOptions& options);
  void lock();
  void requeue_or_fail(int64_t number);
  void keep(size_t position);  // among the unfinished ones, as long as it is one
  void keep_new(size_t position);
  const Trial& as_others_left_it(int64_t number);
  void take_over(Trial trial, std::vector<Change>& changes);

  Storage& storage_;
  Sharing* sharing_;
  bool worker_, only_claimed_;
  HeartbeatOptions heartbeat_;
  std::string process_;  // this one, for others
  std::string launch_, run_;
  StudyRecord record_;
  std::unique_ptr<StudyLock> lock_;
  struct Heard {
    std::mutex mutex;
    Json leader, stop;  // as the attributes say
  };
  std::unique_ptr<Heard> heard_ = std::make_unique<Heard>();
  std::vector<Trial> trials_;
  std::unordered_map<uint64_t, std::vector<int64_t>> by_point_;  // numbers, by the hash of the point
  std::set<int64_t> unfinished_;                                 // numbers
  std::vector<int64_t> died_too_often_;
  int64_t begun_id_ = -1;  // of the trial that was started last
  std::optional<size_t> best_;
  std::unique_ptr<Companion> companion_;  // the last member: it ends first
};

}  // namespace quasar::search
