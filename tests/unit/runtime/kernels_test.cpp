#include "quasar/runtime/kernels.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "models.hpp"
#include "quasar/base/error.hpp"
#include "quasar/runtime/prepare.hpp"
#include "unit/error_of.hpp"

namespace quasar::runtime {
namespace {
using namespace quasar::test;

// Builds quantized models in the QDQ format: pairs with fixed parameters are enough to see which kernels run. Activations are
// int8 with zero point 0 (symmetric), or uint8 from 0 on.
class Builder {
 public:
  explicit Builder(bool symmetric) {
    model = empty_model();
    model.initializers["step"] = Tensor::scalar(0.05F);
    model.initializers["zero"] = symmetric ? Tensor::scalar<int8_t>(0) : Tensor::scalar<uint8_t>(0);
  }

  // value -> Q -> DQ, returns the result's name.
  std::string coded(const std::string& value) {
    const std::string q = value + "_q", out = value + "_dq";
    model.nodes.push_back(node("QuantizeLinear", q + "_node", {value, "step", "zero"}, {q}));
    model.nodes.push_back(node("DequantizeLinear", out + "_node", {q, "step", "zero"}, {out}));
    return out;
  }

  // An int8 weight behind its DQ, per tensor.
  std::string weight(const std::string& name, Shape shape) {
    std::vector<int8_t> codes(count_of(shape));
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<int8_t>(i % 13) - 6;
    model.initializers[name] = Tensor::of<int8_t>(std::move(shape), codes);
    model.initializers[name + "_step"] = Tensor::scalar(0.02F);
    model.initializers[name + "_zero"] = Tensor::scalar<int8_t>(0);
    model.nodes.push_back(node("DequantizeLinear", name + "_node", {name, name + "_step", name + "_zero"}, {name + "_dq"}));
    return name + "_dq";
  }

  void add(const std::string& type, const std::string& name, std::vector<std::string> inputs,
           std::vector<graph::Attribute> attributes = {}) {
    model.nodes.push_back(node(type, name, std::move(inputs), {name + "_out"}, std::move(attributes)));
  }

  graph::Model model;
};

// x -> conv -> [Q/DQ] -> relu -> Q/DQ -> pool -> Q/DQ -> flat -> Q/DQ -> gemm -> Q/DQ -> y.
graph::Model small_network(bool symmetric, bool between, bool conv_coded = true) {
  Builder b(symmetric);
  b.model.inputs = {float_value("x", {1, 3, 8, 8})};
  b.model.outputs = {float_value("gemm_out_dq", {1, 5})};
  if (conv_coded) {
    b.add("Conv", "conv", {b.coded("x"), b.weight("w", {4, 3, 3, 3})});
  } else {
    b.model.initializers["w"] = random_tensor({4, 3, 3, 3}, 1);
    b.add("Conv", "conv", {"x", "w"});
  }
  b.add("Relu", "relu", {between ? b.coded("conv_out") : "conv_out"});
  b.add("MaxPool", "pool", {b.coded("relu_out")}, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  b.add("Flatten", "flat", {b.coded("pool_out")});
  b.add("Gemm", "gemm", {b.coded("flat_out"), b.weight("v", {100, 5})});
  b.coded("gemm_out");
  return b.model;
}

using Runs = std::map<std::string, bool>;

TEST(RunsQuantized, DependsOnWhatStandsBetweenConvAndRelu) {
  struct {
    bool symmetric, between;
    Runs expected;
  } const table[] = {
      {false, false, {{"conv", true}, {"relu", true}, {"pool", true}, {"flat", true}, {"gemm", true}}},
      {false, true, {{"conv", true}, {"relu", true}, {"pool", true}, {"flat", true}, {"gemm", true}}},
      // Symmetric codes reach below 0: the Relu cannot be absorbed, stays in float, and keeps the Conv in float unless Q/DQ
      // stand between.
      {true, false, {{"conv", false}, {"relu", false}, {"pool", true}, {"flat", true}, {"gemm", true}}},
      {true, true, {{"conv", true}, {"relu", false}, {"pool", true}, {"flat", true}, {"gemm", true}}},
  };
  for (const auto& row : table) {
    EXPECT_EQ(runs_quantized(small_network(row.symmetric, row.between), {"conv", "relu", "pool", "flat", "gemm"}), row.expected)
        << row.symmetric << row.between;
  }
}

TEST(RunsQuantized, FloatLayersStayFloat) {
  const Runs expected{{"conv", false}, {"relu", false}, {"gemm", true}, {"unknown", false}};
  EXPECT_EQ(runs_quantized(small_network(false, false, false), {"conv", "relu", "gemm", "unknown"}), expected);
  const Runs all_float{{"relu", false}, {"double", false}};
  EXPECT_EQ(runs_quantized(relu_times_two(), {"relu", "double"}), all_float);
}

TEST(RunsQuantized, MatMulAndAdd) {
  for (const bool coded_between : {false, true}) {
    Builder b(false);
    b.model.inputs = {float_value("x", {2, 8})};
    b.model.outputs = {float_value("add_out_dq", {2, 6})};
    b.add("MatMul", "matmul", {b.coded("x"), b.weight("w", {8, 6})});
    b.model.initializers["bias"] = random_tensor({6}, 1);
    b.add("Add", "add", {coded_between ? b.coded("matmul_out") : "matmul_out", coded_between ? b.coded("bias") : "bias"});
    b.coded("add_out");
    const Runs expected{{"matmul", true}, {"add", true}};  // one QGemm, or QLinearMatMul and QLinearAdd
    EXPECT_EQ(runs_quantized(b.model, {"matmul", "add"}), expected) << coded_between;
  }
}

// ONNX Runtime itself says "Protobuf serialization failed" of a full disk.
TEST(Kernels, AFullFolderOfTemporaryFilesIsNamed) {
  const auto said = [](const std::function<void()>& work) {
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit little{16, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &little);
    std::string message = test::error_of(work);
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    return message;
  };
  graph::Model model = empty_model();
  model.inputs = {float_value("x", {1, 4})};
  model.outputs = {float_value("y", {1, 4})};
  model.nodes = {node("Relu", "relu", {"x"}, {"y"})};
  for (const auto& message : {said([&] { optimized(model); }), said([&] { prepare(model); })}) {
    EXPECT_TRUE(message.starts_with("cannot use the folder of temporary files (TMPDIR): ")) << message;
    EXPECT_NE(message.find(std::filesystem::temp_directory_path().string()), std::string::npos) << message;
    EXPECT_NE(message.find("File too large"), std::string::npos) << message;
  }
  EXPECT_EQ(test::error_of([&] { optimized(model); }), "no error");
}

}  // namespace
}  // namespace quasar::runtime
