// Models that are hard to take: each is quantized, or refused with one message that says what is wrong with it.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "e2e/program.hpp"
#include "quasar/graph/load.hpp"
#include "unit/graph/small_models.hpp"
#include "unit/quant/sample_models.hpp"

namespace quasar::e2e {
namespace {

namespace fs = std::filesystem;
using graph::Model;
using graph::tensor_value;

struct HardModels : testing::Test {
  Ran quantize(const Model& model, const std::string& more = "--scheme A8W8 --calib random") const {
    graph::save(model, file);
    return run("quantize " + file.string() + " -o " + out.string() + " " + more);
  }

  // Says one thing, and leaves nothing behind.
  void refuses(const Model& model, const std::string& message, const std::string& more = "--scheme A8W8 --calib random") const {
    const Ran ran = quantize(model, more);
    EXPECT_EQ(ran.code, 1) << ran.out;
    EXPECT_NE(ran.err.find(message), std::string::npos) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_FALSE(fs::exists(out));
  }

  TemporaryFolder folder;
  fs::path file = folder.path() / "model.onnx", out = folder.path() / "out.onnx";
};

// x [1,4] · w [4,columns] -> y
Model product(const std::vector<float>& weights, int64_t columns) {
  Model model;
  model.opsets = {{"", 13}};
  model.inputs = {tensor_value("x", {1, 4})};
  model.outputs = {tensor_value("y", {1, columns})};
  model.initializers = {{"w", Tensor::of({4, columns}, weights)}};
  model.nodes = {{"product", "MatMul", "", {"x", "w"}, {"y"}}};
  return model;
}

TEST_F(HardModels, WeightsThatAreNoNumbers) {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    std::vector<float> weights(16, 1);
    weights[5] = bad;
    refuses(product(weights, 4), "NaN");
    refuses(product(weights, 4), "infinite values or NaN", "--scheme W4");
  }
}

// Of a layer whose weights are no numbers, but whose output nobody sees as such, the others are quantized.
TEST_F(HardModels, OneLayerWithoutNumbersDoesNotKeepTheOthersFromIt) {
  std::vector<float> weights(16, 1);
  Model model = product(weights, 4);
  model.nodes[0].outputs = {"h"};
  weights[5] = -INFINITY;
  model.initializers["v"] = Tensor::of({4, 4}, weights);
  model.nodes.push_back({"second", "MatMul", "", {"s", "v"}, {"n"}});
  model.nodes.insert(model.nodes.begin() + 1, {"positive", "Sigmoid", "", {"h"}, {"s"}});
  model.nodes.push_back({"bounded", "Sigmoid", "", {"n"}, {"y"}});
  const Ran ran = quantize(model);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("infinite values or NaN"), std::string::npos) << ran.out;
}

// A detector that suppresses boxes by itself.
Model suppressing() {
  Model model;
  model.opsets = {{"", 17}};
  model.inputs = {tensor_value("x", {1, 3, 8, 8})};
  std::vector<float> weights(7 * 3 * 9);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i * i * 7 % 23) / 23 - 0.5F;
  model.initializers = {{"w", Tensor::of<float>({7, 3, 3, 3}, weights)}, {"sizes", Tensor::of<int64_t>({2}, {4, 3})},
                        {"flat", Tensor::of<int64_t>({3}, {1, 7, 36})},  {"most", Tensor::of<int64_t>({1}, {20})},
                        {"overlap", Tensor::of<float>({1}, {0.5F})},     {"least", Tensor::of<float>({1}, {0.6F})}};
  graph::Node split{"split", "Split", "", {"rows", "sizes"}, {"columns", "logits"}};
  split.attributes = {{"axis", int64_t{1}}};
  graph::Node transpose{"transpose", "Transpose", "", {"columns"}, {"boxes"}};
  transpose.attributes = {{"perm", std::vector<int64_t>{0, 2, 1}}};
  model.nodes = {{"conv", "Conv", "", {"x", "w"}, {"c"}},
                 {"reshape", "Reshape", "", {"c", "flat"}, {"rows"}},
                 split,
                 transpose,
                 {"sigmoid", "Sigmoid", "", {"logits"}, {"scores"}},
                 {"nms", "NonMaxSuppression", "", {"boxes", "scores", "most", "overlap", "least"}, {"chosen"}},
                 {"found", "Identity", "", {"chosen"}, {"answer"}}};
  model.outputs = {tensor_value("answer", {-1, 3}, DataType::int64)};
  return model;
}

// As converters of 2018 wrote style transfer: opset 10 dropped ImageScaler.
TEST_F(HardModels, AnOperatorThatNewerSetsDropped) {
  for (const int64_t opset : {7, 9}) {
    Model model;
    model.opsets = {{"", opset}};
    model.inputs = {tensor_value("x", {1, 2, 6, 6})};
    model.outputs = {tensor_value("y", {1, 2, 4, 4})};
    std::vector<float> weights;
    for (int i = 0; i < 36; ++i) weights.push_back(static_cast<float>(i % 7 - 3) / 10);
    model.initializers = {{"w", Tensor::of({2, 2, 3, 3}, weights)}};
    model.nodes = {{"scaler", "ImageScaler", "", {"x"}, {"s"}}, {"conv", "Conv", "", {"s", "w"}, {"y"}}};
    model.nodes[0].attributes = {{"scale", 0.5F}, {"bias", std::vector<float>{0.25F, -0.5F}}};
    const Ran made = quantize(model, "--scheme U8S8_CHANNEL --calib random");
    ASSERT_EQ(made.code, 0) << made.err;
    const Ran inspected = run("inspect " + file.string());
    EXPECT_EQ(inspected.code, 0) << inspected.err;
    EXPECT_NE(inspected.out.find("Conv"), std::string::npos) << inspected.out;
    const Ran scored = run("evaluate " + out.string() + " --reference " + file.string() + " --data random --metric cos --json");
    ASSERT_EQ(scored.code, 0) << scored.err;
    EXPECT_GT(Json::parse(scored.out)["metrics"]["cos"]["value"].get<double>(), 0.999) << scored.out;
  }
}

// Boxes that the model suppresses by itself: a quantized model gives more of them or less, and is judged by what they are chosen
// from.
TEST_F(HardModels, OutputsWhoseSizeDependsOnTheData) {
  graph::save(suppressing(), file);
  for (const std::string strategy :
       {"", "strategy: repair\naccuracy_criterion: {criterion: absolute, tolerable_loss: 0.001}\n"}) {
    const fs::path job = folder.path() / "job.yaml", found = folder.path() / ("found" + std::to_string(strategy.size()));
    write_file(job,
               "model_input: model.onnx\ncalib_data_reader: {reader: random, count: 16}\n"
               "search_metric: parts\ntuning_criterion: {max_trials: 8}\n" +
                   (strategy.empty() ? "preset: cpu_int8_search\nn_trials: 4\n" : strategy));
    const Ran ran = run("search " + job.string() + " --output-dir " + found.string());
    EXPECT_NE(ran.code, 1) << ran.err;
    EXPECT_NE(ran.err.find("the size of answer depends on the data (NonMaxSuppression 'nms'); judged in the outputs' stead: "
                           "boxes, scores"),
              std::string::npos)
        << ran.err;
    const Json result = read_json(found / "result.json");
    EXPECT_EQ(result["trials"]["failed"], 0) << result["reason"];
    const double loss = result["best"]["metrics"]["parts"]["value"];
    EXPECT_GT(loss, 0) << strategy;
    EXPECT_LT(loss, 0.2) << strategy;
    EXPECT_EQ(graph::load(found / "best.onnx").outputs.front().name, "answer");
  }
}

// With a decoder such outputs are boxes as they are: more or fewer of them count, and make no trial fail.
TEST_F(HardModels, DetectionsThatADecoderCounts) {
  Model model = suppressing();
  model.initializers["class"] = Tensor::scalar<int64_t>(1);
  model.initializers["place"] = Tensor::scalar<int64_t>(2);
  model.initializers["first"] = Tensor::of<int64_t>({1}, {0});
  const auto column = [](const std::string& name, const std::string& which) {
    graph::Node gather{name, "Gather", "", {"chosen", which}, {name}};
    gather.attributes = {{"axis", int64_t{1}}};
    return gather;
  };
  graph::Node kept{"kept", "Gather", "", {"boxes", "places"}, {"kept_boxes"}}, cast{"cast", "Cast", "", {"classes"}, {"numbers"}};
  kept.attributes = {{"axis", int64_t{1}}};
  cast.attributes = {{"to", int64_t{1}}};
  model.nodes.pop_back();
  for (const graph::Node& node : {column("places", "place"), column("classes", "class"), kept, cast,
                                  graph::Node{"of", "GatherND", "", {"scores", "chosen"}, {"of"}},
                                  graph::Node{"row", "Unsqueeze", "", {"of", "first"}, {"kept_scores"}},
                                  graph::Node{"names", "Unsqueeze", "", {"numbers", "first"}, {"labels"}}})
    model.nodes.push_back(node);
  model.outputs = {tensor_value("kept_boxes", {1, -1, 4}), tensor_value("kept_scores", {1, -1}), tensor_value("labels", {1, -1})};
  graph::save(model, file);
  write_file(folder.path() / "job.yaml",
             "model_input: model.onnx\ncalib_data_reader: {reader: random, count: 16}\npreset: cpu_int8_search\nn_trials: 4\n"
             "decoder: {name: ssd, normalized: false, background: -1}\n"
             "search_metric: {name: mAP, truth: float, truth_score: 0.6, iou: 0.5}\n");
  const Ran ran = run("search " + (folder.path() / "job.yaml").string() + " --output-dir " + out.string());
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json result = read_json(out / "result.json");
  EXPECT_EQ(result["trials"]["failed"], 0) << ran.err;
  const Json metrics = result["best"]["metrics"];
  EXPECT_EQ(metrics.size(), 1U) << metrics;
  EXPECT_GT(metrics.front()["value"], 0) << metrics;
  EXPECT_LT(metrics.front()["value"], 1) << "the same boxes exactly: nothing was seen of their number";
}

TEST_F(HardModels, TensorsWithoutValues) {
  Model model = graph::small_model();
  model.inputs[0] = tensor_value("x", {1, 3, 8, 8});
  model.outputs = {tensor_value("z", {1, 4, 12, 12})};
  model.initializers["none"] = Tensor::of<float>({0}, std::vector<float>());
  model.initializers["twice"] = Tensor::of<float>({4}, {1, 1, 2, 2});
  // The empty tensor that Resize has in place of regions is in many models.
  model.nodes.push_back({"larger", "Resize", "", {"y", "none", "twice"}, {"z"}});
  const Ran ran = quantize(model);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(fs::exists(out));
}

TEST_F(HardModels, WeightsWithoutValues) {
  refuses(product({}, 0), "product: weights empty");
}

TEST_F(HardModels, GraphsThatGoRound) {
  Model model = product(std::vector<float>(16, 1), 4);
  model.nodes = {{"a", "Add", "", {"x", "q"}, {"p"}}, {"b", "MatMul", "", {"p", "w"}, {"q"}}, {"c", "Relu", "", {"q"}, {"y"}}};
  refuses(model, "the graph has a cycle that node 'a' is part of");
}

TEST_F(HardModels, ShapesBeyondTheMachine) {
  Model model = graph::small_model();
  model.inputs[0] = tensor_value("x", {1, 3, 10'000'000, 10'000'000});
  refuses(model, "input 'x' of shape [1,3,10000000,10000000] takes 1200000000000000 bytes, but this machine has ");
  model.inputs[0] = tensor_value("x", {INT64_MAX, 3, INT64_MAX, 8});
  refuses(model, "input 'x': the shape [9223372036854775807,3,9223372036854775807,8] has more elements than any memory holds");
}

// Inside the graph only ONNX Runtime meets them.
TEST_F(HardModels, ShapesBeyondTheMachineInside) {
  Model model = product(std::vector<float>(16, 1), 4);
  model.nodes[0].outputs = {"h"};
  model.initializers["shape"] = Tensor::of<int64_t>({2}, {10'000'000, 100'000'000});
  model.nodes.push_back({"large", "ConstantOfShape", "", {"shape"}, {"zeros"}});
  model.nodes.push_back({"sum", "ReduceSum", "", {"zeros"}, {"zero"}});
  model.nodes.push_back({"add", "Add", "", {"h", "zero"}, {"y"}});
  refuses(model, "ONNX Runtime cannot run the model: ConstantOfShape node 'large'");
}

TEST_F(HardModels, WhatONNXRuntimeRefuses) {
  Model model = product(std::vector<float>(16, 1), 4);
  model.nodes[0].op_type = "NoSuchOperator";
  refuses(model, "NoSuchOperator");
  model = product(std::vector<float>(12, 1), 3);
  model.initializers["w"] = Tensor::of({3, 4}, std::vector<float>(12, 1));
  refuses(model, "Incompatible dimensions for matrix multiplication");
  // A check that has no words of its own.
  model.inputs = {tensor_value("x", {1, 4, 4, 4})};
  model.outputs = {tensor_value("y", {1, 4, 4, 4})};
  model.nodes = {{"norm", "LRN", "", {"x"}, {"y"}}};
  model.nodes[0].set({"size", int64_t{1} << 40});
  refuses(model, "ONNX Runtime cannot open the model: LRN: size_ % 2 == 1 was false\n");
  model.nodes = {{"pool", "MaxPool", "", {}, {"y"}}};
  refuses(model, "pool");
}

// So many times a convolution and what follows it.
Model long_model(int convolutions) {
  Model model;
  model.opsets = {{"", 13}};
  model.inputs = {tensor_value("x", {1, 2, 4, 4})};
  std::string last = "x";
  for (int i = 0; i < convolutions; ++i) {
    const std::string number = std::to_string(i);
    model.initializers["w" + number] = Tensor::of<float>({2, 2, 1, 1}, {1, 0.25F, -0.25F, 1});
    model.nodes.push_back({"conv" + number, "Conv", "", {last, "w" + number}, {"c" + number}});
    model.nodes.push_back({"sigmoid" + number, "Sigmoid", "", {"c" + number}, {"r" + number}});
    last = "r" + number;
  }
  model.outputs = {tensor_value(last, {1, 2, 4, 4})};
  return model;
}

// The processor time of all programs that have been run and have ended.
double processor_seconds() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Nothing may take a time that grows with the square of the number of nodes: that would be sixteen times as much for four times
// as many. Eight to ten times is usual.
TEST_F(HardModels, TenThousandNodes) {
  write_file(folder.path() / "calib.yaml", "{reader: random, count: 2}\n");
  const auto seconds = [&](int convolutions) {
    const double before = processor_seconds();
    const Ran ran = quantize(long_model(convolutions), "--scheme A8W8 --calib " + (folder.path() / "calib.yaml").string());
    EXPECT_EQ(ran.code, 0) << ran.err;
    const std::string nodes = std::to_string(2 * convolutions);
    EXPECT_NE(ran.out.find(nodes + " of " + nodes + " quantizable nodes are quantized"), std::string::npos) << ran.out;
    return processor_seconds() - before;
  };
  const double few = seconds(1250), many = seconds(5000);
  EXPECT_LT(many, 14 * few);
  RecordProperty("seconds", std::to_string(many));
  std::cout << "10 000 nodes: " << many << " s of processor time, 2500 nodes: " << few << " s\n";
}

// Layers beside pairs that the model came with: their inputs are on the pairs' grids already, and no two pairs stand in a row.
TEST_F(HardModels, LayersBesideForeignPairsAreRounded) {
  const std::string how = " --scheme U8S8_CHANNEL --calib random ", first = (folder.path() / "first.onnx").string();
  graph::save(quant::residual(), file);
  const Ran part = run("quantize " + file.string() + " -o " + first + how + "--set 'exclude=[{op_type: Conv}]'");
  ASSERT_EQ(part.code, 0) << part.err;
  for (const char* algorithm : {"adaquant", "adaround", "gptq"}) {
    const Ran rest = run("quantize " + first + " -o " + out.string() + how + "--set algorithms=" + algorithm);
    EXPECT_EQ(rest.code, 0) << algorithm << rest.err;
    EXPECT_NE(rest.out.find("came in codes and stay as they are"), std::string::npos) << rest.out;
    const Ran scored = run("evaluate " + out.string() + " --reference " + file.string() + " --data random --metric cos --json");
    ASSERT_EQ(scored.code, 0) << algorithm << scored.err;
    EXPECT_GT(Json::parse(scored.out).at("metrics").at("cos").at("value"), 0.99) << algorithm;
  }
}

}  // namespace
}  // namespace quasar::e2e
