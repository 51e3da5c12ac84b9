#include "quasar/tune/worker.hpp"

#include <algorithm>
#include <thread>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/tune/continuation.hpp"
#include "quasar/tune/search_parts.hpp"

namespace quasar::tune {
namespace {

// A search that was continued with other choices goes on in another study of the chain.
Job of_the_search(Job job) {
  const auto studies = search::open_storage(storage_url(job))->studies();
  if (const auto* study = with_choices(studies, job.study_name, choices_of(job))) {
    job.study_name = study->name;
    job.predecessor = study->user_attributes.value(predecessor_attribute, "");
  }
  return job;
}

// The search makes its study when it has prepared itself; workers may be there first.
void wait_for_study(const Job& job, search::Storage& storage, double patience, const Log& log) {
  const Stopwatch watch;
  const auto is_there = [&] {
    return std::ranges::any_of(storage.studies(), [&](const auto& record) {
      return record.name == job.study_name && record.user_attributes.contains(job_attribute);
    });
  };
  for (bool told = false; !is_there(); told = true) {
    const std::string what = "the study '" + job.study_name + "' in " + without_password(job.storage);
    if (watch.seconds() > patience)
      throw Error("there is no search of " + what +
                  " to work for: start `quasar search` with the same storage, or wait longer "
                  "(--wait)");
    if (!told) tell(log, Level::info, "waiting for `quasar search` to begin " + what);
    throw_if_cancelled();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

void count_mine(Shift& shift, const search::Event& event) {
  if (event.elsewhere || event.kind != search::Event::Kind::finished || !event.trial.finished()) return;
  ++(event.trial.is_duplicate() ? shift.duplicates : shift.executed);
  if (event.trial.state == search::State::failed && !event.trial.is_duplicate()) ++shift.failed;
}

void carry_out(Shift& shift, const Job& job, const Monitor& monitor, double patience) {
  const auto begin = Deadline::Clock::now();
  Stopwatch phase;
  const Setting setting = prepare(job);
  Variants variants = variants_of(job, setting, monitor.log);
  const eval::Evaluator evaluator = evaluator_of(job, setting);
  variants.observe();
  shift.prepare_s = phase.seconds();

  const auto storage = search::open_storage(storage_url(job));
  wait_for_study(job, *storage, patience, monitor.log);
  phase = {};
  search::Study study = join_study(job, *storage, {evaluator, setting.samples});
  if (const auto ended = study.ended()) {
    shift.reason = "the search has ended: " + *ended;
    return;
  }
  ScoreBook book;
  Quiet quiet;
  runtime::DeviceRing devices(job.devices);
  const auto racer = setting.strategy->races() ? racer_of(job, study, evaluator) : nullptr;
  const Laboratory lab{
      job,   setting.model, *setting.target, setting.spaces.all, variants, evaluator, book, *setting.samples.evaluation,
      quiet, devices,       racer.get()};
  Monitor counting = monitor;
  counting.listener = [&](const search::Event& event) {
    count_mine(shift, event);
    if (monitor.listener && !event.elsewhere) monitor.listener(event);
  };
  const Finding result = run_strategy(lab, setting, study, counting, begin);
  shift.all = result.counts;
  shift.reason = result.reason;
  shift.interrupted = result.end == search::RunResult::End::interrupted;
  shift.trials_s = phase.seconds();
}

}  // namespace

Shift work(const Job& asked, const Monitor& monitor, double patience) {
  if (!search::is_shared_storage(asked.storage))
    throw Error(
        "a worker needs a storage that several processes share, postgresql://user@host:port/database, but study_storage_db "
        "is '" +
        without_password(asked.storage) + "'");
  const Job job = of_the_search(asked);
  const Stopwatch total;
  Shift shift;
  const CancelScope scope(monitor.stop);
  carry_out(shift, job, monitor, patience);
  shift.seconds = total.seconds();
  return shift;
}

}  // namespace quasar::tune
