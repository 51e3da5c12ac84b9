// Models with operators of a library of their own.
#include <gtest/gtest.h>

#include "e2e/program.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/graph/load.hpp"
#include "unit/graph/small_models.hpp"

namespace quasar::e2e {
namespace {

namespace fs = std::filesystem;

const std::string library = QUASAR_OPERATOR_LIBRARY;

struct CustomOperators : testing::Test {
  CustomOperators() { graph::save(model(), path("model.onnx")); }

  // Conv, Halve, Conv, Relu.
  static graph::Model model() {
    graph::Model out;
    out.opsets = {{"", 13}, {"my.domain", 1}};
    out.inputs = {graph::tensor_value("x", {1, 3, 8, 8})};
    out.outputs = {graph::tensor_value("y", {1, 4, 8, 8})};
    Rng rng(3);
    for (const auto& [name, inputs] : std::map<std::string, int64_t>{{"v", 3}, {"w", 4}}) {
      std::vector<float> values(static_cast<size_t>(4 * inputs));
      for (auto& value : values) value = static_cast<float>(rng.normal());
      out.initializers[name] = Tensor::of({4, inputs, 1, 1}, values);
    }
    out.nodes = {{"first", "Conv", "", {"x", "v"}, {"a"}},
                 {"halve", "Halve", "my.domain", {"a"}, {"b"}},
                 {"second", "Conv", "", {"b", "w"}, {"c"}},
                 {"relu", "Relu", "", {"c"}, {"y"}}};
    return out;
  }

  std::string path(const std::string& name) const { return (folder.path() / name).string(); }

  TemporaryFolder folder;
};

TEST_F(CustomOperators, AreNamedWhereTheirLibraryIsMissing) {
  const Ran ran = run("quantize " + path("model.onnx") + " -o " + path("q.onnx") + " --scheme A8W8 --calib random");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("'halve' has the operator Halve of the domain 'my.domain'"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("--custom-op-library"), std::string::npos) << ran.err;
}

TEST_F(CustomOperators, RunWhatStandsAroundThemInIntegers) {
  const std::string with = " --custom-op-library " + library;
  const Ran made =
      run("quantize " + path("model.onnx") + " -o " + path("q.onnx") + " --scheme A8W8 --calib random --json" + with);
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(Json::parse(made.out).at("quantized"), Json({"first", "relu", "second"}));
  const Ran scored =
      run("evaluate " + path("q.onnx") + " --reference " + path("model.onnx") + " --data random --metric cos --json" + with);
  ASSERT_EQ(scored.code, 0) << scored.err;
  EXPECT_GT(Json::parse(scored.out).at("metrics").at("cos").at("value"), 0.99);
  EXPECT_EQ(run("inspect " + path("model.onnx") + with).code, 0);
}

TEST_F(CustomOperators, AreSearchedWith) {
  write_file(path("search.yaml"),
             "model_input: model.onnx\ncalib_data_reader: {reader: random, count: 4}\n"
             "eval_data_reader: {reader: random, count: 4, seed: 7}\nsearch_metric: L2\nsearch_algo: Grid\n"
             "custom_op_library: " +
                 library + "\nsearch_space: {activation: [Int8Spec], weight: [Int8Spec]}\n");
  const Ran ran = run("search " + path("search.yaml") + " --output-dir " + path("out"));
  EXPECT_NE(ran.code, 1) << ran.err;
  EXPECT_TRUE(fs::exists(path("out/best.onnx"))) << ran.err;
  const Ran automatic =
      run("auto " + path("model.onnx") + " random --time 20s --output-dir " + path("auto") + " --custom-op-library " + library);
  EXPECT_NE(automatic.code, 1) << automatic.err;
  EXPECT_NE(read_file(path("auto/search.yaml")).find("custom_op_library"), std::string::npos);
}

TEST_F(CustomOperators, LibrariesThatAreNoneAreRefused) {
  const std::string start = "inspect " + path("model.onnx") + " --custom-op-library ";
  const Ran missing = run(start + path("none.so"));
  EXPECT_EQ(missing.code, 1);
  EXPECT_NE(missing.err.find("none.so' does not exist"), std::string::npos) << missing.err;
  const Ran other = run(start + path("model.onnx"));
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("model.onnx' cannot be used"), std::string::npos) << other.err;
}

}  // namespace
}  // namespace quasar::e2e
