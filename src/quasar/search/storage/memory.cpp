// Studies that end with the process: for tests, and for those who want no file.
#include <map>
#include <mutex>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::search::storage {
namespace {

class Memory final : public Storage {
 public:
  std::vector<StudyRecord> studies() override {
    const std::scoped_lock lock(mutex_);
    std::vector<StudyRecord> out;
    for (const Kept& kept : kept_) out.push_back(kept.record);
    return out;
  }

  StudyRecord create(const std::string& name, const std::vector<Direction>& directions) override {
    const std::scoped_lock lock(mutex_);
    for (const Kept& kept : kept_) {
      if (kept.record.name == name) throw Error("the study '" + name + "' exists already");
    }
    kept_.push_back({{static_cast<int64_t>(kept_.size()), name, directions, Json::object()}, {}});
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
    trial.number = trial.id = static_cast<int64_t>(trials.size());
    trials.push_back(trial);
  }

  void finish(int64_t study, const Trial& trial) override {
    const std::scoped_lock lock(mutex_);
    Trial& mine = of(study).trials.at(static_cast<size_t>(trial.number));
    if (mine.state != State::running) throw Error("trial " + std::to_string(trial.number) + " is finished already, or waits");
    mine = trial;
  }

  void release(int64_t study, const Trial& trial) override {
    Trial& mine = change(study, trial, State::running, State::waiting);
    mine.start.reset();
  }

  void resume(int64_t study, const Trial& trial) override {
    Trial& mine = change(study, trial, State::waiting, State::running);
    mine.start = trial.start;
  }

  std::unique_ptr<Hold> hold(const StudyRecord& study) override {
    const std::scoped_lock lock(mutex_);
    if (!held_->insert(study.id)) throw Error("the study '" + study.name + "' is in use by this process already");
    return std::make_unique<Held>(held_, study.id);
  }

 private:
  class HeldStudies {
   public:
    bool insert(int64_t study) {
      const std::scoped_lock lock(mutex_);
      return studies_.insert(study).second;
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
  struct Held final : Hold {
    Held(std::shared_ptr<HeldStudies> all, int64_t study) : all_(std::move(all)), study_(study) {}
    ~Held() override { all_->erase(study_); }

   private:
    std::shared_ptr<HeldStudies> all_;
    int64_t study_;
  };

  Trial& change(int64_t study, const Trial& trial, State from, State to) {
    const std::scoped_lock lock(mutex_);
    Trial& mine = of(study).trials.at(static_cast<size_t>(trial.number));
    if (mine.state != from) throw Error("trial " + std::to_string(trial.number) + " has another state");
    mine.state = to;
    return mine;
  }

  struct Kept {
    StudyRecord record;
    std::vector<Trial> trials;
  };

  Kept& of(int64_t study) { return kept_.at(static_cast<size_t>(study)); }

  std::mutex mutex_;
  std::vector<Kept> kept_;
  std::shared_ptr<HeldStudies> held_ = std::make_shared<HeldStudies>();
};

}  // namespace

Entry<Storage> memory() {
  return {.help = "In memory only; lost at the end.", .make = make_as<Memory, Storage>};
}

}  // namespace quasar::search::storage
