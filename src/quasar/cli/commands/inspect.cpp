#include "quasar/inspect/inspect.hpp"

#include <CLI/CLI.hpp>
#include <iomanip>
#include <iostream>
#include <map>

#include "quasar/base/as_written.hpp"
#include "quasar/base/files/special_files.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/cli/arguments.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/cli/steps.hpp"
#include "quasar/inspect/examine.hpp"
#include "quasar/inspect/inputs.hpp"
#include "quasar/job/job.hpp"
#include "quasar/quant/config/config.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "quasar/report/inspection.hpp"
#include "quasar/report/writer.hpp"
#include "quasar/runtime/oldest_release.hpp"

namespace quasar::cli::commands {
namespace {

// With the names of the model as they can be shown in a line.
Json in_lines(const Json& facts) {
  if (facts.is_string()) return printable_name(facts.get<std::string>());
  if (!facts.is_structured()) return facts;
  Json out = facts.is_object() ? Json::object() : Json::array();
  for (const auto& [key, value] : facts.items()) {
    if (facts.is_object()) {
      out[printable_name(key)] = in_lines(value);
    } else {
      out.push_back(in_lines(value));
    }
  }
  return out;
}

class Inspect final : public Command {
 public:
  void define(CLI::App& app) override {
    app.add_option("model", model_, "an ONNX model, float or quantized, or a configuration file with the key models")->required();
    app.add_option("--target", target_, "what the model must run on; see `quasar list targets`");
    auto* scheme =
        app.add_option("--scheme", scheme_, "what would happen under this named configuration; see `quasar list schemes`");
    app.add_option("--config", config_, "the same for a configuration in a file")->excludes(scheme);
    app.add_option("--set", settings_, "KEY=VALUE replaces one key of the configuration");
    auto* samples =
        app.add_option("--calib", calibration_, std::string("samples, to measure what each layer loses: ") + data_help);
    app.add_flag("--latency", latency_, "with --calib: what each operator takes in float and quantized, on this machine")
        ->needs(samples);
    app.add_flag("--as-is", as_is_, as_is_help);
    add_output(app, "--html", page_, "also write all of it to this file, as a page");
    libraries_.define(app);
    app.add_flag("--json", json_, json_help);
    app.footer(
        "A quantized model is checked against the rules of its target, as --target names it; exit code 2 when it violates some. "
        "For ONNX Runtime's CPU it is also looked at for sums that overflow on some processors.\n"
        "Example: quasar inspect model.onnx\nExample: quasar inspect best.onnx --target xint8");
  }

  int run() override {
    libraries_.load();
    check_outputs({{"--html", page_}}, inputs());
    Json words = configuration();
    if (words.is_object() && words.contains("target")) {  // best_config.yaml names the search's
      if (!words["target"].is_string()) throw Error("target is " + words["target"].dump() + ", but must be a name");
      if (target_.empty()) target_ = words["target"].get<std::string>();
      words.erase("target");
    }
    const Json data = calibration_.empty() ? Json() : data_argument(calibration_, as_is_);
    Json facts = tune::inspect({.model = model_, .target = target_, .words = words, .called = called(), .data = data});
    if (!calibration_.empty() && (facts.contains("rules") || facts.contains("processors")))
      throw Error("--calib measures what quantization would cost, but " + model_ + " is quantized already");
    if (!calibration_.empty()) {
      Steps steps;
      facts["examination"] = tune::examine(
          {.model = model_, .data = data, .target = target_, .words = words, .latency = latency_, .progress = steps.progress()});
    }
    if (!page_.empty()) {
      const Json contents = report::inspection_of(facts);
      write_output(page_, report::writers::table().make("html", {{"view", "inspection"}})->write({contents}));
    }
    if (json_) {
      std::cout << facts.dump(2) << "\n";
    } else {
      const Json shown = in_lines(facts);
      print(shown);
      if (shown.contains("examination")) std::cout << report::examination_table(shown["examination"]);
    }
    return facts.contains("rules") && !facts["rules"]["violations"].empty() ? exit_goal_missed : exit_done;
  }

 private:
  OverwriteGuard inputs() const {
    OverwriteGuard files;
    tune::reads_model(files, model_);
    files.reads(config_, "the configuration");
    if (!calibration_.empty()) tune::reads_samples(files, data_argument(calibration_, as_is_), "", "the calibration data");
    return files;
  }

  // null: none is given.
  Json configuration() const {
    Json words = config_.empty() ? Json() : tune::read_words(config_);
    if (!config_.empty() && words.is_null()) throw Error(config_ + " is empty, but must be a mapping of keys");
    if (!scheme_.empty()) words = quant::words_of_scheme(scheme_);
    if (words.is_null() && !settings_.empty()) throw Error("--set changes a configuration; give --scheme or --config with it");
    if (!words.is_null()) apply_settings(words, settings_);
    return words;
  }

  std::string called() const {
    const std::string named = scheme_.empty() ? config_ : scheme_;
    return settings_.empty() ? named : named + " with " + joined(settings_);
  }

  void print(const Json& facts) const {
    std::cout << facts["model"].get<std::string>() << ": " << facts["parameters"] << " parameters, " << facts["bytes"]
              << " bytes, opset " << facts["opset"] << "\n  needs  " << runtime::needs_in_words(facts["needs"]) << "\n";
    if (facts.contains("models")) print_models(facts["models"]);
    for (const auto& input : folded(facts["inputs"])) std::cout << "  input  " << input << "\n";
    for (const auto& output : folded(facts["outputs"])) std::cout << "  output " << output << "\n";
    if (facts.contains("head")) print_head(facts["head"]);
    if (facts.contains("chosen_outputs")) std::cout << "outputs: " << facts["chosen_outputs"]["why"].get<std::string>() << "\n";
    if (facts.contains("note")) std::cout << "\n" << facts["note"].get<std::string>() << "\n";
    if (facts.contains("rules")) print_violations(facts["rules"]);
    if (facts.contains("rules") && !facts.contains("operators")) {
      if (facts.contains("processors")) print_processors(facts["processors"]);
      return;
    }
    const bool finished = facts.contains("processors");
    std::cout << (finished ? "\nOperators:\n" : "\nOperators (after clean-up):\n");
    for (const auto& [type, count] : facts["operators"].items())
      std::cout << "  " << std::left << std::setw(24) << type << count << "\n";
    if (finished) return print_processors(facts["processors"]);
    print_nodes(facts);
  }

  static void print_models(const Json& models) {
    for (const auto& model : models) {
      std::cout << "  model  " << model["name"].get<std::string>() << " (" << model["file"].get<std::string>()
                << "): " << model["operators"] << " operators";
      std::vector<std::string> inputs;
      for (const auto& [input, from] : model["inputs"].items()) inputs.push_back(input + " <- " + from.get<std::string>());
      std::cout << ", " << joined(folded(inputs)) << "\n";
    }
  }

  static void print_head(const Json& head) {
    const std::string why = head["why"].get<std::string>();
    std::cout << (head["name"].is_null() ? "unknown head: " + why + "; a search compares its outputs with the float model's"
                                         : "head: " + head["name"].get<std::string>() + " (" + why + "); a search reports " +
                                               head["metric"].get<std::string>())
              << "\n";
  }

  static void print_processors(const Json& processors) {
    std::cout << "\nScores of this model hold for " << processors["scores_hold_for"].get<std::string>() << ".\n";
    if (!processors.contains("nodes")) return;
    std::cout << "On others sums of 16 bits can overflow:\n";
    for (const auto& node : processors["nodes"]) {
      std::cout << "  " << std::left << std::setw(40) << node["node"].get<std::string>() << " " << node["overflowing"] << " of "
                << node["pairs"] << " pairs of weights";
      if (node["lowest"] > 1) std::cout << ", " << node["lowest"] << " weights of code -128";
      std::cout << "\n";
    }
    std::cout << "Cure: " << processors["cure"].get<std::string>() << ".\n";
  }

  static void print_violations(const Json& rules) {
    const size_t count = rules["violations"].size();
    std::cout << "\n"
              << rules["layers"] << " quantized layers, " << count << " violations of the rules of "
              << rules["target"].get<std::string>() << "\n";
    for (const auto& violation : rules["violations"]) {
      std::cout << "  " << violation["node"].get<std::string>() << "  " << violation["rule"].get<std::string>() << ": "
                << violation["what"].get<std::string>() << "\n";
    }
    for (const auto& node : rules["in_float"])
      std::cout << "  " << node.get<std::string>() << " stays in float: its weights are not quantized\n";
  }

  static std::string fate(const Json& node) {
    const std::string said = node.value(node["quantized"].get<bool>() ? "as" : "why", "");
    return (node["quantized"].get<bool>() ? "quantized" : "float") + (said.empty() ? "" : ": " + said);
  }

  // With a target its answer for every node, otherwise how many nodes each would quantize and where they differ.
  void print_nodes(const Json& facts) const {
    const std::string chosen = facts["target"].get<std::string>();
    std::cout << "\nWhat " << chosen << " would do (scheme " << facts["schemes"][chosen].get<std::string>() << "):\n";
    for (const auto& node : facts["nodes"]) {
      std::cout << "  " << std::left << std::setw(18) << node["type"].get<std::string>() << " " << std::setw(39)
                << node["name"].get<std::string>() << " " << fate(node) << "\n";
    }
    if (!facts["folded"].empty()) std::cout << "\nNodes that clean-up folded:\n";
    for (const auto& node : facts["folded"]) {
      std::cout << "  " << std::left << std::setw(18) << node["type"].get<std::string>() << " " << std::setw(39)
                << node["name"].get<std::string>() << " " << node["what"].get<std::string>() << "\n";
    }
    if (!target_.empty() || facts["schemes"].size() == 1) return;
    std::cout << "\nTargets:\n";
    for (const auto& [name, scheme] : facts["schemes"].items()) {
      size_t quantized = 0;
      std::map<std::string, size_t> reasons;
      for (const auto& node : facts["nodes"]) {
        const Json& said = node["targets"][name];
        if (said["quantized"].get<bool>()) {
          quantized++;
        } else {
          reasons[node["type"].get<std::string>() + ": " + said["why"].get<std::string>()]++;
        }
      }
      std::cout << "  " << std::left << std::setw(10) << name << " " << quantized << " of " << facts["nodes"].size()
                << " nodes quantized (scheme " << scheme.get<std::string>() << ")\n";
      for (const auto& [reason, count] : reasons) std::cout << "             " << count << " × " << reason << "\n";
    }
  }

  std::string model_, target_, scheme_, config_, calibration_, page_;
  bool as_is_ = false, latency_ = false;
  std::vector<std::string> settings_;
  bool json_ = false;
  OperatorLibraries libraries_;
};

}  // namespace

Entry<Command> inspect() {
  return {"Shows a model's operators, and what can be quantized and why not.", make_as<Inspect, Command>};
}

}  // namespace quasar::cli::commands
