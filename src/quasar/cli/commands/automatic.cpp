#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <optional>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/system/signals.hpp"
#include "quasar/cli/arguments.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/cli/search_run.hpp"
#include "quasar/inspect/first_search.hpp"
#include "quasar/job/preset.hpp"
#include "quasar/report/recorded_search.hpp"
#include "quasar/runtime/custom_operators.hpp"
#include "quasar/strategy/parse_job.hpp"

namespace quasar::cli::commands {
namespace {

namespace fs = std::filesystem;

class Automatic final : public Command {
 public:
  void define(CLI::App& app) override {
    app.add_option("model", model_, "the float ONNX model")->required();
    app.add_option("data", data_, std::string("samples: a folder of pictures, ") + data_help)->required();
    app.add_option("--labels", labels_,
                   "the array of labels in a .npz file, or the CSV or COCO file of a folder of pictures [found by itself]");
    app.add_option("--metric", metric_, "what of the float model may be lost little of [top1 with labels, else cos]");
    app.add_option("--loss", loss_, "how much of it: a share of the float model's, of cos in its unit [0.01, or three answers]");
    app.add_option("--target", target_, "what the model must run on; see `quasar list targets` [ort_cpu]");
    app.add_option("--time", time_, "how long it may take: 90s, 5m, 1h [5m]");
    app.add_flag("--as-is", as_is_, as_is_help);
    app.add_option("--output-dir", output_dir_, "where results and search.yaml go [quasar_out]");
    app.add_option("--set", settings_, "KEY=VALUE replaces one key of what is taken");
    app.add_flag("--dry-run", dry_run_, "say what is taken, print search.yaml, and stop");
    app.add_flag("--quiet", quiet_, "only warnings and the result");
    libraries_.define(app);
    app.add_flag("--json", json_, json_help);
    app.footer("Example: quasar auto model.onnx photos --time 2m");
  }

  bool results_are_files() const override { return !dry_run_; }

  int run() override {
    libraries_.load();
    tune::FirstSearch first = tune::first_search({.model = fs::absolute(model_),
                                                  .data = data_argument(data_, as_is_),
                                                  .base = fs::current_path(),
                                                  .set_data = settings_of_data(),
                                                  .labels = labels_,
                                                  .metric = metric_,
                                                  .target = target_,
                                                  .loss = loss_,
                                                  .seconds = tune::seconds_of(time_),
                                                  .output_dir = fs::absolute(output_dir_)});
    if (const auto libraries = runtime::custom_operator_libraries(); !libraries.empty())
      first.words["custom_op_library"] = libraries;
    apply_settings(first.words, settings_);
    for (const auto& setting : settings_) first.lines.push_back("set: " + setting + ", instead of what stands above (--set)");
    const std::string file = tune::file_of(first);
    for (const auto& line : first.lines) {
      if (!quiet_ && !dry_run_) std::cerr << line << "\n";
    }
    tune::Job job = tune::parse_job(tune::with_preset(first.words), fs::current_path());
    if (dry_run_) {
      std::cout << (json_ ? Json{{"lines", first.lines}, {"configuration", first.words}}.dump(2) + "\n" : file);
      return exit_done;
    }
    catch_signals();
    const fs::path written = job.output.dir / "search.yaml";  // by this command, where it was here before
    if (fs::exists(written))
      report::refuse_to_overwrite(job, "", "`quasar search " + written.string() + " --resume`");
    else
      report::refuse_to_overwrite(job, "");
    fs::create_directories(job.output.dir);
    write_file(written, file);
    return run_search(job, {.quiet = quiet_, .json = json_});
  }

 private:
  // Of --set data_reader.KEY=VALUE, which may say what makes the data readable.
  std::function<void(Json&)> settings_of_data() const {
    std::vector<std::string> wanted;
    for (const auto& setting : settings_) {
      if (setting.starts_with("data_reader.")) wanted.push_back(setting);
    }
    if (wanted.empty()) return {};
    return [wanted](Json& data) {
      Json words{{"data_reader", data}};
      apply_settings(words, wanted);
      data = words["data_reader"];
    };
  }

  std::string model_, data_, labels_, metric_, target_, time_ = "5m", output_dir_ = "quasar_out";
  std::optional<double> loss_;
  std::vector<std::string> settings_;
  bool as_is_ = false, dry_run_ = false, quiet_ = false, json_ = false;
  OperatorLibraries libraries_;
};

}  // namespace

Entry<Command> automatic() {
  return {.help = "Searches without a configuration: looks at model and samples, says what it takes, and goes on.",
          .make = make_as<Automatic, Command>,
          .aliases = {"auto"}};
}

}  // namespace quasar::cli::commands
