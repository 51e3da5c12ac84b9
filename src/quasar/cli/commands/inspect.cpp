#include "quasar/tune/inspect.hpp"

#include <CLI/CLI.hpp>
#include <iomanip>
#include <iostream>

#include "quasar/base/file.hpp"
#include "quasar/cli/arguments.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/report/inspection.hpp"
#include "quasar/report/writer.hpp"
#include "quasar/tune/examine.hpp"

namespace quasar::cli::commands {
namespace {

class Inspect final : public Command {
 public:
  void define(CLI::App& app) override {
    app.add_option("model", model_, "an ONNX model")->required();
    app.add_option("--target", target_, "what the model must run on")->capture_default_str();
    app.add_option("--calib", calibration_, std::string("samples, to measure what each layer loses: ") + data_help);
    app.add_option("--html", page_, "also write all of it to this file, as a page");
    app.add_flag("--json", json_, "as JSON");
    app.footer("Example: quasar inspect model.onnx");
  }

  int run() override {
    Json facts = tune::inspect(model_, target_);
    if (!calibration_.empty()) facts["examination"] = tune::examine(model_, data_argument(calibration_));
    if (!page_.empty()) {
      const Json contents = report::inspection_of(facts);
      write_file(page_, report::writers::table().make("html", {{"view", "inspection"}})->write({contents}));
    }
    if (json_) {
      std::cout << facts.dump(2) << "\n";
    } else {
      print(facts);
      if (facts.contains("examination")) std::cout << report::examination_table(facts["examination"]);
    }
    return exit_done;
  }

 private:
  static void print(const Json& facts) {
    std::cout << facts["model"].get<std::string>() << ": " << facts["nodes"].size() << " nodes, " << facts["parameters"]
              << " parameters, " << facts["bytes"] << " bytes, opset " << facts["opset"] << "\n";
    for (const auto& input : facts["inputs"]) std::cout << "  input  " << input.get<std::string>() << "\n";
    for (const auto& output : facts["outputs"]) std::cout << "  output " << output.get<std::string>() << "\n";
    std::cout << "\nOperators (after clean-up):\n";
    for (const auto& [type, count] : facts["operators"].items())
      std::cout << "  " << std::left << std::setw(24) << type << count << "\n";
    std::cout << "\nWhat a default configuration would do:\n";
    for (const auto& node : facts["nodes"]) {
      const std::string why = node.value("why", "");
      std::cout << "  " << std::left << std::setw(12) << node["type"].get<std::string>() << std::setw(40)
                << node["name"].get<std::string>() << " "
                << (node["quantized"].get<bool>() ? "quantized" : "float" + (why.empty() ? "" : ": " + why)) << "\n";
    }
  }

  std::string calibration_, page_;
  std::string model_, target_ = "ort_cpu";
  bool json_ = false;
};

}  // namespace

Entry<Command> inspect() {
  return {"Shows a model's operators, and what can be quantized and why not.", make_as<Inspect, Command>};
}

}  // namespace quasar::cli::commands
