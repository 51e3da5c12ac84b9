#include "quasar/cli/worker_run.hpp"

#include <filesystem>
#include <iostream>
#include <optional>

#include "quasar/base/file.hpp"
#include "quasar/base/process.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/base/system/signals.hpp"
#include "quasar/base/version.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/cli/console.hpp"
#include "quasar/report/results.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/worker/launch.hpp"
#include "quasar/worker/worker.hpp"

namespace quasar::cli {
namespace fs = std::filesystem;

namespace {

Json worker_json(const tune::WorkerRun& done) {
  return {{"executed", done.executed}, {"failed", done.failed}, {"duplicates", done.duplicates},
          {"seconds", done.seconds},   {"reason", done.reason}, {"interrupted", done.interrupted || done.search_interrupted}};
}

}  // namespace

void print_worker(const tune::WorkerRun& done, const WorkerRunOptions& options) {
  std::cout << worker_json(done).dump(options.until_idle ? -1 : 2) << std::endl;  // one line for each search
}

namespace {

// Of processes that were started together the leader alone says that it was interrupted: mpirun ends all for the first that
// fails.
int exit_code(const tune::WorkerRun& done) {
  if (done.interrupted) return exit_interrupted;
  return done.search_interrupted && tune::rank() == 0 ? exit_interrupted : exit_done;
}

}  // namespace

WorkerEnd run_worker(tune::Job job, const WorkerRunOptions& options) {
  catch_signals();
  Console console(options.quiet, job.aim, process_name(), true);
  std::optional<TemporaryFolder> scratch;
  if (options.keeps_files) {
    fs::create_directories(job.output.dir);
    console.log_to(job.output.dir / report::worker_log);
  } else {
    scratch.emplace();
    if (job.output.keep_models != "best")
      console.log()(Level::warning, "this worker keeps no models: keep_models needs --output-dir here");
    job = tune::in_scratch(std::move(job), scratch->path());
  }
  console.note("worker started: quasar " + version() + ", ONNX Runtime " + runtime::version() + ", " + process_name() +
               "; study " + job.study.name + " in " + without_password(job.study.storage));
  const tune::WorkerRun done = tune::work(job,
                                          {.log = console.log(),
                                           .listener = console.listener(),
                                           .stop = stop_requested(),
                                           .launch = options.launch,
                                           .run = options.run},
                                          options.patience, {.drain = options.drain, .idle = options.until_idle});
  console.close_progress();
  const WorkerEnd end{.code = exit_code(done), .idle = done.idle, .interrupted = done.interrupted};
  if (options.json) {
    print_worker(done, options);
    return end;
  }
  if (!options.launch.empty()) std::cout << process_name() << ": ";  // others print theirs beside it
  std::cout << done.executed << " trials executed here (" << done.failed << " failed), " << done.duplicates << " duplicates, "
            << done.seconds << " s; " << done.reason << "\n";
  return end;
}

}  // namespace quasar::cli
