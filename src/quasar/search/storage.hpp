// Where studies are kept: one file each in storage/.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/log.hpp"
#include "quasar/base/plugin.hpp"
#include "quasar/search/trial.hpp"

namespace quasar::search {

struct StudyRecord {
  int64_t id = -1;
  std::string name;
  std::vector<Direction> directions;  // one per objective
  Json user_attributes = Json::object();
};

// Throws Error, with the ways out, for a study that exists and is not to be continued.
[[noreturn]] QUASAR_API void refuse_name(const std::string& study);

// A study in the hands of one process, until the object ends or the process does.
class QUASAR_API StudyLock {
 public:
  StudyLock() = default;
  virtual ~StudyLock() = default;
  StudyLock(const StudyLock&) = delete;
  StudyLock& operator=(const StudyLock&) = delete;
};

// The storage was lost in the middle of a StudyTransaction: what the transaction did has not happened, and may be tried again.
class QUASAR_API ConnectionLost : public Error {
 public:
  explicit ConnectionLost(const std::string& what) : Error(what, Blame::world) {}
};

// A storage was to be read, but holds no tables of studies.
class QUASAR_API NoStudies : public Error {
 public:
  using Error::Error;
};

// The trial is not in the state that the call needs: another process has ended it, or has it now.
class QUASAR_API TrialChanged : public Error {
 public:
  explicit TrialChanged(const std::string& what) : Error(what, Blame::world) {}
};

// A system attribute: how often a trial's worker died. What the trial says when that was too often.
inline constexpr const char* retries_attribute = "retries";
QUASAR_API std::string dead_worker(int64_t deaths);   // in a shared study
QUASAR_API std::string dead_process(int64_t deaths);  // in another

// Why a trial that another program completed with this value counts as failed.
QUASAR_API std::string infinite_value(double value);

// A system attribute: who runs, or ran, the trial of a shared study.
inline constexpr const char* worker_attribute = "worker";

// A run of a trial of a shared study that ended with its process, or that others took for ended.
struct LostRun {
  std::string worker;         // "": not known
  std::optional<Time> start;  // by the worker's clock
  Time found;                 // when others took it for dead, by their clock
};

// A system attribute: the trial's lost runs, in their order. Times stand in microseconds since 1970.
inline constexpr const char* lost_runs_attribute = "lost_runs";
QUASAR_API Json with_lost_run(Json before, const LostRun& run);    // the attribute, with one more
QUASAR_API std::vector<LostRun> lost_runs_of(const Trial& trial);  // what makes no sense is left out

// The right to decide what a study tries next, in the hands of one thread of one process at a time. What is written meanwhile
// becomes visible to others at commit(), all at once; without commit() nothing has happened.
class QUASAR_API StudyTransaction {
 public:
  StudyTransaction() = default;
  virtual ~StudyTransaction() = default;
  StudyTransaction(const StudyTransaction&) = delete;
  StudyTransaction& operator=(const StudyTransaction&) = delete;
  virtual void commit() = 0;
};

// What others did to a study since one looked.
struct Updates {
  // New ones, and those whose state is another now; by number. With everything but parameters of those that were seen running,
  // which do not change.
  std::vector<Trial> trials;
  std::map<int64_t, std::string> plan_hashes;  // id -> what a trial that is running as before has claimed
  std::map<std::string, Json> words;           // the study's user attributes that were asked for, as far as there are any
};

// Signs of life, and what stands in the study for all to hear.
struct Pulse {
  std::map<int64_t, std::string> beats;  // of trials that run: id -> the last heartbeat, as it was written before this pulse
  std::map<std::string, Json> words;     // as in Updates
};

// What other processes have told since one heard of it. They tell of more than has changed, and never of less.
struct News {
  bool trials = false;  // some trial has ended, or waits to be run
  bool words = false;   // somebody has set a user attribute of the study
};

// Who works on a shared study at this moment.
struct Liveness {
  std::vector<std::string> processes;  // those that are connected to the database, for whatever study, by name
  std::map<int64_t, double> silent_s;  // running trials: id -> seconds since the last heartbeat, by the server's clock
};

class FileStore;  // file_store.hpp

// What processes that work on one study find out besides trials, shared among them: questions as texts of the asker's own, such
// as hashes, with their answers. A question that another process has taken may stay without an answer, as that may have died, so
// that nobody waits for one.
class QUASAR_API Answers {
 public:
  struct Known {
    std::map<std::string, Json> answers;  // question -> answer, of those that have one
    std::vector<std::string> mine = {};   // the first that nobody had taken: this process's from now on
  };

  virtual ~Answers() = default;

  // Of these questions, in the order in which this process would take them, `most` of them at most. Throws Error and
  // ConnectionLost as Storage does.
  virtual Known ask(int64_t study, std::span<const std::string> questions, size_t most = 1) = 0;

  // Question -> answer, taken or not. The first answer to a question stays.
  virtual void answer(int64_t study, const std::map<std::string, Json>& answers) = 0;

  // As though nobody had asked it.
  virtual void forget(int64_t study, const std::string& question) = 0;
};

// What several processes need that work on one study at the same time. Times of different machines are never compared.
class QUASAR_API Sharing {
 public:
  virtual ~Sharing() = default;

  // Waits until nobody else has it. Trials are started, resumed and claimed within a transaction.
  virtual std::unique_ptr<StudyTransaction> transaction(int64_t study) = 0;

  // The trials whose id is greater than `after`, what became of `known` (id -> the state it was seen in), and these words.
  virtual Updates updates(int64_t study, int64_t after, const std::map<int64_t, State>& known,
                          const std::vector<std::string>& words) = 0;

  virtual void note(const Trial& trial, const std::string& key, const Json& value) = 0;  // a user attribute, at once
  virtual Json attribute(int64_t study, const std::string& key) = 0;                     // a study's; null: none
  virtual bool is_locked(int64_t study) = 0;                                             // some process has its lock()

  // Another text after some process has taken or lost a lock(), or has set the attribute `key` of a study: one question for all
  // studies, for whoever waits.
  virtual std::string leaders(const std::string& key) = 0;

  // Heartbeats, as Optuna's: whoever runs the trials `mine` lives. With those of all trials of the study that run, and words.
  virtual Pulse pulse(int64_t study, std::span<const int64_t> mine, const std::vector<std::string>& words) = 0;

  // Whether news tell of the study's trials, too: for whoever waits for others, as hearing costs the server something.
  virtual void follow(int64_t study, bool is_waiting) = 0;

  // Waits for news of the study (-1: words of any study), at most so many seconds, or until `stop` stops; meanwhile it sees now
  // and then whether the storage answers. The storage may be used by other threads meanwhile. A storage that was lost is news, as
  // nobody knows what was told then. Throws ConnectionLost.
  virtual News wait_for_news(int64_t study, double seconds, const std::stop_token& stop) = 0;

  virtual Liveness liveness(int64_t study) = 0;

  // Where studies keep files for machines that have none; nullptr: nowhere.
  virtual FileStore* files() { return nullptr; }

  // Where they share what they find out; nullptr: nowhere.
  virtual Answers* answers() { return nullptr; }

  // A trial whose last heartbeat is still this one becomes waiting; failed when that has happened `max_retry` times before.
  // false: it has another heartbeat, or is not running any more.
  virtual bool requeue_dead(int64_t trial, const std::string& heartbeat, int64_t max_retry) = 0;
};

// Every call is atomic and durable when it returns, and may come from any thread. Throws Error, naming the file or server, when
// the store is locked, unreadable or not a study database; and TrialChanged.
//
// A trial is running from start() to finish(). release() makes it wait instead, as if it had been enqueued: its parameters stay,
// and resume() lets it run again under the same number.
class QUASAR_API Storage {
 public:
  virtual ~Storage() = default;
  virtual std::vector<StudyRecord> studies() = 0;
  virtual StudyRecord create(const std::string& name, const std::vector<Direction>& directions) = 0;  // Error: the name exists
  virtual void set_attribute(int64_t study, const std::string& key, const Json& value) = 0;           // a study's user attribute
  virtual std::vector<Trial> trials(int64_t study) = 0;                                               // by number
  // Those whose id is greater than `after`: of a storage that is not shared, which other programs may write to all the same.
  virtual std::vector<Trial> later(int64_t /*study*/, int64_t /*after*/) { return {}; }
  virtual void start(int64_t study, Trial& trial) = 0;  // stores it as it is and gives it its id and number
  // State, values, intermediate values, attributes, end. TrialChanged: it is finished. What waits, because its process was taken
  // for dead, is finished all the same: a result is a result.
  virtual void finish(int64_t study, const Trial& trial) = 0;
  virtual void release(int64_t study, const Trial& trial) = 0;  // running -> waiting. TrialChanged: it is not running
  virtual void resume(int64_t study, const Trial& trial) = 0;   // waiting -> running from trial.start, with the point of one that
                                                                // had been enqueued. TrialChanged: not waiting

  // The study with its trials and all that belongs to them, for ever. Throws Error while somebody holds it.
  virtual void remove(const StudyRecord& study) = 0;

  // Whoever holds a study is the only one who changes it. Throws Error, which names the holder, when somebody else does.
  // Of a shared storage: whoever holds a study leads its search.
  virtual std::unique_ptr<StudyLock> lock(const StudyRecord& study) = 0;

  // Whether some process has its lock() now; nothing is taken. nullopt: it cannot be known.
  virtual std::optional<bool> is_held(const StudyRecord& /*study*/) { return std::nullopt; }

  // Why nobody will find what is written from now on, in words that name the store; "": it is where it was.
  virtual std::string lost() { return ""; }

  // The database, for messages; without a password.
  virtual std::string where() const { return "memory"; }

  // Who hears, from then on, that the store is gone and waited for, and that it is back.
  virtual void tell_to(Log /*log*/) {}

  // nullptr: one process at a time has a study.
  virtual Sharing* sharing() { return nullptr; }
};

// From a URL or a path: "sqlite:///relative.db", "sqlite:////absolute.db", "some/file.db", "memory",
// "postgresql://user@host:port/database". Throws Error for others.
QUASAR_API std::unique_ptr<Storage> open_storage(const std::string& url);

// The same to read what there is: nothing is made or changed, neither a file nor tables. nullptr: there is no such file, or no
// study database in it or on the server.
QUASAR_API std::unique_ptr<Storage> open_to_read(const std::string& url);

// Characters that the name of a study or parameter may have in Optuna's schema.
inline constexpr size_t longest_name = 512;

// Whether several processes may work on one study in the storage of this URL at the same time.
QUASAR_API bool is_shared_storage(const std::string& url);

// Throws Error when there is nothing in the storage of this URL or path, and nothing can be made there: its folder is missing, or
// takes no files.
QUASAR_API void expect_place(const std::string& url);

// Whether there is anything in the storage of this URL or path; of a server: true.
QUASAR_API bool storage_exists(const std::string& url);

}  // namespace quasar::search

namespace quasar::search::storage {
QUASAR_API const Table<Storage>& table();
}
