// What becomes of a trial once it runs, and the run's result; who runs what stands in loop.cpp.
#include "quasar/search/run.hpp"

#include <filesystem>
#include <system_error>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/memory_cap.hpp"
#include "quasar/search/best_values.hpp"
#include "quasar/search/loop.hpp"

namespace quasar::search {

Trial Loop::attempt(MyRunningTrial& job) {
  const CancelScope scope(stop_.token());
  try {
    return finished(job, objective_(job));
  } catch (const Cancelled& e) {
    return stop_.token().stop_requested() ? waiting(job) : failed(job, e.what());
  } catch (const TrialFailed& e) {
    const Uncapped no_cap;
    Trial out = failed(job, e.what());
    out.user_attributes.update(e.user_attributes);
    return out;
  } catch (const TrialChanged& e) {  // another process took it over, as the storage will say
    return failed(job, e.what());
  } catch (const Error& e) {
    return e.blame() == Blame::user ? failed(job, e.what()) : broken(job, e);
  } catch (const std::filesystem::filesystem_error& e) {  // a folder that was there is gone
    return broken(job, Error(e.what(), blame_of_writing(e.code().value())));
  } catch (const std::system_error& e) {
    return blame_of(e.code().value()) == Blame::world ? broken(job, Error(e.what(), Blame::world)) : failed(job, e.what());
  } catch (const std::exception& e) {
    return failed(job, e.what());
  } catch (...) {
    return failed(job, "an exception of unknown type");
  }
}

Trial Loop::waiting(const MyRunningTrial& job) const {
  const Uncapped no_cap;
  Trial out = job.trial();
  out.state = State::waiting;
  return out;
}

Trial Loop::failed(const MyRunningTrial& job, const char* why) {
  const Uncapped no_cap;
  Trial out = job.trial();
  out.state = State::failed;
  out.user_attributes[attribute::error] = why;
  return out;
}

Trial Loop::broken(const MyRunningTrial& job, const Error& why) {
  const std::scoped_lock lock(mutex_);  // first: who waits for it lifts no cap
  const Uncapped no_cap;
  if (!broken_) {
    broken_ = std::make_exception_ptr(Error(std::string(why.what()) + "; that is no result of trial " +
                                                std::to_string(job.number()) + ", which waits to be run again: mend it, and " +
                                                (study_.is_worker() ? "start this worker again" : "continue with --resume"),
                                            why.blame()));
  }
  stop_.stop();
  changed_.notify_all();
  return waiting(job);
}

Trial Loop::finished(const MyRunningTrial& job, const Outcome& outcome) const {
  const Uncapped no_cap;
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
  for (const double value : outcome.values) check_value(value, "the objective");
  out.values = outcome.values;
  out.state = outcome.pruned ? State::pruned : State::complete;
  if (!outcome.constraints.empty()) out.set_constraints(outcome.constraints);
  if (outcome.candidate) out.user_attributes[attribute::candidate] = true;
  return out;
}

void Loop::tell(Trial trial) {
  const std::scoped_lock lock(mutex_);  // first: who waits for it lifts no cap
  const Uncapped no_cap;
  if (!trial.is_duplicate()) return settle(std::move(trial));
  const Trial& original = study_.at(trial.user_attributes[attribute::duplicate_of].get<int64_t>());
  if (!original.finished()) {
    waiting_[original.number].push_back(std::move(trial));
  } else {
    settle(copied(std::move(trial), original));
  }
}

void Loop::settle(Trial trial) {
  const bool interrupted = trial.state == State::waiting;
  const int64_t number = trial.number;
  if (interrupted) claims_.give_up(number);
  if (listening_.heart != nullptr) listening_.heart->end(trial.id);
  // Others may have taken this process for dead: then the books know of it, and a trial that others have ended is in them.
  const State before = study_.at(number).state;
  const bool counted = study_.at(number).finished();
  const Trial original = interrupted ? study_.release(number) : study_.finish(std::move(trial));
  ++version_;
  cut_ = cut_ || interrupted;
  changed_.notify_all();
  if (!counted) {
    tracker_.see(before, original);
    if (interrupted || original.finished()) hear(Event::Kind::finished, original);
  }
  settle_duplicates(original);
}

void Loop::settle_duplicates(const Trial& original) {
  if (study_.is_shared() && !original.finished()) return;  // whoever runs it next ends them
  auto duplicates = waiting_.extract(original.number);
  if (duplicates.empty()) return;
  for (Trial& duplicate : duplicates.mapped()) settle(copied(std::move(duplicate), original));
}

Trial Loop::copied(Trial duplicate, const Trial& original) {
  duplicate.state = original.state;
  duplicate.values = original.values;
  duplicate.intermediate = original.intermediate;
  Json system = original.system_attributes;
  for (const char* own : {retries_attribute, lost_runs_attribute}) system.erase(own);
  system.update(duplicate.system_attributes);
  duplicate.system_attributes = std::move(system);
  for (const auto& [key, value] : original.user_attributes.items()) {
    if (key == best_values_attribute) continue;  // many, and of use once
    if (!duplicate.user_attributes.contains(key)) duplicate.user_attributes[key] = value;
  }
  return duplicate;
}

void Loop::hear(Event::Kind kind, const Trial& trial, bool elsewhere) {
  if (options_.listener) options_.listener({kind, trial, study_.best(), tracker_.counts(), total_, elsewhere});
}

RunResult Loop::result() const {
  const bool stopped = options_.stop.stop_requested();
  if (end_ && !(stopped && cut_)) return {end_->first, end_->second, tracker_.counts()};
  const auto reason = stopped ? std::nullopt : met(tracker_.progress(seconds()));  // the deadline
  if (reason) return {RunResult::End::condition, *reason, tracker_.counts()};
  return {RunResult::End::interrupted, "interrupted", tracker_.counts()};
}

RunResult run(const RunOptions& options, Study& study, const Space& space, Sampler& sampler, const StopConditions& conditions,
              const Objective& objective) {
  return Loop(options, study, space, sampler, conditions, objective).run();
}

}  // namespace quasar::search
