#include "quasar/tune/search.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/system/signals.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/cli/job_arguments.hpp"
#include "quasar/cli/search_run.hpp"
#include "quasar/cli/steps.hpp"
#include "quasar/cli/worker_run.hpp"
#include "quasar/report/recorded_search.hpp"
#include "quasar/studies/continuation.hpp"
#include "quasar/worker/launch.hpp"
#include "quasar/worker/watch.hpp"

namespace quasar::cli::commands {
namespace {

class Search final : public Command {
 public:
  void define(CLI::App& app) override {
    arguments_.define(app);
    app.add_flag("--resume", resume_, "continue the study in the output folder");
    app.add_flag("--dry-run", dry_run_, "check everything, say what would be done, and stop");
    app.add_flag("--quiet", quiet_, "only warnings and the result");
    app.add_flag("--json", json_, json_help);
    app.footer("Example: quasar search --model model.onnx --calib calib.npz --eval eval.npz --preset cpu_int8_search");
  }

  bool results_are_files() const override { return !dry_run_; }

  int run() override {
    tune::Job job = arguments_.read([&](Json& words) {
      if (resume_) words["load_study_if_exists"] = true;
    });
    if (tune::rank() > 0) {
      if (dry_run_) return exit_done;
      tune::require_shared(job.study);
      return run_worker(job, {.quiet = true, .launch = tune::launch()}).code;
    }
    if (dry_run_) {
      report::refuse_to_overwrite(job, arguments_.configuration());
      if (resume_) tune::expect_study(job);
      const Json facts = [&] {
        Steps steps;
        return tune::dry_run(job, quiet_ ? Progress() : steps.progress());
      }();
      std::cout << facts.dump(2) << "\n";
      return exit_done;
    }
    catch_signals();
    const tune::LaunchLead lead = [&] {
      const CancelScope scope(stop_requested());
      return tune::LaunchLead(job.study, tune::launch());
    }();
    try {
      return run_search(job, {.quiet = quiet_, .resume = resume_, .json = json_, .configuration = arguments_.configuration()});
    } catch (const std::exception&) {
      lead.let_others_see(stop_requested());
      throw;
    }
  }

 private:
  JobArguments arguments_;
  bool resume_ = false, dry_run_ = false, quiet_ = false, json_ = false;
};

}  // namespace

Entry<Command> search() {
  return {"Searches for the best quantization of a model.", make_as<Search, Command>};
}

}  // namespace quasar::cli::commands
