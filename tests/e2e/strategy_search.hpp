// A search of the demo model by one tuning strategy, for tests of strategies.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "e2e/program.hpp"

namespace quasar::e2e {

struct Strategies : testing::Test {
  TemporaryFolder folder;
  std::string place;  // of the results; "": a folder for each strategy

  Ran search(const std::string& name, const std::string& more, const std::string& arguments = "") {
    const std::filesystem::path config = folder.path() / (name + ".yaml");
    write_file(config,
               "model_input: " + digits("digits.onnx") + "\ncalib_data_reader: {reader: npz, path: " + digits("calibration.npz") +
                   ", labels: label, limit: 60}\neval_data_reader: {reader: npz, path: " + digits("evaluation.npz") +
                   ", labels: label, limit: 200}\nsearch_metric: L2\nleast_agreement: 0\nspeed_gate: off\nstrategy: " + name +
                   "\n" + more);
    return run("search " + config.string() + " --output-dir " + out(name).string() + " " + arguments);
  }
  std::filesystem::path out(const std::string& name) const { return folder.path() / (place.empty() ? name : place); }
  Json result(const std::string& name) const { return read_json(out(name) / "result.json"); }
};

inline std::string goal(const std::string& loss) {
  return "accuracy_criterion: {criterion: absolute, tolerable_loss: " + loss + "}\n";
}

}  // namespace quasar::e2e
