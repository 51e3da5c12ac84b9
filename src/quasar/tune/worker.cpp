#include "quasar/tune/worker.hpp"

#include "quasar/base/cancellation.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/tune/search_parts.hpp"
#include "quasar/tune/search_to_join.hpp"
#include "quasar/tune/warm_start.hpp"

namespace quasar::tune {
namespace {

void count_mine(Shift& shift, const search::Event& event) {
  if (event.elsewhere || event.kind != search::Event::Kind::finished || !event.trial.finished()) return;
  ++(event.trial.is_duplicate() ? shift.duplicates : shift.executed);
  if (event.trial.state == search::State::failed && !event.trial.is_duplicate()) ++shift.failed;
}

void carry_out(Shift& shift, const Job& asked, const Monitor& monitor, double patience) {
  const auto begin = Deadline::Clock::now();
  Stopwatch phase;
  const auto storage = search::open_storage(storage_url(asked));
  storage->tell_to(monitor.log);
  const SearchToJoin awaited(asked, *storage, monitor.launch);
  const Job before = awaited.guess();
  Setting setting = prepare(before);
  Variants variants = variants_of(before, setting, monitor.log);
  const eval::Evaluator evaluator = evaluator_of(before, setting);
  variants.observe();
  shift.prepare_s = phase.seconds();

  const auto [job, ended] = awaited.wait(patience, monitor.log);
  phase = {};
  if (ended) {
    shift.reason = "the search has ended: " + *ended;
    return;
  }
  if (job.predecessor != before.predecessor) setting.earlier = earlier_trials(job);
  search::Study study = join_study(job, *storage, {evaluator, setting.samples});
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
  const Stopwatch total;
  Shift shift;
  const CancelScope scope(monitor.stop);
  carry_out(shift, asked, monitor, patience);
  shift.seconds = total.seconds();
  return shift;
}

}  // namespace quasar::tune
