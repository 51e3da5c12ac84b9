#include "quasar/tune/search.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "quasar/base/version.hpp"
#include "quasar/cli/arguments.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/cli/console.hpp"
#include "quasar/cli/signals.hpp"
#include "quasar/report/result.hpp"
#include "quasar/report/search.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/tune/preset.hpp"

namespace quasar::cli::commands {
namespace {

namespace fs = std::filesystem;

constexpr const char* log_name = "auto_search.log";

class Search final : public Command {
 public:
  void define(CLI::App& app) override {
    app.add_option("config", config_, "a .yaml or .json file; command-line options win over it");
    app.add_option("--model", model_, "the float ONNX model");
    app.add_option("--calib", calibration_, std::string("calibration samples: ") + data_help);
    app.add_option("--eval", evaluation_, "evaluation samples, likewise");
    app.add_option("--holdout", holdout_, "hold-out samples, likewise");
    app.add_option("--preset", preset_, "a named search; see `quasar list presets`");
    app.add_option("--set", settings_, "KEY=VALUE replaces one key, for example n_trials=50 or search_space.exclude='[conv1]'");
    app.add_option("--output-dir", output_dir_, "where results go (default ./quasar_out)");
    app.add_flag("--resume", resume_, "continue the study in the output folder");
    app.add_flag("--dry-run", dry_run_, "check everything, say what would be done, and stop");
    app.add_flag("--quiet", quiet_, "only warnings and the result");
    app.footer("Example: quasar search --model model.onnx --calib calib.npz --eval eval.npz --preset cpu_int8_search");
  }

  int run() override {
    const tune::Job job = read_job();
    report::refuse_to_overwrite(job);
    if (dry_run_) {
      std::cout << tune::dry_run(job).dump(2) << "\n";
      return exit_done;
    }
    catch_signals();
    if (fs::exists(job.output_dir)) return search(job);
    try {
      return search(job);
    } catch (const Error&) {
      remove_if_bare(job.output_dir);
      throw;
    }
  }

 private:
  // A folder that was made for a search which could not begin.
  static void remove_if_bare(const fs::path& folder) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      const std::string name = entry.path().filename().string();
      if (name != log_name && name != ".quasar-lock") return;
    }
    fs::remove_all(folder, ignored);
  }

  int search(const tune::Job& job) {
    Console console(quiet_, job.goals.objectives.front().metric);
    std::error_code code;
    fs::create_directories(job.output_dir, code);
    if (code) throw Error("cannot create output_dir '" + job.output_dir.string() + "': " + code.message());
    console.log_to(job.output_dir / log_name);
    console.note("search started: quasar " + version() + ", ONNX Runtime " + runtime::version() + ", " + runtime::cpu_name() +
                 "; model " + job.model.string() + ", objective " + job.goals.objectives.front().metric);
    if (resume_ && !fs::exists(job.output_dir / job.storage) && job.storage.find("://") == std::string::npos)
      console.log()(Level::warning, "there is no study in " + job.output_dir.string() + " to resume: a new one begins");
    const auto [summary, result] =
        report::search(job, {.log = console.log(), .listener = console.listener(), .stop = stop_requested()});
    console.close_progress();
    console.note(report::result_table(job, summary) + "status=" + report::name_of(summary.status) + " reason=" + summary.reason);
    show(job, summary);
    return exit_code(summary.status);
  }

  tune::Job read_job() const {
    Json words = config_.empty() ? Json::object() : tune::read_words(config_);
    if (words.is_null()) throw Error(config_ + " is empty, but must be a mapping of keys");
    if (!words.is_object()) throw Error(config_ + ": a configuration must be a mapping, not " + words.dump());
    words = tune::canonical_keys(words);
    if (!model_.empty()) words["model_input"] = fs::absolute(model_).string();
    if (!calibration_.empty()) words["calib_data_reader"] = data_argument(calibration_);
    if (!evaluation_.empty()) words["eval_data_reader"] = data_argument(evaluation_);
    if (!holdout_.empty()) words["holdout_data_reader"] = data_argument(holdout_);
    if (!preset_.empty()) words["preset"] = preset_;
    if (!output_dir_.empty()) words["output_dir"] = fs::absolute(output_dir_).string();
    if (resume_) words["load_study_if_exists"] = true;
    words = tune::with_preset(words);  // so that --set reaches into what the preset says
    apply_settings(words, settings_);
    return tune::parse_job(words, config_.empty() ? fs::current_path() : fs::absolute(config_).parent_path());
  }

  static void show(const tune::Job& job, const tune::Summary& summary) {
    const search::Counts& counts = summary.counts;
    std::cout << report::result_table(job, summary);
    std::cout << "\n"
              << counts.executed() << " trials executed, " << counts.duplicates << " duplicates, " << counts.pruned << " pruned, "
              << counts.failed << " failed, " << summary.seconds << " s; " << summary.reason << "\n";
    for (const auto& trial : summary.trials) {
      if (trial.state != search::State::failed) continue;
      std::cout << "first failure: trial " << trial.number << ": " << trial.user_attributes.value("error", std::string()) << "\n";
      break;
    }
    if (summary.best) {
      std::cout << "best: trial " << summary.best->trial.number << ", " << summary.best->quantized_nodes
                << " nodes in integer kernels, " << summary.best->float_nodes << " in float\n";
    }
    std::cout << "results: " << job.output_dir.string() << " (status " << report::name_of(summary.status) << "); look at "
              << (job.output_dir / "report.html").string() << "\n";
  }

  static int exit_code(tune::Status status) {
    switch (status) {
      case tune::Status::ok:
        return exit_done;
      case tune::Status::interrupted:
        return exit_interrupted;
      case tune::Status::goal_missed:
      case tune::Status::no_candidate:
        return exit_goal_missed;
    }
    return exit_done;
  }

  std::string config_, model_, calibration_, evaluation_, holdout_, preset_, output_dir_;
  std::vector<std::string> settings_;
  bool resume_ = false, dry_run_ = false, quiet_ = false;
};

}  // namespace

Entry<Command> search() {
  return {"Searches for the best quantization of a model.", make_as<Search, Command>};
}

}  // namespace quasar::cli::commands
