// Searches on the bundled digits in the words of the peer's users, for the tests of its numbered failures.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "e2e/program.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::e2e {
namespace fs = std::filesystem;

inline const char* const space =
    "search_space:\n"
    "  activation: [Int8Spec]\n"
    "  activation_params: {symmetric: [true, false], calibration_method: [MinMax, Percentile], only_if: activation}\n"
    "  weight: [Int8Spec]\n"
    "  weight_params: {quant_granularity: [Tensor, Channel], only_if: weight}\n"
    "  PercentileCandidates: [[99.9], [99.99, 99.999]]\n";

inline const char* const fine_tuning =
    "  algorithms: [adaround, adaquant]\n"
    "  adaround_params: {num_iterations: {type: int, low: 1, high: 8}, only_if: {algorithms: adaround}}\n"
    "  adaquant_params: {num_iterations: {type: int, low: 1, high: 8}, only_if: {algorithms: adaquant}}\n";

struct QuarkFailure : testing::Test {
  TemporaryFolder folder;
  fs::path out = folder.path() / "out";

  static std::string data(const std::string& key, const std::string& file) {
    return key + ": {reader: npz, path: " + digits(file) + ", labels: label}\n";
  }
  Ran search(const std::string& words, const std::string& arguments = "") {
    const fs::path config = folder.path() / "search.yaml";
    write_file(config,
               "pruner: none\nleast_agreement: 0\nmodel_input: " + digits("digits.onnx") + "\n" +
                   data("calib_data_reader", "calibration.npz") +
                   (words.find("eval_data_reader") == std::string::npos ? data("eval_data_reader", "evaluation.npz") : "") +
                   words);
    return run("search " + config.string() + " --output-dir " + out.string() + " " + arguments);
  }
  Json result() const { return read_json(out / "result.json"); }
  std::vector<search::Trial> trials(const std::string& study = "AutoSearch") const {
    const auto storage = search::open_storage((out / "auto_search.db").string());
    const auto studies = storage->studies();
    const auto found = std::ranges::find(studies, study, &search::StudyRecord::name);
    if (found == studies.end()) throw Error("no study " + study);
    return storage->trials(found->id);
  }
};

}  // namespace quasar::e2e
