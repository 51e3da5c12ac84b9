#include "quasar/search/run.hpp"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/deadline.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/search/claims.hpp"
#include "quasar/search/proposals.hpp"
#include "quasar/search/tracker.hpp"

namespace quasar::search {
namespace {

class Loop {
 public:
  Loop(const RunOptions& options, Study& study, const Space& space, Sampler& sampler, const StopConditions& conditions,
       const Objective& objective)
      : options_(options),
        study_(study),
        space_(space),
        conditions_(conditions),
        objective_(objective),
        stop_(options.stop, deadline_of(conditions, begin_)),
        claims_(study.trials()),
        proposals_(options, study, space, sampler),
        tracker_(study.trials(), options.stage, study.directions().front()) {
    sampler.check(space);
    check_objectives(sampler, study_.directions());
    study_.check(space);
    for (const auto& condition : conditions_) {
      if (const auto limit = condition->limit()) total_ = std::min(*limit, total_.value_or(*limit));
    }
    if (const auto size = space.valid()) total_ = std::min(*size, total_.value_or(*size));
  }

  RunResult run() {
    if (options_.n_jobs <= 1) {
      work();
    } else {
      std::vector<std::jthread> workers;
      for (size_t i = 0; i < options_.n_jobs; ++i) workers.emplace_back([this] { work(); });
    }
    if (failure_) std::rethrow_exception(failure_);
    return result();
  }

 private:
  // One trial in the hands of its objective.
  class MyJob final : public Job {
   public:
    MyJob(Loop& loop, Trial trial) : loop_(loop), trial_(std::move(trial)) {}
    const Point& point() const override { return trial_.point; }
    int64_t number() const override { return trial_.number; }
    uint64_t seed() const override { return seed_of(loop_.options_.seed, static_cast<uint64_t>(trial_.number)); }
    std::stop_token stop() const override { return loop_.stop_.token(); }

    std::optional<int64_t> claim(const std::string& hash) override {
      trial_.user_attributes[attribute::plan_hash] = hash;
      const std::scoped_lock lock(loop_.mutex_);
      return loop_.claims_.claim(hash, trial_.number);
    }
    void report(int64_t step, double value) override { trial_.intermediate[step] = value; }

    const Trial& trial() const { return trial_; }

   private:
    Loop& loop_;
    Trial trial_;
  };

  static std::optional<Deadline::Clock::time_point> deadline_of(const StopConditions& conditions,
                                                                Deadline::Clock::time_point begin) {
    std::optional<Deadline::Clock::time_point> earliest;
    for (const auto& condition : conditions) {
      if (const auto seconds = condition->deadline()) {
        const auto moment = Deadline::after(*seconds, begin);
        earliest = std::min(moment, earliest.value_or(moment));
      }
    }
    return earliest;
  }

  double seconds() const { return std::chrono::duration<double>(Deadline::Clock::now() - begin_).count(); }

  void work() {
    try {
      while (auto job = ask()) tell(attempt(*job));
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      stop_.stop();
      changed_.notify_all();
    }
  }

  std::unique_ptr<MyJob> ask() {
    std::unique_lock lock(mutex_);
    while (!stop_.token().stop_requested() && !end_) {
      const Progress now = tracker_.progress(seconds());
      Progress settled = now;
      settled.counts.running = 0;
      if (const auto reason = met(settled)) {
        end_ = {RunResult::End::condition, *reason};
        changed_.notify_all();
      } else if (met(now)) {
        changed_.wait(lock);  // enough is running, unless some of it turns out to be duplicates
      } else {
        return start();
      }
    }
    return nullptr;
  }

  std::unique_ptr<MyJob> start() {
    if (const auto number = proposals_.again()) return begun(study_.resume(*number));
    const auto point = proposals_.next();
    if (!point) {
      end_ = {RunResult::End::exhausted, "every point of the search space was tried"};
      changed_.notify_all();
      return nullptr;
    }
    Json attributes = Json::object();
    if (!options_.stage.empty()) attributes[attribute::stage] = options_.stage;
    return begun(study_.start(space_, *point, attributes));
  }

  std::unique_ptr<MyJob> begun(const Trial& trial) {
    tracker_.start();
    hear(Event::Kind::started, trial);
    return std::make_unique<MyJob>(*this, trial);
  }

  std::optional<std::string> met(const Progress& progress) const {
    for (const auto& condition : conditions_) {
      if (auto reason = condition->met(progress)) return reason;
    }
    return std::nullopt;
  }

  // The trial's end; without the lock, this is where the time goes.
  Trial attempt(MyJob& job) {
    const auto interrupted = [&] {
      Trial out = job.trial();
      out.state = State::waiting;
      return out;
    };
    const auto failed = [&](const std::string& why) {
      Trial out = job.trial();
      out.state = State::failed;
      out.user_attributes[attribute::error] = why;
      return out;
    };
    const CancelScope scope(stop_.token());
    try {
      return finished(job, objective_(job));
    } catch (const Cancelled& e) {
      return stop_.token().stop_requested() ? interrupted() : failed(e.what());
    } catch (const TrialFailed& e) {
      Trial out = failed(e.what());
      out.user_attributes.update(e.user_attributes);
      return out;
    } catch (const std::exception& e) {
      return failed(e.what());
    } catch (...) {
      return failed("an exception of unknown type");
    }
  }

  Trial finished(const MyJob& job, const Outcome& outcome) const {
    Trial out = job.trial();
    out.user_attributes.update(outcome.user_attributes);
    if (outcome.duplicate_of) {
      out.user_attributes[attribute::duplicate_of] = *outcome.duplicate_of;
      return out;
    }
    const size_t objectives = study_.directions().size();
    if (outcome.values.size() != objectives && !(outcome.pruned && outcome.values.empty())) {
      throw Error("the objective gave " + std::to_string(outcome.values.size()) + " values, but the study has " +
                  std::to_string(objectives));
    }
    for (const double value : outcome.values) {
      if (std::isnan(value)) throw Error("the objective is not a number (NaN)");
    }
    out.values = outcome.values;
    out.state = outcome.pruned ? State::pruned : State::complete;
    if (!outcome.constraints.empty()) out.system_attributes[constraints_attribute] = outcome.constraints;
    if (outcome.candidate) out.user_attributes[attribute::candidate] = true;
    return out;
  }

  // Records the trial, or keeps a duplicate until the trial that it repeats has ended.
  void tell(Trial trial) {
    const std::scoped_lock lock(mutex_);
    if (!trial.is_duplicate()) return settle(std::move(trial));
    const Trial& original = study_.at(trial.user_attributes[attribute::duplicate_of].get<int64_t>());
    if (original.state == State::running) {
      waiting_[original.number].push_back(std::move(trial));
    } else {
      settle(copied(std::move(trial), original));
    }
  }

  void settle(Trial trial) {
    const bool interrupted = trial.state == State::waiting;
    if (interrupted) claims_.give_up(trial.number);
    const Trial original = interrupted ? study_.release(trial.number) : study_.finish(std::move(trial));
    tracker_.finish(original);
    cut_ = cut_ || interrupted;
    changed_.notify_all();
    hear(Event::Kind::finished, original);
    auto duplicates = waiting_.extract(original.number);
    if (duplicates.empty()) return;
    for (Trial& duplicate : duplicates.mapped()) settle(copied(std::move(duplicate), original));
  }

  // The result of the original under the duplicate's own number, point and stage.
  static Trial copied(Trial duplicate, const Trial& original) {
    duplicate.state = original.state;
    duplicate.values = original.values;
    duplicate.intermediate = original.intermediate;
    duplicate.system_attributes.update(original.system_attributes);
    for (const auto& [key, value] : original.user_attributes.items()) {
      if (!duplicate.user_attributes.contains(key)) duplicate.user_attributes[key] = value;
    }
    return duplicate;
  }

  void hear(Event::Kind kind, const Trial& trial) {
    if (options_.listener) options_.listener({kind, trial, study_.best(), tracker_.counts(), total_});
  }

  RunResult result() const {
    const bool stopped = options_.stop.stop_requested();
    if (end_ && !(stopped && cut_)) return {end_->first, end_->second, tracker_.counts()};
    const auto reason = stopped ? std::nullopt : met(tracker_.progress(seconds()));  // the deadline
    if (reason) return {RunResult::End::condition, *reason, tracker_.counts()};
    return {RunResult::End::interrupted, "interrupted", tracker_.counts()};
  }

  const RunOptions& options_;
  Study& study_;
  const Space& space_;
  const StopConditions& conditions_;
  const Objective& objective_;
  const Deadline::Clock::time_point begin_ = options_.begin;
  Deadline stop_;

  std::mutex mutex_;  // guards everything below, the study and the sampler
  Claims claims_;
  Proposals proposals_;
  Tracker tracker_;
  std::map<int64_t, std::vector<Trial>> waiting_;  // duplicates of trials that are still running
  std::optional<std::pair<RunResult::End, std::string>> end_;
  std::optional<uint64_t> total_;
  std::exception_ptr failure_;
  bool cut_ = false;                 // some trial was interrupted
  std::condition_variable changed_;  // a trial ended, or the run
};

}  // namespace

RunResult run(const RunOptions& options, Study& study, const Space& space, Sampler& sampler, const StopConditions& conditions,
              const Objective& objective) {
  return Loop(options, study, space, sampler, conditions, objective).run();
}

}  // namespace quasar::search
