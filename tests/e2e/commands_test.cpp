#include <gtest/gtest.h>

#include <map>

#include "e2e/program.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/graph/load.hpp"

namespace quasar::e2e {
namespace {

// x [2, 6] -> layer -> Relu or another function -> layer -> y [2, 4]
graph::Model two_layers(const std::string& type, const std::string& between = "Relu") {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{"x", DataType::float32, Shape{2, 6}}};
  model.outputs = {{"y", DataType::float32, Shape{2, 4}}};
  Rng rng(1);
  for (const auto& [name, shape] : std::map<std::string, Shape>{{"v", {6, 8}}, {"w", {8, 4}}}) {
    std::vector<float> values(count_of(shape));
    for (auto& value : values) value = static_cast<float>(rng.normal());
    model.initializers[name] = Tensor::of(shape, values);
  }
  const auto add = [&](const char* name, const std::string& op, std::vector<std::string> inputs, const char* output) {
    model.nodes.push_back({.name = name, .op_type = op, .domain = "", .inputs = std::move(inputs), .outputs = {output}});
  };
  add("first", type, {"x", "v"}, "a");
  add("relu", between, {"a"}, "b");
  add("second", type, {"b", "w"}, "y");
  return model;
}

TEST(Commands, HelpHasAnExampleEverywhere) {
  for (const char* command : {"search", "quantize", "evaluate", "inspect", "report", "completion", "list"}) {
    const Ran ran = run(std::string(command) + " --help");
    EXPECT_EQ(ran.code, 0);
    EXPECT_NE(ran.out.find("Example: quasar "), std::string::npos) << ran.out;
  }
}

TEST(Commands, MisspeltCommandGetsTheNearest) {
  const Ran ran = run("serach");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("did you mean 'search'?"), std::string::npos) << ran.err;
  const Ran unlike = run("nonsense");
  EXPECT_EQ(unlike.code, 1);
  const Ran option = run("inspect --target ort_cpu --calibb x.npz model.onnx");
  EXPECT_EQ(option.code, 1);
  EXPECT_NE(option.err.find("did you mean '--calib'?"), std::string::npos) << option.err;
  EXPECT_NE(unlike.err.find("unknown command 'nonsense'; known: auto, completion, "), std::string::npos) << unlike.err;
}

TEST(Commands, OptionsThatRepeatLeaveTheNextArgument) {
  const Ran scores = run("evaluate --metric L2 --metric top1 " + digits("digits.onnx") + " --data " + digits("evaluation.npz"));
  ASSERT_EQ(scores.code, 0) << scores.err;
  EXPECT_NE(scores.out.find("top1"), std::string::npos);
  EXPECT_NE(run("search --set n_jobs=1 nowhere.yaml").err.find("cannot read 'nowhere.yaml'"), std::string::npos);
}

TEST(Commands, AsIsIsForFolders) {
  const std::string file = digits("evaluation.npz"), words = "--as-is is for folders of pictures";
  EXPECT_NE(run("evaluate " + digits("digits.onnx") + " --data " + file + " --as-is").err.find(words), std::string::npos);
  EXPECT_NE(run("search --model " + digits("digits.onnx") + " --calib " + file + " --as-is").err.find(words), std::string::npos);
}

TEST(Commands, ListsEverythingAsJson) {
  for (const char* kind :
       {"keys", "presets", "schemes", "samplers", "strategies", "metrics", "ranges", "readers", "targets", "stop", "storage"}) {
    const Ran ran = run(std::string("list --json ") + kind);
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_GE(parse_json(ran.out, kind).size(), 1U) << kind;
  }
  EXPECT_EQ(run("list metrcs").code, 1);
}

TEST(Commands, InspectSaysWhatWillBeQuantized) {
  const Ran ran = run("inspect --json " + digits("digits.onnx"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json facts = parse_json(ran.out, "stdout");
  EXPECT_GT(facts["operators"]["Conv"], 3);
  EXPECT_EQ(facts["needs"]["onnxruntime"], "1.12");
  for (const auto& node : facts["nodes"]) {
    if (node["type"] != "Conv") continue;
    EXPECT_TRUE(node["quantized"].get<bool>()) << node.dump();
  }
}

// Before the first trial, of which each would fail.
TEST(Commands, SearchComparesFixShapesWithTheFirstSample) {
  const TemporaryFolder folder;
  const auto said = [&](const std::string& keys) {
    const auto path = folder.path() / "job.yaml";
    write_file(path, "preset: qnn_htp_search\nruntime: onnxruntime\nmodel_input: " + digits("digits.onnx") +
                         "\ncalib_data_reader: {reader: npz, path: " + digits("calibration.npz") +
                         "}\neval_data_reader: {reader: npz, path: " + digits("evaluation.npz") + "}\n" + keys + "\n");
    return run("search " + path.string() + " --dry-run --output-dir " + (folder.path() / "out").string());
  };
  const Ran other = said("search_space: {FixShapes: \"image:[2,1,8,8]\"}");
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("FixShapes: \"image:[1,1,8,8]\" fits it"), std::string::npos) << other.err;
  EXPECT_EQ(said("search_space: {FixShapes: \"image:[1,1,8,8]\"}").code, 0);
}

TEST(Commands, EvaluateSaysWhatItRunsIn) {
  const std::string asked = "evaluate --json " + digits("digits.onnx") + " --data " + digits("evaluation.npz");
  EXPECT_EQ(parse_json(run(asked).out, "stdout")["judge"]["library"], "ONNX Runtime");
  const Ran wrong = run(asked + " --runtime openvin");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("did you mean 'openvino'?"), std::string::npos) << wrong.err;
}

// Without --metric a classifier's answers count too; a word says what the numbers mean.
TEST(Commands, EvaluateScoresTheHead) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "q.onnx").string();
  ASSERT_EQ(
      run("quantize " + digits("digits.onnx") + " -o " + path + " --scheme U8S8_CHANNEL --calib " + digits("calibration.npz"))
          .code,
      0);
  const std::string asked = "evaluate " + path + " --reference " + digits("digits.onnx") + " --data " + digits("evaluation.npz");
  const Json facts = parse_json(run(asked + " --json").out, "stdout");
  EXPECT_EQ(facts["head"]["name"], "classes");
  EXPECT_EQ(facts["metrics"]["agreement"]["word"], "good") << facts["metrics"];
  EXPECT_EQ(facts["metrics"]["parts"]["word"], "good") << facts["metrics"];
  const std::string text = run(asked).out;
  const size_t line = text.find("\nagreement");
  ASSERT_NE(line, std::string::npos) << text;
  EXPECT_EQ(text.substr(0, text.find('\n', line + 1)).substr(line).find("good") != std::string::npos, true) << text;
  const Json chosen = parse_json(run(asked + " --metric L2 --json").out, "stdout");
  EXPECT_EQ(chosen["metrics"].size(), 1U) << chosen["metrics"];
  EXPECT_FALSE(chosen.contains("head"));
  EXPECT_NE(run(asked + " --decoder yolov8").err.find("--decoder yolov8 is left out: decoder yolov8 expects"), std::string::npos);
  EXPECT_NE(run(asked + " --decoder yolov8 --metric L2").err.find("none of the metrics counts them"), std::string::npos);
  const Ran alone = run("evaluate " + path + " --data " + digits("evaluation.npz") + " --json");
  EXPECT_NE(alone.err.find("parts, cos, agreement compare it with itself; give the float model as reference (--reference)"),
            std::string::npos)
      << alone.err;
  for (const auto& [name, score] : parse_json(alone.out, "stdout")["metrics"].items())
    EXPECT_FALSE(score.contains("word")) << name;
  const Ran in_float = run("evaluate " + digits("digits.onnx") + " --data " + digits("evaluation.npz"));
  EXPECT_EQ(in_float.err.find("with itself"), std::string::npos) << in_float.err;
}

TEST(Commands, EverySchemeQuantizesTheDemo) {
  const TemporaryFolder folder;
  for (const auto& scheme : parse_json(run("list --json schemes").out, "schemes")) {
    const std::string name = scheme["name"], path = (folder.path() / "q.onnx").string();
    const Ran ran =
        run("quantize " + digits("digits.onnx") + " -o " + path + " --scheme " + name + " --calib " + digits("calibration.npz"));
    if (name.ends_with("disable_last_matmul")) {  // the demo's only product is the last one
      EXPECT_EQ(ran.code, 1);
      EXPECT_NE(ran.err.find("left in float by a recipe that is switched off"), std::string::npos) << ran.err;
      continue;
    }
    ASSERT_EQ(ran.code, 0) << ran.err;
    const Ran scored = run("evaluate " + path + " --reference " + digits("digits.onnx") + " --data " + digits("evaluation.npz") +
                           " --metric agreement --json");
    ASSERT_EQ(scored.code, 0) << scored.err;
    EXPECT_GT(parse_json(scored.out, "stdout")["metrics"]["agreement"]["value"].get<double>(), 0.45) << name;
  }
}

// Scales of activations that serve the next two layers may harm the outputs; they are not kept then. One sample is enough to
// round on.
TEST(Commands, RoundingIsNoWorseThanNearest) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "q.onnx").string(), one = (folder.path() / "one.yaml").string();
  write_file(one, "reader: npz\npath: " + digits("calibration.npz") + "\nlimit: 1\n");
  const auto distance = [&](const std::string& scheme, const std::string& method, const std::string& samples) {
    const Ran ran = run("quantize " + digits("digits.onnx") + " -o " + path + " --scheme " + scheme + " --calib " + samples +
                        " --set algorithms=" + method);
    EXPECT_EQ(ran.code, 0) << ran.err;
    const Ran scored = run("evaluate " + path + " --reference " + digits("digits.onnx") + " --data " + digits("evaluation.npz") +
                           " --metric L2 --json");
    return parse_json(scored.out, "stdout")["metrics"]["L2"]["value"].get<double>();
  };
  const double channels = distance("U8S8_CHANNEL", "null", digits("calibration.npz")), tensor = distance("A8W8", "null", one);
  for (const char* method : {"adaround", "adaquant", "gptq"}) {
    EXPECT_LT(distance("U8S8_CHANNEL", method, digits("calibration.npz")), 1.3 * channels) << method;
    EXPECT_LT(distance("A8W8", method, one), 0.3 * tensor) << method;
  }
}

TEST(Commands, QuantizeTellsWhatRoundingDid) {
  const TemporaryFolder folder;
  const std::string errors = (folder.path() / "errors.json").string();
  const Ran ran =
      run("quantize " + digits("digits.onnx") + " -o " + (folder.path() / "q.onnx").string() +
          " --scheme A8W8 --set algorithms=adaquant --calib " + digits("calibration.npz") + " --export-errors " + errors);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("adaquant: "), std::string::npos) << ran.out;
  const Json layers = read_json(errors);
  ASSERT_GT(layers.size(), 5U);
  for (const auto& [layer, error] : layers.items()) {
    EXPECT_LE(error["after"], error["before"]) << layer;
    EXPECT_GT(error["alone"], 0) << layer;
  }
}

TEST(Commands, ModelsOfOperatorsOnCodes) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "q.onnx").string(), config = (folder.path() / "config.yaml").string();
  const std::string quantize = "quantize " + digits("digits.onnx") + " -o " + path + " --calib " + digits("calibration.npz");
  write_file(config, "activation: Int8Spec\nweight: Int8Spec\nquant_format: QuantFormat.QOperator\nOptimizeModel: false\n");
  const std::vector<std::string> right{" --scheme U8S8_CHANNEL --quant-format QOperator", " --config " + config};
  for (const auto& how : right) {
    ASSERT_EQ(run(quantize + how).code, 0) << how;
    EXPECT_NE(read_file(path).find("QLinearConv"), std::string::npos);
    const Ran scored = run("evaluate " + path + " --reference " + digits("digits.onnx") + " --data " + digits("evaluation.npz") +
                           " --metric agreement --json");
    ASSERT_EQ(scored.code, 0) << scored.err;
    EXPECT_GT(parse_json(scored.out, "stdout")["metrics"]["agreement"]["value"].get<double>(), 0.8) << how;
  }
  for (const char* how : {" --scheme A16W8 --quant-format QOperator", " --scheme XINT8 --target xint8 --quant-format QOperator",
                          " --scheme A8W8 --quant-format QOp"}) {
    const Ran ran = run(quantize + how);
    EXPECT_EQ(ran.code, 1) << how;
    EXPECT_NE(ran.err.find("quant_format"), std::string::npos) << ran.err;
  }
}

TEST(Commands, InspectChecksModelsWithoutPairs) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "q.onnx").string();
  ASSERT_EQ(run("quantize " + digits("digits.onnx") + " -o " + path + " --scheme DYNAMIC").code, 0);
  const Ran ran = run("inspect " + path + " --target xint8");
  EXPECT_EQ(ran.code, 2) << ran.err;
  EXPECT_NE(ran.out.find("pairs: "), std::string::npos) << ran.out;
}

TEST(Commands, InspectRefusesWhatTheTargetCannotDo) {
  const Ran ran = run("inspect " + digits("digits.onnx") + " --target xint8 --scheme DYNAMIC");
  EXPECT_EQ(ran.code, 1) << ran.out;
  EXPECT_NE(ran.err.find("found at run time"), std::string::npos) << ran.err;
}

// The demo has nothing that these options change; a default in words is no news.
TEST(Commands, OptionsWithoutEffectOnTheModelAreNoted) {
  const TemporaryFolder folder;
  const auto quantized = [&](const std::string& more) {
    return run("quantize " + digits("digits.onnx") + " -o " + (folder.path() / "q.onnx").string() + " --calib " +
               digits("calibration.npz") + " --scheme A8W8 " + more);
  };
  for (const char* key : {"FoldRelu=true", "MatMulConstBOnly=true", "ConvertSigmoidToHardSigmoid=true"}) {
    const Ran ran = quantized(std::string("--set ") + key);
    const std::string name(key, std::string(key).find('='));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_NE(ran.out.find("note: " + name + " has no effect: this model"), std::string::npos) << key << ran.out;
  }
  const Ran acting = quantized("--set QuantizeBias=false --set AlignConcat=false");
  EXPECT_EQ(acting.out.find("has no effect"), std::string::npos) << acting.out;
}

// An integer Softmax is slower than one in float; what the target is not said to be slow at is no news.
TEST(Commands, SlowKernelsAreNoted) {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  graph::save(two_layers("MatMul", "Softmax"), path("m.onnx"));
  const auto quantized = [&](const std::string& more) {
    const Ran ran = run("quantize " + path("m.onnx") + " -o " + path("q.onnx") + " --calib random --scheme U8S8_CHANNEL " + more);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  };
  const std::string note = "kernels of 1 operator are known to take longer in integers than in float: relu";
  EXPECT_NE(quantized("").find("note: on target ort_cpu " + note), std::string::npos) << quantized("");
  EXPECT_EQ(quantized("--set 'exclude=[relu]'").find(note), std::string::npos);
  EXPECT_EQ(quantized("--target ort_arm64").find(note), std::string::npos) << "nobody measured it there";
}

// SmoothQuant adds values, whose ranges are read back like all others.
TEST(Commands, RangesOfTransformedModelsComeBack) {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  graph::save(two_layers("MatMul"), path("m.onnx"));
  const auto quantized = [&](const std::string& output, const std::string& more) {
    return run("quantize " + path("m.onnx") + " -o " + output + " --calib random --scheme A8W8 --set include_sq=true " + more);
  };
  const Ran first = quantized(path("a.onnx"), "--export-ranges " + path("r.json"));
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_NE(read_file(path("r.json")).find("x_smooth"), std::string::npos) << "the transform adds no value";
  const Ran second = quantized(path("b.onnx"), "--ranges " + path("r.json"));
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_EQ(read_file(path("a.onnx")), read_file(path("b.onnx")));
}

// What others read says what the model has: reading it back makes the same model, without samples.
TEST(Commands, RangesOfOthersComeBack) {
  const TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return (folder.path() / name).string(); };
  const auto quantized = [&](const std::string& output, const std::string& more) {
    return run("quantize " + digits("digits.onnx") + " -o " + path(output) + " --target generic " + more);
  };
  for (const auto& [scheme, file] : {std::pair{"A8W8", "r.cache"},
                                     {"A8W8", "r.encodings"},
                                     {"A16W8", "r.encodings"},
                                     {"W8A16 --set BiasCorrection=false", "r.encodings"},
                                     {"U8S8_CHANNEL --set BiasCorrection=false", "r.encodings"}}) {
    const std::string how = std::string("--scheme ") + scheme;
    const Ran first = quantized("a.onnx", how + " --calib " + digits("calibration.npz") + " --export-ranges " + path(file));
    ASSERT_EQ(first.code, 0) << first.err;
    const Ran second = quantized("b.onnx", how + " --ranges " + path(file));
    ASSERT_EQ(second.code, 0) << how << second.err;
    EXPECT_TRUE(read_file(path("a.onnx")) == read_file(path("b.onnx"))) << how << " " << file << second.out;
  }
  write_file(path("other.encodings"), R"({"activation_encodings": [], "param_encodings": []})");
  const Ran none = quantized("c.onnx", "--scheme A8W8 --ranges " + path("other.encodings"));
  EXPECT_EQ(none.code, 1);
  EXPECT_NE(none.err.find("0 of 0 names"), std::string::npos) << none.err;
}

// Values of layers in 16-bit floats have no ranges; a value that clean-up removed is told as such.
TEST(Commands, RangesAreOfCodesAndOfValuesThatThereAre) {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  const auto quantized = [&](const std::string& more) {
    return run("quantize " + path("m.onnx") + " -o " + path("q.onnx") + " --calib random --scheme A8W8 " + more);
  };
  graph::Model model = two_layers("MatMul");
  model.nodes[2].inputs[0] = "same";
  const graph::Node none{.name = "none", .op_type = "Identity", .domain = "", .inputs = {"b"}, .outputs = {"kept"}};
  const graph::Node twice{.name = "twice", .op_type = "Reshape", .domain = "", .inputs = {"kept", "shape"}, .outputs = {"same"}};
  model.nodes.insert(model.nodes.begin() + 2, {none, twice});
  model.initializers["shape"] = Tensor::of<int64_t>({2}, {2, 8});
  graph::save(model, path("m.onnx"));
  const Ran casts =
      quantized("--set 'layer_type_config=[{spec: BFloat16Spec, op_types: [Relu]}]' --export-ranges " + path("r.json"));
  ASSERT_EQ(casts.code, 0) << casts.err;
  EXPECT_FALSE(parse_json(read_file(path("r.json")), "r.json").at("tensors").empty());
  write_file(path("removed.json"), R"({"tensors": {"kept": {"min": -1, "max": 1}}})");
  const Ran removed = quantized("--ranges " + path("removed.json"));
  EXPECT_EQ(removed.code, 1);
  EXPECT_NE(removed.err.find("clean-up removed the value 'kept'"), std::string::npos) << removed.err;
}

// A setting replaces what the scheme says; two settings may contradict each other.
TEST(Commands, OtherNamesOfParametersReplaceTheSchemes) {
  const TemporaryFolder folder;
  const auto quantized = [&](const std::string& settings) {
    return run("quantize " + digits("digits.onnx") + " -o " + (folder.path() / "q.onnx").string() + " --calib " +
               digits("calibration.npz") + " --scheme U8S8_CHANNEL --set WeightCalibrateMethod=MinMSE " + settings);
  };
  EXPECT_EQ(quantized("").code, 0);
  const Ran both = quantized("--set weight_params.calibration_method=MinMax");
  EXPECT_EQ(both.code, 1);
  EXPECT_NE(both.err.find("WeightCalibrateMethod is"), std::string::npos) << both.err;
}

// What an exclusion takes from the processor is said when the model is made.
TEST(Commands, RulesThatExclusionsBreakAreNoted) {
  const TemporaryFolder folder;
  const std::string model = (folder.path() / "m.onnx").string(), path = (folder.path() / "q.onnx").string();
  const std::string target = " --target xint8";
  graph::save(two_layers("Gemm"), model);
  const Ran ran = run("quantize " + model + " -o " + path + target + " --scheme XINT8 --calib random --set 'exclude=[relu]'");
  ASSERT_EQ(ran.code, 0) << ran.err;
  ASSERT_EQ(run("inspect " + path + target).code, 2);
  EXPECT_NE(ran.out.find("note: rule fusion could not be kept at "), std::string::npos) << ran.out;
}

TEST(Commands, PathsOfOtherOutputsAreCheckedBeforeTheModelIsMade) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "q.onnx").string();
  for (const char* option : {"--export-ranges", "--export-errors"}) {
    const Ran ran = run("quantize " + digits("digits.onnx") + " -o " + path + " --scheme A8W8 --calib " +
                        digits("calibration.npz") + " " + option + " " + (folder.path() / "none/x.json").string());
    EXPECT_EQ(ran.code, 1);
    EXPECT_NE(ran.err.find(std::string(option) + ": cannot write"), std::string::npos) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(path)) << option;
  }
}

TEST(Commands, InspectTakesAConfiguration) {
  const Ran ran =
      run("inspect " + digits("digits.onnx") +
          " --scheme A8W8 --set 'specific_layer_config=[{spec: Int16Spec, nodes: [classifier]}]' --set 'exclude=[pool]'");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("specific_layer_config: Int16Spec"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("float: excluded"), std::string::npos) << ran.out;
  EXPECT_EQ(run("inspect " + digits("digits.onnx") + " --set exclude=[pool]").code, 1);
}

TEST(Commands, FloatModelIsNeverOverwritten) {
  const TemporaryFolder folder;
  const auto model = folder.path() / "model.onnx";
  std::filesystem::copy_file(digits("digits.onnx"), model);
  const Ran ran =
      run("quantize " + model.string() + " -o " + model.string() + " --scheme A8W8 --calib " + digits("calibration.npz"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(read_file(model), read_file(digits("digits.onnx")));
}

TEST(Commands, OptionsOfACalibrationMethodActOnWeightsToo) {
  const TemporaryFolder folder;
  std::vector<std::string> models;
  for (const char* share : {"60", "99"}) {
    const auto path = folder.path() / "q.onnx";
    const Ran ran =
        run("quantize " + digits("digits.onnx") + " -o " + path.string() + " --scheme A8W8 --calib " + digits("calibration.npz") +
            " --set weight_params.calibration_method=Percentile --set Percentile=" + share);
    ASSERT_EQ(ran.code, 0) << ran.err;
    models.push_back(read_file(path));
  }
  EXPECT_NE(models[0], models[1]);
}

TEST(Commands, WrongFilesGetOneClearMessage) {
  const TemporaryFolder folder;
  write_file(folder.path() / "broken.onnx", "this is not a model");
  write_file(folder.path() / "broken.npz", "PK this is not an archive");
  const std::string broken = (folder.path() / "broken.onnx").string(), archive = (folder.path() / "broken.npz").string();
  const std::string out = " -o " + (folder.path() / "q.onnx").string() + " --scheme A8W8";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"inspect " + (folder.path() / "none.onnx").string(), "none.onnx"},
      {"inspect " + broken, "broken.onnx"},
      {"quantize " + digits("digits.onnx") + out + " --calib " + archive, "broken.npz"},
      {"quantize " + digits("digits.onnx") + out + " --calib nowhere.npz", "nowhere.npz"},
      {"evaluate " + digits("digits.onnx") + " --data " + digits("evaluation.npz") + " --metric L9", "L9"},
      {"evaluate " + digits("digits.onnx") + " --data random --metric top1", "label"},
  };
  for (const auto& [arguments, message] : cases) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 1) << arguments;
    EXPECT_NE(ran.err.find(message), std::string::npos) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "q.onnx"));
}

}  // namespace
}  // namespace quasar::e2e
