#include <CLI/CLI.hpp>

#include "quasar/base/digits.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/cli/job_arguments.hpp"
#include "quasar/cli/worker_run.hpp"
#include "quasar/report/results.hpp"

namespace quasar::cli::commands {
namespace {

class Worker final : public Command {
 public:
  void define(CLI::App& app) override {
    arguments_.define(app);
    app.add_option("--storage", storage_, "postgresql://user@host:port/database, as the search has it");
    app.add_option("--study", study_, "name of the search's study (default AutoSearch)");
    app.add_option("--wait", patience_, "seconds to wait for the search to begin (default 600)");
    app.add_flag("--quiet", quiet_, "only warnings and the result");
    app.add_flag("--json", json_, json_help);
    app.get_option("--output-dir")
        ->description("where this worker's log and the models that it keeps go (default: it writes nothing)");
    app.footer("Example: quasar worker --storage postgresql://me@server/quasar --study NAME search.yaml");
  }

  bool results_are_files() const override { return true; }

  int run() override {
    if (!(patience_ >= 0 && patience_ < 1e9))
      throw Error("--wait is " + in_digits(patience_, 3) + ", but must be a number of seconds from 0 to 1e9");
    tune::Job job = arguments_.read([&](Json& words) {
      if (!storage_.empty()) words["study_storage_db"] = storage_;
      if (!study_.empty()) words["study_name"] = study_;
    });
    if (arguments_.has_output_dir()) report::check_worker_results(job, arguments_.configuration());
    return run_worker(std::move(job),
                      {.patience = patience_, .quiet = quiet_, .json = json_, .keeps_files = arguments_.has_output_dir()});
  }

 private:
  JobArguments arguments_;
  std::string storage_, study_;
  double patience_ = 600;
  bool quiet_ = false, json_ = false;
};

}  // namespace

Entry<Command> worker() {
  return {"Runs trials of a search that another process leads, through a shared storage.", make_as<Worker, Command>};
}

}  // namespace quasar::cli::commands
