// Studies that end with the process: for tests, and for those who want no file. Shared, it lets several studies of one process
// work on one as processes do on a server.
#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/base/process.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::search::storage {
namespace {

class AnswersInMemory final : public Answers {
 public:
  Known ask(int64_t study, std::span<const std::string> questions, size_t most) override {
    const std::scoped_lock lock(mutex_);
    Known out;
    for (const std::string& question : questions) {
      const auto found = asked_.find({study, question});
      if (found == asked_.end() && out.mine.size() < most) {
        asked_[{study, question}] = nullptr;
        out.mine.push_back(question);
      } else if (found != asked_.end() && !found->second.is_null()) {
        out.answers[question] = found->second;
      }
    }
    return out;
  }

  void answer(int64_t study, const std::map<std::string, Json>& answers) override {
    const std::scoped_lock lock(mutex_);
    for (const auto& [question, answer] : answers) {
      Json& known = asked_[{study, question}];
      if (known.is_null()) known = answer;
    }
  }

  void forget(int64_t study, const std::string& question) override {
    const std::scoped_lock lock(mutex_);
    asked_.erase({study, question});
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<int64_t, std::string>, Json> asked_;  // null: taken
};

class Memory final : public Storage, public Sharing {
 public:
  explicit Memory(const Options& options) : shared_(options.flag("shared")) {}

  std::vector<StudyRecord> studies() override {
    const std::scoped_lock lock(mutex_);
    std::vector<StudyRecord> out;
    for (const Kept& kept : kept_) {
      if (!kept.removed) out.push_back(kept.record);
    }
    return out;
  }

  StudyRecord create(const std::string& name, const std::vector<Direction>& directions) override {
    const std::scoped_lock lock(mutex_);
    for (const Kept& kept : kept_) {
      if (!kept.removed && kept.record.name == name) refuse_name(name);
    }
    kept_.push_back({{static_cast<int64_t>(kept_.size()), name, directions, Json::object()}, {}, false});
    return kept_.back().record;
  }

  void set_attribute(int64_t study, const std::string& key, const Json& value) override {
    const std::scoped_lock lock(mutex_);
    of(study).record.user_attributes[key] = value;
  }

  std::vector<Trial> trials(int64_t study) override {
    const std::scoped_lock lock(mutex_);
    return of(study).trials;
  }

  void start(int64_t study, Trial& trial) override {
    const std::scoped_lock lock(mutex_);
    auto& trials = of(study).trials;
    trial.number = static_cast<int64_t>(trials.size());
    trial.id = static_cast<int64_t>(places_.size());
    places_.emplace_back(study, trial.number);
    trials.push_back(trial);
    ++beats_[trial.id];
  }

  void finish(int64_t, const Trial& trial) override {
    const std::scoped_lock lock(mutex_);
    Trial& mine = at(trial.id);
    if (mine.finished()) throw TrialChanged("trial " + std::to_string(trial.number) + " is finished already");
    mine = trial;
  }

  void release(int64_t, const Trial& trial) override {
    const std::scoped_lock lock(mutex_);
    change(trial, State::running, State::waiting).start.reset();
  }

  void resume(int64_t, const Trial& trial) override {
    const std::scoped_lock lock(mutex_);
    change(trial, State::waiting, State::running) = trial;
    ++beats_[trial.id];
  }

  void remove(const StudyRecord& study) override {
    const auto alone = lock(study);
    const std::scoped_lock guard(mutex_);
    of(study.id).removed = true;
    of(study.id).trials.clear();
  }

  std::unique_ptr<StudyLock> lock(const StudyRecord& study) override {
    const std::scoped_lock lock(mutex_);
    if (!held_->insert(study.id)) throw Error("the study '" + study.name + "' is in use by this process already");
    return std::make_unique<Locked>(held_, study.id);
  }

  Sharing* sharing() override { return shared_ ? this : nullptr; }

  std::unique_ptr<StudyTransaction> transaction(int64_t) override { return std::make_unique<MyTransaction>(turns_); }

  Updates updates(int64_t study, int64_t after, const std::map<int64_t, State>& known,
                  const std::vector<std::string>& words) override {
    const std::scoped_lock lock(mutex_);
    Updates out{.trials = {}, .plan_hashes = {}, .words = words_of(study, words)};
    for (const Trial& trial : of(study).trials) {
      const auto before = known.find(trial.id);
      if (before == known.end() ? trial.id > after : before->second != trial.state) {
        out.trials.push_back(trial);
      } else if (before != known.end() && trial.state == State::running && trial.user_attributes.contains(attribute::plan_hash)) {
        out.plan_hashes[trial.id] = trial.user_attributes[attribute::plan_hash].get<std::string>();
      }
    }
    return out;
  }

  void note(const Trial& trial, const std::string& key, const Json& value) override {
    const std::scoped_lock lock(mutex_);
    at(trial.id).user_attributes[key] = value;
  }

  Json attribute(int64_t study, const std::string& key) override {
    const std::scoped_lock lock(mutex_);
    return of(study).record.user_attributes.value(key, Json());
  }

  bool is_locked(int64_t study) override { return held_->has(study); }

  std::string leaders(const std::string& key) override {
    const std::scoped_lock lock(mutex_);
    std::string out;
    for (const Kept& kept : kept_)
      out += kept.record.user_attributes.value(key, Json()).dump() + (held_->has(kept.record.id) ? " held " : " ");
    return out;
  }

  Pulse pulse(int64_t study, std::span<const int64_t> mine, const std::vector<std::string>& words) override {
    const std::scoped_lock lock(mutex_);
    Pulse out{.beats = {}, .words = words_of(study, words)};
    for (const Trial& trial : of(study).trials) {
      if (trial.state == State::running) out.beats[trial.id] = std::to_string(beats_[trial.id]);
    }
    for (const int64_t id : mine) ++beats_[id];
    return out;
  }

  void follow(int64_t, bool) override {}

  // Looking costs nothing here.
  News wait_for_news(int64_t, double seconds, const std::stop_token& stop) override {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any pause;
    pause.wait_for(lock, stop, std::chrono::duration<double>(std::min(seconds, 0.01)), [] { return false; });
    return {.trials = true, .words = true};
  }

  Liveness liveness(int64_t) override { return {.processes = {process_name()}, .silent_s = {}}; }

  Answers* answers() override { return &answers_; }

  bool requeue_dead(int64_t id, const std::string& heartbeat, int64_t max_retry) override {
    const std::scoped_lock lock(mutex_);
    Trial& trial = at(id);
    if (trial.state != State::running || std::to_string(beats_[id]) != heartbeat) return false;
    const int64_t deaths = trial.system_attributes.value(retries_attribute, int64_t{0}) + 1;
    trial.system_attributes[retries_attribute] = deaths;
    trial.system_attributes[lost_runs_attribute] =
        with_lost_run(trial.system_attributes.value(lost_runs_attribute, Json()),
                      {trial.system_attributes.value(worker_attribute, std::string()), trial.start, now()});
    trial.state = deaths <= max_retry ? State::waiting : State::failed;
    if (trial.state == State::failed) {
      trial.user_attributes[attribute::error] = dead_worker(deaths);
      trial.complete = now();
    } else {
      trial.start.reset();
    }
    return true;
  }

 private:
  class HeldStudies {
   public:
    bool insert(int64_t study) {
      const std::scoped_lock lock(mutex_);
      return studies_.insert(study).second;
    }
    bool has(int64_t study) {
      const std::scoped_lock lock(mutex_);
      return studies_.contains(study);
    }
    void erase(int64_t study) {
      const std::scoped_lock lock(mutex_);
      studies_.erase(study);
    }

   private:
    std::mutex mutex_;
    std::set<int64_t> studies_;
  };

  // May outlive the storage.
  struct Locked final : StudyLock {
    Locked(std::shared_ptr<HeldStudies> all, int64_t study) : all_(std::move(all)), study_(study) {}
    ~Locked() override { all_->erase(study_); }

   private:
    std::shared_ptr<HeldStudies> all_;
    int64_t study_;
  };

  // Nothing is lost in memory, so that commit() has nothing to do.
  struct MyTransaction final : StudyTransaction {
    explicit MyTransaction(std::mutex& turns) : lock_(turns) {}
    void commit() override {}

   private:
    std::unique_lock<std::mutex> lock_;
  };

  Trial& change(const Trial& trial, State from, State to) {
    Trial& mine = at(trial.id);
    if (mine.state != from) throw TrialChanged("trial " + std::to_string(trial.number) + " has another state");
    mine.state = to;
    return mine;
  }

  struct Kept {
    StudyRecord record;
    std::vector<Trial> trials;
    bool removed = false;
  };

  std::map<std::string, Json> words_of(int64_t study, const std::vector<std::string>& keys) {
    std::map<std::string, Json> out;
    for (const std::string& key : keys) {
      if (const Json& all = of(study).record.user_attributes; all.contains(key)) out[key] = all[key];
    }
    return out;
  }

  Kept& of(int64_t study) { return kept_.at(static_cast<size_t>(study)); }
  Trial& at(int64_t id) {
    const auto& [study, number] = places_.at(static_cast<size_t>(id));
    return of(study).trials.at(static_cast<size_t>(number));
  }

  bool shared_;
  AnswersInMemory answers_;
  std::mutex mutex_, turns_;
  std::vector<Kept> kept_;
  std::vector<std::pair<int64_t, int64_t>> places_;  // id -> study and number
  std::map<int64_t, int64_t> beats_;                 // id -> how often
  std::shared_ptr<HeldStudies> held_ = std::make_shared<HeldStudies>();
};

}  // namespace

Entry<Storage> memory() {
  return {.help = "In memory only; lost at the end.",
          .make = make_as<Memory, Storage>,
          .options = {{.name = "shared", .fallback = false, .help = "several studies of this process may have one"}}};
}

}  // namespace quasar::search::storage
