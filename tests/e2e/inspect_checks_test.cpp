// What `quasar inspect --target` and `quasar quantize` say of a target's rules.
#include <gtest/gtest.h>

#include "e2e/program.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/graph/load.hpp"

namespace quasar::e2e {
namespace {

// x [1, 4, 8, 8] -> Conv -> Abs -> a function -> Conv -> y
graph::Model around_a_function(const std::string& type) {
  graph::Model model;
  model.opsets[""] = 17;
  model.inputs = {{"x", DataType::float32, Shape{1, 4, 8, 8}}};
  model.outputs = {{"y", DataType::float32, Shape{1, 4, 6, 6}}};
  Rng rng(1);
  for (const char* name : {"v", "w"}) {
    std::vector<float> values(64);
    for (auto& value : values) value = static_cast<float>(rng.normal());
    model.initializers[name] = Tensor::of(Shape{4, 4, 2, 2}, values);
  }
  const auto add = [&](const char* name, const std::string& op, std::vector<std::string> inputs, const char* output) {
    model.nodes.push_back({.name = name, .op_type = op, .domain = "", .inputs = std::move(inputs), .outputs = {output}});
  };
  add("first", "Conv", {"x", "v"}, "a");
  add("size", "Abs", {"a"}, "b");
  add("function", type, {"b"}, "c");
  add("second", "Conv", {"c", "w"}, "y");
  return model;
}

TEST(InspectChecks, ModelsForOpenVino) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "q.onnx").string(), demo = digits("digits.onnx");
  const auto checked = [&](const std::string& how) {
    const Ran made = run("quantize " + demo + " -o " + path + how + " --calib " + digits("calibration.npz"));
    EXPECT_EQ(made.code, 0) << made.err;
    return run("inspect --json " + path + " --target openvino");
  };
  const Ran own = checked(" --scheme U8S8_CHANNEL --target openvino");
  EXPECT_EQ(own.code, 0) << own.out;
  const Ran other = checked(" --scheme U8S8_CHANNEL --set saturation=unsigned");
  EXPECT_EQ(other.code, 2) << other.out;
  const Json rules = parse_json(other.out, "stdout")["rules"];
  EXPECT_EQ(rules["target"], "openvino");
  EXPECT_EQ(rules["violations"][0]["rule"], "weights");
}

// As ONNX Runtime here says. Who names no target asks for no rules.
TEST(InspectChecks, ModelsForOnnxRuntime) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "q.onnx").string();
  const auto made = [&](const std::string& how) {
    const Ran ran = run("quantize " + digits("digits.onnx") + " -o " + path + how + " --calib " + digits("calibration.npz"));
    EXPECT_EQ(ran.code, 0) << ran.err;
  };
  const auto rules = [&](const char* target, int code) {
    const Ran ran = run("inspect --json " + path + " --target " + target);
    EXPECT_EQ(ran.code, code) << ran.out;
    return parse_json(ran.out, "stdout")["rules"];
  };
  for (const char* target : {"ort_cpu", "ort_arm64"}) {
    for (const char* scheme : {"U8S8_CHANNEL", "A8W8", "DYNAMIC", "W8"}) {
      made(std::string(" --target ") + target + " --scheme " + scheme);
      EXPECT_EQ(rules(target, 0)["violations"], Json::array()) << target << " " << scheme;
    }
    made(std::string(" --scheme A16W8 --target ") + target);
    EXPECT_EQ(rules(target, 2)["violations"][0]["rule"], "types");
    EXPECT_EQ(run("inspect " + path).code, 0);
    made(" --scheme A8W8 --target generic");  // its pairs reach beyond the bounds of Clip, and none stands before it
    const Json broken = rules(target, 2);
    EXPECT_EQ(broken["target"], target);
    EXPECT_EQ(broken["violations"].size(), 15U);
    EXPECT_EQ(broken["violations"][0]["node"], "stem/conv");
    EXPECT_EQ(broken["violations"][0]["rule"], "pairs");
  }
  const Ran cuda = run("inspect " + path + " --target ort_cuda");
  EXPECT_EQ(cuda.code, 0) << cuda.err;
  EXPECT_NE(cuda.out.find("CUDA provider runs nothing of a quantized model in integers"), std::string::npos) << cuda.out;
}

TEST(InspectChecks, ModelsForQualcomm) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "q.onnx").string(), demo = digits("digits.onnx");
  const auto made = [&](const std::string& how) {
    return run("quantize " + demo + " -o " + path + how + " --calib " + digits("calibration.npz"));
  };
  const auto checked = [&] { return run("inspect --json " + path + " --target qnn_htp"); };
  const Ran open = made(" --scheme w8a16 --target qnn_htp");
  EXPECT_EQ(open.code, 1);
  EXPECT_NE(open.err.find("FixShapes: \"image:[1,1,8,8]\""), std::string::npos) << open.err;
  const Ran signed_values = made(" --scheme A8W8 --target qnn_htp");
  EXPECT_NE(signed_values.err.find("the schemes w8a16"), std::string::npos) << signed_values.err;
  const std::string fixed = " --set FixShapes=image:[1,1,8,8]";
  for (const char* scheme : {"w8a8", "w8a16"}) {
    EXPECT_EQ(made(std::string(" --target qnn_htp --scheme ") + scheme + fixed).code, 0);
    EXPECT_EQ(checked().code, 0) << checked().out;
  }
  EXPECT_EQ(made(" --scheme w8a16 --target generic").code, 0);
  const Ran other = checked();
  EXPECT_EQ(other.code, 2) << other.out;
  EXPECT_EQ(parse_json(other.out, "stdout")["rules"]["violations"][0]["rule"], "shapes");
}

// The pairs around it are those of the convolutions, which read and write codes only.
TEST(InspectChecks, AFunctionInFloatBetweenIntegerKernelsIsNoFault) {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  graph::save(around_a_function("Tanh"), path("m.onnx"));
  for (const char* target : {"ort_cpu", "ort_arm64"}) {
    const std::string made = "quantize " + path("m.onnx") + " -o " + path("q.onnx") + " --calib random --scheme U8S8_CHANNEL";
    ASSERT_EQ(run(made + " --target " + target).code, 0);
    const Ran checked = run("inspect " + path("q.onnx") + " --target " + target);
    EXPECT_EQ(checked.code, 0) << checked.out;
  }
}

TEST(InspectChecks, QuantizeTakesTheUsualSchemeOfATarget) {
  const TemporaryFolder folder;
  const std::string made = "quantize " + digits("digits.onnx") + " -o " + (folder.path() / "q.onnx").string() + " --calib " +
                           digits("calibration.npz");
  const Ran usual = run(made + " --target openvino");
  EXPECT_EQ(usual.code, 0) << usual.err;
  EXPECT_NE(usual.out.find("note: scheme is u8s8_channel: the usual one of target openvino"), std::string::npos) << usual.out;
  const Ran none = run(made);
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("--scheme is required"), std::string::npos) << none.err;
}

// A search sees it in the simulator; who quantizes once hears it here.
TEST(InspectChecks, QuantizeSaysWhatTheCheckerWould) {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  const auto quantized = [&](const char* function) {
    graph::save(around_a_function(function), path("m.onnx"));
    const Ran ran =
        run("quantize " + path("m.onnx") + " -o " + path("q.onnx") + " --calib random --scheme w8a16 --target qnn_htp");
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  };
  const std::string note = "note: rule float of target qnn_htp could not be kept at function: it computes in float";
  EXPECT_NE(quantized("Exp").find(note), std::string::npos) << quantized("Exp");
  EXPECT_EQ(quantized("Sigmoid").find("could not be kept"), std::string::npos) << quantized("Sigmoid");
}

}  // namespace
}  // namespace quasar::e2e
