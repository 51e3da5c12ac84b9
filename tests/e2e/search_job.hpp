// Searches on the bundled digits, as a user runs them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "e2e/program.hpp"

namespace quasar::e2e {
namespace fs = std::filesystem;

// Of answers nobody asks here: per tensor, 8 bits cost a tenth of them.
inline std::string words(const std::string& space, const std::string& more = "") {
  return "model_input: " + digits("digits.onnx") + "\ncalib_data_reader: {reader: npz, path: " + digits("calibration.npz") +
         ", labels: label}\neval_data_reader: {reader: npz, path: " + digits("evaluation.npz") +
         ", labels: label}\nsearch_metric: [L2, top1, agreement]\nleast_agreement: 0\nsearch_algo: Grid\nsearch_space:\n" +
         space + more;
}

const char* const small_space =
    "  activation: [Int8Spec]\n"
    "  activation_params: {symmetric: [true, false], calibration_method: [MinMax, Percentile], only_if: activation}\n"
    "  weight: [Int8Spec]\n"
    "  weight_params: {quant_granularity: [Tensor, Channel], only_if: weight}\n"
    "  PercentileCandidates: [[99.9], [99.99, 99.999]]\n";

struct Search : testing::Test {
  TemporaryFolder folder;
  fs::path config = folder.path() / "search.yaml";
  fs::path out = folder.path() / "out";

  Ran search(const std::string& text, const std::string& arguments = "") {
    write_file(config, text);
    return run("search " + config.string() + " --output-dir " + out.string() + " " + arguments);
  }
  Json result() const { return read_json(out / "result.json"); }
};

}  // namespace quasar::e2e
