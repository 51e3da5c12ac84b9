#include "quasar/worker/worker.hpp"

#include <algorithm>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/search/heartbeat.hpp"
#include "quasar/studies/warm_start.hpp"
#include "quasar/tune/idle_forms.hpp"
#include "quasar/tune/search_parts.hpp"
#include "quasar/tune/speed_gate.hpp"
#include "quasar/worker/preparation.hpp"
#include "quasar/worker/watch.hpp"

namespace quasar::tune {
namespace {

void count_mine(WorkerRun& done, const search::Event& event) {
  if (event.elsewhere || event.kind != search::Event::Kind::finished || !event.trial.finished()) return;
  ++(event.trial.is_duplicate() ? done.duplicates : done.executed);
  if (event.trial.state == search::State::failed && !event.trial.is_duplicate()) ++done.failed;
}

// Seconds of the search, which its leader counts and says when they are over; none are left in the worker's job.
std::optional<double> take_time_limit(Job& job) {
  const auto seconds = time_limit_of(conditions_of(job.limits));
  job.limits.stop.erase("time_limit");
  return seconds;
}

void end_with_search(WorkerRun& done, const std::string& why) {
  done.reason = "the search has ended: " + why;
  done.search_interrupted = why == search::was_interrupted;
}

// What there is to be joined, and the work that would be in vain without it.
struct Occasion {
  search::Storage& storage;
  SearchToJoin& awaited;
  Preparation& preparation;
  Drain& drain;
};

void carry_out(WorkerRun& done, const Occasion& occasion, const Monitor& monitor, double patience) {
  Stopwatch phase;
  const auto& [storage, awaited, preparation, drain] = occasion;
  awaited.tell_what_is_missing(patience, monitor.log);
  const Job before = awaited.guess();
  PreparedJob prepared = prepare(before);
  Variants variants = variants_of(before, prepared, monitor.log);
  const eval::Evaluator evaluator = evaluator_of(before, prepared);
  variants.observe();
  done.prepare_s = phase.seconds();

  if (monitor.launch.empty()) preparation.is_done();  // whoever waits looks by itself
  auto [job, ended, before_us] = awaited.wait(patience, monitor.log);
  job = with_head(job, evaluator);
  preparation.is_done();
  phase = {};
  if (ended) {
    end_with_search(done, *ended);
    if (before_us) done.search_interrupted = false;
    return;
  }
  const auto seconds = take_time_limit(job);
  if (job.study.predecessor != before.study.predecessor) prepared.earlier = earlier_trials(job);
  const auto warning = [&](const std::string& text) { tell(monitor.log, Level::warning, text); };
  search::Study study = join_study(job, storage, {evaluator, prepared.samples, warning});
  leave_out_idle_forms(prepared, variants, monitor.log);
  if (const auto speed = decided_speed(study)) apply(*speed, prepared.spaces);
  const TrialRoom room(job, prepared, variants, evaluator, study);
  const LeaderWatch leader(study, seconds, monitor.stop, monitor.log);
  const CancelScope scope(leader.token());
  Monitor counting = monitor;
  counting.stop = leader.token();
  counting.listener = [&](const search::Event& event) {
    count_mine(done, event);
    if (monitor.listener && !event.elsewhere) monitor.listener(event);
  };
  drain.begin();
  search::Heartbeat::of(study).give_turns_by([&drain] { return drain.turn(); });
  const search::RunResult result = run_strategy(room.context, prepared, study, counting, Deadline::Clock::now()).result;
  done.all = result.counts;
  done.reason = result.reason;
  done.interrupted = result.end == search::RunResult::End::interrupted && !leader.passed();
  done.search_interrupted = leader.passed() || study.leader_message().ended == search::was_interrupted;
  if (leader.passed())
    done.reason = "nobody has led the search for its time_limit of " + Json(*seconds).dump() + " s; continue it with --resume";
  else if (!done.interrupted && LeaderWatch::has_gone(study))
    done.reason += "; the leader of this search has gone: `quasar search --resume` writes its results";
  done.trials_s = phase.seconds();
}

void take_part(WorkerRun& done, const Job& asked, const Monitor& monitor, double patience, Drain& drain) {
  const auto storage = search::open_storage(storage_url(asked.study));
  storage->tell_to(monitor.log);
  SearchToJoin awaited(asked, *storage, {.launch = monitor.launch, .run = monitor.run});
  Preparation preparation(awaited, std::min(asked.study.heartbeat.interval, 1.0), monitor.stop);
  try {
    const CancelScope scope(preparation.token());
    carry_out(done, {*storage, awaited, preparation, drain}, monitor, patience);
  } catch (const Cancelled&) {
    const auto ended = preparation.reason();
    if (!ended) throw;
    end_with_search(done, *ended);
  }
}

}  // namespace

WorkerRun work(const Job& asked, const Monitor& outer_monitor, double patience, const DrainOptions& end) {
  if (!search::is_shared_storage(asked.study.storage))
    throw Error(
        "a worker needs a storage that several processes share, postgresql://user@host:port/database, but study_storage_db "
        "is '" +
        without_password(asked.study.storage) + "'");
  const Stopwatch total;
  WorkerRun done;
  Drain drain(end, outer_monitor.stop);
  Monitor monitor = outer_monitor;
  monitor.stop = drain.token();
  const CancelScope outer(monitor.stop);
  try {
    take_part(done, asked, monitor, patience, drain);
  } catch (const NoSearch&) {
    if (!end.idle) throw;
    done.idle = true;
    done.reason = "there was nothing to do";
  } catch (const Cancelled&) {
    if (drain.reason().empty()) throw;
  }
  if (const std::string why = drain.reason(); !why.empty()) {
    done.interrupted = done.search_interrupted = false;
    done.reason = why;
    done.idle = drain.was_idle();
  }
  done.seconds = total.seconds();
  return done;
}

}  // namespace quasar::tune
