#include "quasar/inspect/quantize.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>

#include "quasar/base/digits.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/files/special_files.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/cli/arguments.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/cli/steps.hpp"
#include "quasar/graph/files_of.hpp"
#include "quasar/inspect/inputs.hpp"
#include "quasar/inspect/inspect.hpp"
#include "quasar/job/job.hpp"
#include "quasar/quant/encodings.hpp"
#include "quasar/quant/given_ranges.hpp"
#include "quasar/studies/past_study.hpp"

namespace quasar::cli::commands {
namespace {

class Quantize final : public Command {
 public:
  void define(CLI::App& app) override {
    app.add_option("model", model_,
                   "the float ONNX model, or a configuration file with the key models; with --from-study that of the search, "
                   "where it still is");
    add_output(app, "-o,--output", output_, "the quantized model")->required();
    auto* how = app.add_option_group("how", "one of; with --target alone the target's usual scheme");
    how->add_option("--scheme", scheme_, "a named configuration; see `quasar list schemes`");
    how->add_option("--config", config_, "a file with a configuration, for example best_config.yaml");
    auto* from_study = how->add_option("--from-study", study_, "the output folder of a search, or a study's database");
    how->require_option(0, 1);
    app.add_option("--trial", trial_, "with --from-study: the trial's number [the best one's]")->needs(from_study);
    app.add_option("--study-name", study_name_, "with --from-study: which study, where there are several")->needs(from_study);
    app.add_option("--storage", storage_, "with --from-study: the address of the folder's study, where that is on a server")
        ->needs(from_study);
    app.add_option(
        "--calib", calibration_,
        std::string("calibration samples (not for DYNAMIC, W4, BF16, FP16; with --from-study those of the search, where they "
                    "still are): ") +
            data_help);
    app.add_flag("--as-is", as_is_, as_is_help);
    app.add_option(
        "--ranges", ranges_,
        "a file with ranges of tensors, used in place of what calibration finds: Quasar's, AIMET's encodings, TensorRT's cache");
    add_output(app, "--export-ranges", exported_,
               "where to write the ranges that were used: as JSON, NAME.encodings for QNN, NAME.cache for TensorRT");
    add_output(app, "--export-errors", errors_,
               "where to write what optimized rounding did to each layer's output error, as JSON");
    app.add_option("--quant-format", format_,
                   "QDQ (pairs around operators, the default) or QOperator (operators on 8-bit codes)");
    app.add_option("--target", target_, "what the model must run on [that of the study or of best_config.yaml, else ort_cpu]");
    app.add_option("--set", settings_, "KEY=VALUE replaces one key of the configuration");
    libraries_.define(app);
    app.add_flag("--json", json_, json_help);
    app.footer("Example: quasar quantize model.onnx -o int8.onnx --scheme U8S8_CHANNEL --calib calib.npz");
  }

  int run() override {
    libraries_.load();
    const auto trial = past_trial();
    if (model_.empty() && !trial) throw Error("model is required: the path of the float ONNX model");
    if (model_.empty()) model_ = trial->model().string();
    check_outputs({{"-o", output_}, {"--export-ranges", exported_}, {"--export-errors", errors_}}, inputs(trial));
    Json words = trial ? trial->words : configuration();
    if (words.is_null()) throw Error(config_ + " is empty, but must be a mapping of keys");
    if (!format_.empty()) words["quant_format"] = format_;
    apply_settings(words, settings_);
    tune::Quantized result = made(words, trial);
    if (const std::string scheme = usual_scheme(trial); !scheme.empty() && words.value("scheme", Json()) == scheme)
      result.plan.notes.insert(result.plan.notes.begin(), "scheme is " + scheme + ": the usual one of target " + target_);
    // Made before anything is written: a mistake leaves no half of the files.
    const std::string ranges = exported_.empty() ? "" : exported(result);
    pieces_ = tune::write_model(result, output_);
    if (!exported_.empty()) write_output(exported_, ranges);
    if (!errors_.empty()) write_output(errors_, tune::errors_by_layer(result.rounding).dump(2) + "\n");
    if (json_) {
      std::cout << described(result).dump(2) << "\n";
    } else {
      tell(result);
    }
    return exit_done;
  }

 private:
  void tell(const tune::Quantized& result) const {
    std::cout << output_ << ": " << result.plan.nodes.size() << " of " << result.plan.nodes.size() + result.plan.skipped.size()
              << " quantizable nodes are quantized\n";
    for (const auto& piece : pieces_)
      std::cout << "  " << (std::filesystem::path(output_).parent_path() / piece.file).string() << ": " << piece.bytes
                << " bytes, " << in_digits(piece.bits, 3) << " bits a weight\n";
    tell_skipped(result.plan.skipped);
    if (!result.rounding.layers.empty())
      std::cout << "  " << tune::summary_of(result.plan.rounding.method, result.rounding) << "\n";
    for (const auto& layer : result.rounding.kept) std::cout << "  keeps nearest codes: " << printable_message(layer) << "\n";
    if (!errors_.empty() && result.rounding.layers.empty())
      std::cout << "  note: --export-errors " << errors_ << " holds nothing: " << why_no_errors(result) << "\n";
    for (const auto& note : result.plan.notes) std::cout << "  note: " << printable_message(note) << "\n";
  }

  Json described(const tune::Quantized& result) const {
    std::vector<std::string> quantized;
    for (const auto& [node, planned] : result.plan.nodes) quantized.push_back(node);
    Json out{{"output", output_}, {"quantized", quantized}, {"in_float", result.plan.skipped}, {"notes", result.plan.notes}};
    if (!pieces_.empty()) out["models"] = tune::to_json(pieces_);
    if (!is_special_file(output_)) out["bytes"] = graph::bytes_on_disk(output_);
    if (!result.rounding.layers.empty())
      out["rounding"] = {{"method", result.plan.rounding.method},
                         {"summary", tune::summary_of(result.plan.rounding.method, result.rounding)},
                         {"keeps_nearest", result.rounding.kept}};
    return out;
  }

  tune::Quantized made(const Json& words, const std::optional<tune::PastTrial>& trial) const {
    Steps steps;
    return tune::quantize({.model = model_,
                           .calibration = calibration_.empty() ? Json() : data_argument(calibration_, as_is_),
                           .words = words,
                           .target = target_,
                           .ranges = ranges_.empty() ? Json() : given_ranges(),
                           .trial = trial,
                           .progress = steps.progress()});
  }

  // In the format that the file's ending names.
  std::string exported(const tune::Quantized& result) const {
    if (exported_.ends_with(".cache")) return quant::calibration_cache(result.plan);
    return (exported_.ends_with(".encodings") ? quant::encodings_json(result.plan, result.graph)
                                              : quant::ranges_json(result.plan, result.config))
               .dump(2) +
           "\n";
  }

  Json given_ranges() const {
    const std::string text = read_file(ranges_);
    return quant::is_calibration_cache(text) ? Json(text) : parse_json(text, ranges_);
  }

  OverwriteGuard inputs(const std::optional<tune::PastTrial>& trial) const {
    OverwriteGuard files;
    tune::reads_model(files, model_);
    tune::writes_pieces(files, model_, output_, "-o");
    files.reads(config_, "the configuration");
    files.reads(ranges_, "the ranges that --ranges gives");
    tune::reads_study(files, study_);
    if (!calibration_.empty()) {
      tune::reads_samples(files, data_argument(calibration_, as_is_), "", "the calibration data");
    } else if (trial) {
      tune::reads_samples_of(files, *trial);
    }
    files.writes(output_ + ".data", "-o");  // with external data
    return files;
  }

  // One line for each reason.
  static void tell_skipped(const std::map<std::string, std::string>& skipped) {
    constexpr size_t most = 4;
    std::map<std::string, std::vector<std::string>> nodes;
    for (const auto& [node, why] : skipped) nodes[why].push_back(node);
    bool all = true;
    for (auto& [why, names] : nodes) {
      const size_t more = names.size() > most ? names.size() - most : 0;
      names.resize(names.size() - more);
      all = all && more == 0;
      std::cout << "  " << printable_message(joined(names)) << (more > 0 ? " and " + std::to_string(more) + " more" : "")
                << (names.size() > 1 ? " stay" : " stays") << " in float: " << printable_message(why) << "\n";
    }
    if (!all) std::cout << "  (`quasar inspect` lists them all)\n";
  }

  static std::string why_no_errors(const tune::Quantized& result) {
    return !result.config.rounding.optimizes() ? "the configuration gives no algorithms that optimize rounding"
                                               : "no layer's rounding was optimized";
  }

  Json configuration() const {
    if (!config_.empty()) return tune::read_words(config_);
    if (!scheme_.empty()) return {{"scheme", scheme_}};
    if (!target_.empty()) return {{"scheme", usual_scheme(std::nullopt)}};
    throw Error(
        "--scheme is required: a named configuration, as `quasar list schemes` shows them; --config FILE, --from-study FOLDER, "
        "and "
        "--target NAME with its usual scheme, do as well");
  }

  // The target's, where nobody said how; "": somebody did.
  std::string usual_scheme(const std::optional<tune::PastTrial>& trial) const {
    return !trial && config_.empty() && scheme_.empty() ? tune::usual_scheme(target_) : "";
  }

  std::optional<tune::PastTrial> past_trial() const {
    if (study_.empty()) return std::nullopt;
    if (trial_ && *trial_ < 0) throw Error("--trial is " + std::to_string(*trial_) + ", but trials are counted from 0");
    return tune::past_trial({study_, storage_}, study_name_, trial_);
  }

  bool as_is_ = false, json_ = false;
  std::string model_, output_, scheme_, config_, study_, study_name_, storage_, calibration_, ranges_, exported_, errors_,
      format_, target_;
  std::optional<int64_t> trial_;
  std::vector<std::string> settings_;
  OperatorLibraries libraries_;
  std::vector<tune::PieceFacts> pieces_;  // of a pipeline
};

}  // namespace

Entry<Command> quantize() {
  return {"Quantizes a model with one configuration, without a search.", make_as<Quantize, Command>};
}

}  // namespace quasar::cli::commands
