#include "quasar/tune/search.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iomanip>
#include <iostream>

#include "quasar/base/file_lock.hpp"
#include "quasar/base/version.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/cli/console.hpp"
#include "quasar/cli/job_arguments.hpp"
#include "quasar/cli/signals.hpp"
#include "quasar/cli/steps.hpp"
#include "quasar/cli/worker_run.hpp"
#include "quasar/report/recorded_search.hpp"
#include "quasar/report/result.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/search/storage.hpp"
#include "quasar/studies/continuation.hpp"
#include "quasar/worker/watch.hpp"

namespace quasar::cli::commands {
namespace {

namespace fs = std::filesystem;

constexpr const char* log_name = "auto_search.log";

class Search final : public Command {
 public:
  void define(CLI::App& app) override {
    arguments_.define(app);
    app.add_flag("--resume", resume_, "continue the study in the output folder");
    app.add_flag("--dry-run", dry_run_, "check everything, say what would be done, and stop");
    app.add_flag("--quiet", quiet_, "only warnings and the result");
    app.footer("Example: quasar search --model model.onnx --calib calib.npz --eval eval.npz --preset cpu_int8_search");
  }

  bool results_are_files() const override { return !dry_run_; }

  int run() override {
    tune::Job job = arguments_.read([&](Json& words) {
      if (resume_) words["load_study_if_exists"] = true;
    });
    if (rank() > 0) {
      if (dry_run_) return exit_done;
      require_shared(job);
      return run_worker(job, {.quiet = true, .launch = launch()});
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
    const tune::LaunchLead lead(job, launch());
    try {
      return search_anew(job);
    } catch (const std::exception&) {
      lead.let_others_see(stop_requested());
      throw;
    }
  }

 private:
  int search_anew(tune::Job job) {
    report::refuse_to_overwrite(job, arguments_.configuration());
    if (resume_) tune::expect_study(job);
    if (fs::exists(job.output.dir)) return search(job);
    try {
      return search(job);
    } catch (const Error&) {
      remove_if_bare(job.output.dir);
      throw;
    }
  }

  // A folder that was made for a search which could not begin, unless another one has it by now.
  static void remove_if_bare(const fs::path& folder) {
    try {
      const FileLock alone(folder / ".quasar-lock", "output_dir", "leave it");
      std::error_code ignored;
      for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        const std::string name = entry.path().filename().string();
        if (name != log_name && name != ".quasar-lock") return;
      }
      fs::remove_all(folder, ignored);
    } catch (const Error&) {  // it is another's, or gone
    }
  }

  // Of processes that were started together, the first leads and the others work for it.
  static void require_shared(const tune::Job& job) {
    if (search::is_shared_storage(job.study.storage)) return;
    throw Error("this is process " + std::to_string(rank()) +
                " of a search that mpirun or srun started several times: they need a storage that all share, "
                "storage: postgresql://user@host:port/database");
  }

  int search(const tune::Job& job) {
    Console console(quiet_, job);
    std::error_code code;
    fs::create_directories(job.output.dir, code);
    if (code) throw Error("cannot create output_dir '" + job.output.dir.string() + "': " + code.message());
    console.log_to(job.output.dir / log_name);
    console.note("search started: quasar " + version() + ", ONNX Runtime " + runtime::version() + ", " + runtime::cpu_name() +
                 "; model " + job.model.string() + ", objective " + job.aim.goals.objectives.front().metric);
    const auto [found, summary, result] =
        report::search(job, {.log = console.log(),
                             .listener = console.listener(),
                             .stop = stop_requested(),
                             .baseline = [&](const tune::Measured& baseline) { console.compare_with(baseline); },
                             .goes_on = [&](const tune::Job& next) { console.follow(next); },
                             .launch = launch()});
    console.close_progress();
    console.note(report::result_table(found, summary) + "status=" + report::name_of(summary.status) +
                 " reason=" + summary.reason);
    show(found, summary);
    if (!summary.lost.empty()) return exit_input;
    const bool poor = summary.best && summary.best->quality.poor();
    return poor && summary.status == tune::Status::ok ? exit_goal_missed : exit_code(summary.status);
  }

  static void show(const tune::Job& job, const tune::Summary& summary) {
    const search::Counts& counts = summary.counts;
    std::cout << report::result_table(job, summary);
    std::cout << "\n"
              << counts.executed() << " trials executed, " << counts.duplicates << " duplicates, " << counts.pruned << " pruned, "
              << counts.failed << " failed, in " << std::setprecision(3) << summary.seconds << " s\n";
    if (!summary.reason.empty()) std::cout << "ended: " << summary.reason << "\n";
    for (const auto& trial : summary.trials) {
      if (trial.state != search::State::failed) continue;
      std::cout << "first failure: trial " << trial.number << ": "
                << trial.user_attributes.value("error", std::string("another program says so")) << "\n";
      break;
    }
    if (summary.best) {
      const auto& rules = summary.best->broken_rules;
      std::cout << "best: trial " << summary.best->trial.number << ", " << summary.best->quantized_nodes
                << (rules ? " nodes in integers as planned for the NPU, " : " nodes in integer kernels, ")
                << summary.best->float_nodes << " in float";
      if (rules) std::cout << ", " << *rules << " of its rules broken";
      std::cout << "\n";
    }
    std::cout << "results: " << job.output.dir.string() << " (status " << report::name_of(summary.status)
              << ")\nreport: " << (job.output.dir / "report.html").string() << "\n";
  }

  static int exit_code(tune::Status status) {
    switch (status) {
      case tune::Status::ok:
        return exit_done;
      case tune::Status::interrupted:
        return exit_interrupted;
      case tune::Status::goal_missed:
      case tune::Status::no_candidate:
      case tune::Status::strategy_failed:
        return exit_goal_missed;
    }
    return exit_done;
  }

  JobArguments arguments_;
  bool resume_ = false, dry_run_ = false, quiet_ = false;
};

}  // namespace

Entry<Command> search() {
  return {"Searches for the best quantization of a model.", make_as<Search, Command>};
}

}  // namespace quasar::cli::commands
