#include "quasar/runtime/session.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <optional>
#include <thread>

#include "models.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/graph/load.hpp"
#include "unit/error_of.hpp"

namespace quasar::runtime {
namespace {
using namespace quasar::test;

bool mentions(const std::string& text, const std::vector<std::string>& parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const auto& part) { return text.find(part) != std::string::npos; });
}

TEST(Session, RunsAModel) {
  const Session session(relu_times_two());
  const std::vector<Tensor> in{Tensor::of<float>({2, 3}, std::vector<float>{-1, 0, 1, 2, -3, 4})};
  const std::vector<Tensor> out = session.run(in);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0], Tensor::of<float>({2, 3}, std::vector<float>{0, 0, 2, 4, 0, 8}));
}

TEST(Session, DescribesInputsAndOutputs) {
  const Session session(relu_times_two());
  ASSERT_EQ(session.inputs().size(), 1U);
  EXPECT_EQ(session.inputs()[0].name, "x");
  EXPECT_EQ(session.inputs()[0].type, DataType::float32);
  EXPECT_EQ(session.inputs()[0].shape, (Shape{-1, 3}));
  EXPECT_EQ(session.inputs()[0].symbols, (std::vector<std::string>{"N", ""}));
  EXPECT_EQ(session.outputs()[0].name, "y");
}

// As skl2onnx converts classifiers unless told otherwise.
TEST(Session, MapsOfScoresAreRefusedWithTheWayOut) {
  graph::Model model = empty_model();
  model.opsets["ai.onnx.ml"] = 1;
  model.inputs = {float_value("x", {-1, 2}, {"N", ""})};
  graph::Node zip = node("ZipMap", "zip", {"x"}, {"scores"}, {{"classlabels_int64s", std::vector<int64_t>{3, 5}}});
  zip.domain = "ai.onnx.ml";
  model.nodes = {zip};
  model.outputs = {{"scores"}};
  const std::string message = error_of([&] {
    const std::vector<Tensor> in{Tensor::of<float>({1, 2}, std::vector<float>{1, 2})};
    Session(model).run(in);
  });
  EXPECT_TRUE(mentions(message, {"'scores'", "ZipMap", "'zipmap': False"})) << message;
}

TEST(Session, OutputsOutliveTheSession) {
  std::vector<Tensor> out;
  {
    const Session session(relu_times_two());
    const std::vector<Tensor> in{Tensor::of<float>({1, 3}, std::vector<float>{1, 2, 3})};
    out = session.run(in);
  }
  EXPECT_EQ(out[0], Tensor::of<float>({1, 3}, std::vector<float>{2, 4, 6}));
}

TEST(Session, ComputesOnlyTheNamedOutputs) {
  graph::Model model = relu_times_two();
  model.outputs.push_back(float_value("r", {-1, 3}, {"N", ""}));
  const Session session(model);
  const std::vector<Tensor> in{Tensor::of<float>({1, 3}, std::vector<float>{-1, 2, 3})};
  const auto out = session.run(in, {"r"});
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(out[0], Tensor::of<float>({1, 3}, std::vector<float>{0, 2, 3}));
  const std::string message = error_of([&] { session.run(in, {"rr"}); });
  EXPECT_TRUE(mentions(message, {"'rr'", "y, r"})) << message;
}

TEST(Session, AnInputThatIsAnOutputIsGivenBack) {
  graph::Model model = relu_times_two();
  model.outputs.push_back(model.inputs[0]);
  const Session session(model);
  const std::vector<Tensor> in{Tensor::of<float>({1, 3}, std::vector<float>{-1, 2, 3})};
  const auto out = session.run(in);
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[1], in[0]);
}

TEST(Session, NamesTheInputThatDoesNotFit) {
  const Session session(relu_times_two());
  struct {
    std::vector<Tensor> given;
    std::vector<std::string> parts;
  } const table[] = {
      {{}, {"1 inputs (x)", "0 were given"}},
      {{Tensor::of<float>({2, 4}, std::vector<float>(8))}, {"'x'", "float32 [N,3]", "[2,4]"}},
      {{Tensor::of<float>({3}, std::vector<float>(3))}, {"'x'", "[N,3]", "[3]"}},
      {{Tensor::of<double>({1, 3}, std::vector<double>(3))}, {"'x'", "float32", "float64"}},
  };
  for (const auto& row : table) {
    const std::string message = error_of([&] { session.run(row.given); });
    EXPECT_TRUE(mentions(message, row.parts)) << message;
  }
}

TEST(Session, ErrorsOfTheRuntimeAreOneShortLine) {
  graph::Model model = relu_times_two();
  model.nodes[0].op_type = "NoSuchOperator";
  const std::string message = error_of([&] { const Session session(model); });
  EXPECT_TRUE(mentions(message, {"NoSuchOperator", "ONNX Runtime cannot open"})) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_LT(message.size(), 500U);

  graph::Model reshape = empty_model();
  reshape.inputs = {float_value("x", {-1})};
  reshape.outputs = {float_value("y", {-1, -1})};
  reshape.initializers["shape"] = longs({3, -1});
  reshape.nodes = {node("Reshape", "fold", {"x", "shape"}, {"y"})};
  const Session session(reshape);
  const std::vector<Tensor> four{floats({1, 2, 3, 4})};
  const std::string failed = error_of([&] { session.run(four); });
  EXPECT_TRUE(mentions(failed, {"cannot run", "fold"})) << failed;
  EXPECT_EQ(failed.find(".cc:"), std::string::npos) << failed;
}

TEST(Session, AnOperatorSetOfTheFutureIsAdvisedAgainst) {
  graph::Model model = relu_times_two();
  model.opsets[""] = 1000;
  const std::string text = error_of([&] { const Session session(model); });
  EXPECT_EQ(text.find("onnxruntime_src"), std::string::npos) << text;
  EXPECT_EQ(text.find("std::"), std::string::npos) << text;
  for (const char* part : {"cannot open the model", "1000", "export the model with an older operator set"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Session, AWeightThatNobodyReadsIsNoObstacle) {
  graph::Model model = relu_times_two();
  const auto inputs = inputs_for(model, 1);
  const Tensor expected = Session(model).run(inputs)[0];
  model.initializers["unread"] = random_tensor({300, 300}, 1);
  EXPECT_EQ(relative_difference(Session(model).run(inputs)[0], expected), 0);
}

TEST(Session, OpensFiles) {
  const TemporaryFolder folder;
  graph::save(relu_times_two(), folder.path() / "m.onnx");
  const Session session(folder.path() / "m.onnx");
  const std::vector<Tensor> in{Tensor::of<float>({1, 3}, std::vector<float>{1, 2, 3})};
  EXPECT_EQ(session.run(in)[0], Tensor::of<float>({1, 3}, std::vector<float>{2, 4, 6}));
  EXPECT_TRUE(mentions(error_of([&] { const Session s(folder.path() / "none.onnx"); }), {"none.onnx", "does not exist"}));
  std::ofstream(folder.path() / "text.onnx") << "this is not a model";
  EXPECT_TRUE(mentions(error_of([&] { const Session s(folder.path() / "text.onnx"); }), {"cannot open", "text.onnx"}));
}

TEST(Session, TextsScalarsAndEmptyTensors) {
  graph::Model model = empty_model();
  model.inputs = {{"t", DataType::string, Shape{-1}}, {"s", DataType::int64, Shape{}}, {"e", DataType::float32, Shape{-1, 2}}};
  model.outputs = {
      {"t2", DataType::string, Shape{-1}}, {"s2", DataType::int64, Shape{}}, {"e2", DataType::float32, Shape{-1, 2}}};
  model.nodes = {node("Identity", "a", {"t"}, {"t2"}), node("Neg", "b", {"s"}, {"s2"}), node("Neg", "c", {"e"}, {"e2"})};
  const Session session(model);
  EXPECT_EQ(session.inputs()[1].shape, Shape{});
  const std::vector<Tensor> in{Tensor::strings({2}, {"one", ""}), Tensor::scalar<int64_t>(7),
                               Tensor::of<float>({0, 2}, std::vector<float>{})};
  const auto out = session.run(in);
  EXPECT_EQ(out[0].strings(), (std::vector<std::string>{"one", ""}));
  EXPECT_EQ(out[1], Tensor::scalar<int64_t>(-7));
  EXPECT_EQ(out[2].shape(), (Shape{0, 2}));
}

TEST(Session, ThreadsShareOneSession) {
  const graph::Model model = long_chain(32, 20);
  const Session session(model);
  std::vector<std::vector<Tensor>> in;
  std::vector<Tensor> expected;
  for (uint64_t i = 0; i < 4; ++i) {
    in.push_back({random_tensor({32, 32}, i)});
    expected.push_back(session.run(in.back())[0]);
  }
  std::vector<int> equal(4, 0);
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 25; ++i) equal[t] += session.run(in[t])[0] == expected[t] ? 1 : 0;
      });
    }
  }
  EXPECT_EQ(equal, std::vector<int>(4, 25));
}

TEST(Session, CancelEndsARunEarly) {
  // Uncancelled, this run would take years; a run that comes to its end does not throw.
  Session session(endless_loop(100), {.optimization = Optimization::none});
  const std::vector<Tensor> in{random_tensor({100, 100}, 1)};
  bool ended = false;
  std::jthread runner([&] {
    try {
      session.run(in);
    } catch (const Cancelled&) {
      ended = true;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  session.cancel();
  runner.join();
  EXPECT_TRUE(ended);
  EXPECT_THROW(session.run(in), Cancelled);
}

TEST(Session, SavesTheGraphItRuns) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "optimized.onnx";
  SessionOptions options;
  options.save_optimized = path;
  const Session session(relu_times_two(), options);
  EXPECT_EQ(graph::load(path).outputs[0].name, "y");
}

TEST(Cpu, IsNamed) {
  EXPECT_FALSE(cpu_name().empty());
  EXPECT_EQ(version().substr(0, 2), "1.");
}

}  // namespace
}  // namespace quasar::runtime
