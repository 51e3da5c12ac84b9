// What the checker of target qnn_htp says of finished models. That the simulator runs them so is tried by
// python/tests/test_qnn.py.
#include "htp_models.hpp"
#include "quasar/runtime/prepare.hpp"

namespace quasar::quant {
namespace {

TEST(QnnHtpCheck, NamesWhatFallsOutOrComesOutWrong) {
  const auto made = [](const graph::Model& model, Config config, const char* target) {
    return apply(model, plan_of(model, config, target));
  };
  EXPECT_EQ(htp_faults_of(made(separable(), config_of(DataType::int8, true), "generic")).at("Conv_0"), "types");
  EXPECT_EQ(htp_faults_of(made(with_function_for_htp("Sigmoid"), usual_of_htp(), "generic")).at("Sigmoid_0"), "scale");
  EXPECT_EQ(htp_faults_of(made(with_function_for_htp("Tanh"), usual_of_htp(), "generic")).at("Tanh_0"), "scale");
  EXPECT_EQ(htp_faults_of(made(with_function_for_htp("Erf"), usual_of_htp(), "qnn_htp")).at("Erf_0"), "operator");
  Config wide = usual_of_htp();
  wide.weight.type = DataType::int16;
  EXPECT_EQ(htp_faults_of(made(separable(), wide, "generic")).at("Conv_0"), "weights");
  Config symmetric = usual_of_htp(DataType::uint8);
  symmetric.activation.symmetric = true;
  EXPECT_EQ(htp_faults_of(made(separable(), symmetric, "generic")).at("Conv_0"), "values");  // nothing between it and the Clip
  EXPECT_EQ(htp_faults_of(made(separable(), symmetric, "ort_cpu")).at("Clip_0"), "clip");
  graph::Model open = made(separable(), usual_of_htp(), "qnn_htp");
  open.inputs.front().shape->front() = -1;
  EXPECT_EQ(htp_faults_of(open).at(open.inputs.front().name), "shapes");
  const graph::Model good = made(residual(), usual_of_htp(), "qnn_htp");
  std::map<std::string, graph::Value> values;
  for (const auto& node : good.nodes) values[node.outputs.front()] = {node.outputs.front(), DataType::float32, Shape(6, 1)};
  EXPECT_EQ(htp_faults_of(good, values).at("Add_0"), "axes");
}

TEST(QnnHtpCheck, NamesAPadBetweenAMaxPoolInFloatAndAPair) {
  Builder b;
  const auto pooled = b.node("MaxPool", {b.input("x", {1, 4, 8, 8})}, {{"kernel_shape", std::vector<int64_t>{2, 2}}});
  const auto padded = b.node("Pad", {pooled, b.constant(Tensor::of<int64_t>({8}, {0, 0, 1, 1, 0, 0, 1, 1}))});
  const graph::Model model = b.finish({b.conv(padded, 4, 4, 3)});
  const Plan plan = plan_of(model, usual_of_htp(), qnn_htp);
  ASSERT_FALSE(plan.nodes.contains("MaxPool_0"));
  EXPECT_EQ(htp_faults_of(apply(model, plan)), (std::map<std::string, std::string>{{"Pad_0", "float"}}));
}

// The simulator's compiler gave up on these, and Log in 16 bits came out wrong (distance 1.05; 2026-11-29).
TEST(QnnHtpCheck, NamesWhatDoesNotCompileOrComesOutWrongBetweenPairs) {
  const auto fault_of = [](const std::string& node, DataType type, const auto& body) {
    Builder b;
    const auto y = body(b, b.node("Relu", {b.conv(b.input("x", {1, 4, 8, 8}), 4, 4, 3)}));
    const graph::Model model = b.finish({b.conv(y, 4, 4, 3)});
    const auto faults = htp_faults_of(written(model, plan_of_samples(model, type)));
    const auto found = faults.find(node);
    return found == faults.end() ? std::string() : found->second;
  };
  const auto wide = DataType::uint16, narrow = DataType::uint8;
  for (const char* type : {"Selu", "ThresholdedRelu"}) {
    const auto curve = [&](Builder& b, const std::string& y) { return b.node(type, {y}); };
    EXPECT_EQ(fault_of(std::string(type) + "_0", narrow, curve), "float");
  }
  const auto over = [](Builder& b, const std::string& y) {
    return b.node("Div", {number(b, 1), b.node("Add", {y, number(b, 1)})});
  };
  EXPECT_EQ(fault_of("Div_0", narrow, over), "division");
  const auto chosen = [](Builder& b, const std::string& y) {
    const auto half = b.node("Mul", {y, number(b, 0.5F)});
    return b.node("Where", {b.node("Greater", {y, number(b, 0.5F)}), y, half});
  };
  EXPECT_EQ(fault_of("Where_0", narrow, chosen), "condition");
  const auto logarithm = [](Builder& b, const std::string& y) { return b.node("Log", {b.node("Add", {y, number(b, 1)})}); };
  EXPECT_EQ(fault_of("Log_0", wide, logarithm), "types");
  EXPECT_EQ(fault_of("Log_0", narrow, logarithm), "");
}

TEST(QnnHtpCheck, NamesANormInFloat) {
  Builder b;
  const auto x = b.node("MatMul", {b.input("x", {1, 8}), b.weights({8, 6})});
  const auto y = b.node("Exp", {x});
  const std::vector<graph::Attribute> last{{"axes", std::vector<int64_t>{-1}}};
  const graph::Model model = b.finish({b.node("Div", {y, b.node("ReduceL2", {y}, last)})});
  EXPECT_EQ(htp_faults_of(apply(model, observed_plan_of(model, qnn_htp))).at("ReduceL2_0"), "float");
}

// Behind a convolution: a value above 0, what is done with it in float, and codes that another convolution reads, or a function.
// The simulator's compiler gave up on the first four before a convolution, and on nothing else (2026-11-29).
TEST(QnnHtpCheck, NamesWhatComputesInFloatBeforeCodes) {
  const auto fault_of = [](const std::string& node, const char* behind, const auto& body) {
    Builder b;
    const auto x = b.node("Add", {b.node("Relu", {b.conv(b.input("x", {1, 4, 8, 8}), 4, 4, 3)}), number(b, 1)});
    const auto y = b.node("Abs", {body(b, x)});
    const std::string end = behind == nullptr ? y : std::string(behind) == "Conv" ? b.conv(y, 4, 4, 3) : b.node(behind, {y});
    const graph::Model model = b.finish({end});
    const auto faults = htp_faults_of(written(model, plan_of_samples(model, DataType::uint16)));
    const auto found = faults.find(node);
    return found == faults.end() ? std::string() : found->second;
  };
  for (const char* type : {"Sqrt", "Exp", "Reciprocal"}) {
    const auto function = [&](Builder& b, const std::string& x) { return b.node(type, {x}); };
    EXPECT_EQ(fault_of(std::string(type) + "_0", "Conv", function), "float");
    EXPECT_EQ(fault_of(std::string(type) + "_0", "Sigmoid", function), "");
    EXPECT_EQ(fault_of(std::string(type) + "_0", nullptr, function), "") << "no codes behind it";
  }
  const auto quotient = [](Builder& b, const std::string& x) { return b.node("Div", {x, b.node("Abs", {x})}); };
  EXPECT_EQ(fault_of("Div_0", "Conv", quotient), "float");
  for (const char* type : {"Log", "Softplus", "Neg"}) {
    const auto function = [&](Builder& b, const std::string& x) { return b.node(type, {x}); };
    EXPECT_EQ(fault_of(std::string(type) + "_0", "Conv", function), "") << type;
  }
  const auto mean = [](Builder& b, const std::string& x) {
    return b.node("Add", {x, b.node("ReduceMean", {b.node("Sqrt", {x})}, {{"axes", std::vector<int64_t>{1}}})});
  };
  EXPECT_EQ(fault_of("Sqrt_0", "Conv", mean), "");
}

// Kernels of 3 with steps of 2: on 8 columns the last one is cut, on 9 none is.
TEST(QnnHtpCheck, NamesAveragesWhoseLastWindowIsCut) {
  const auto is_named = [](const char* type, int64_t size, int64_t ceil) {
    Builder b;
    const auto x = b.input("x", {1, 4, size, size});
    const graph::Model model = b.finish(
        {b.node(type, {x},
                {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"strides", std::vector<int64_t>{2, 2}}, {"ceil_mode", ceil}})});
    return !htp_faults_of(model, runtime::value_types(model)).empty();
  };
  EXPECT_TRUE(is_named("AveragePool", 8, 1));
  EXPECT_FALSE(is_named("AveragePool", 9, 1));
  EXPECT_FALSE(is_named("AveragePool", 8, 0));
  EXPECT_FALSE(is_named("MaxPool", 8, 1));
}

TEST(QnnHtpCheck, NamesVolumesInFloat) {
  for (const bool volumes : {false, true}) {
    Builder b;
    const Shape shape = volumes ? Shape{1, 2, 6, 6, 6} : Shape{1, 2, 6, 6};
    const Shape weights = volumes ? Shape{2, 2, 3, 3, 3} : Shape{2, 2, 3, 3};
    const graph::Model model = b.finish({b.node("Conv", {b.input("x", shape), b.weights(weights)})});
    EXPECT_EQ(htp_faults_of(model, runtime::value_types(model)).contains("Conv_0"), volumes);
  }
}

// Which neighbour is right was measured in the simulator, in float and on codes alike (2026-11-29).
TEST(QnnHtpCheck, NamesNeighboursThatTheProviderTakesOtherwise) {
  const auto fault_of = [](const std::string& way, const std::string& nearest, int64_t size) {
    Builder b;
    const auto x = b.conv(b.input("x", {1, 4, 8, 8}), 4, 4, 3);
    const auto y = b.node("Resize", {x, "", "", b.constant(Tensor::of<int64_t>({4}, {1, 4, size, size}))},
                          {{"mode", std::string("nearest")}, {"coordinate_transformation_mode", way}, {"nearest_mode", nearest}});
    const graph::Model model = b.finish({y});
    return htp_faults_of(model, runtime::value_types(model)).contains("Resize_0");
  };
  EXPECT_FALSE(fault_of("asymmetric", "floor", 12));
  EXPECT_TRUE(fault_of("asymmetric", "ceil", 16));
  EXPECT_TRUE(fault_of("asymmetric", "round_prefer_ceil", 16));
  EXPECT_FALSE(fault_of("half_pixel", "round_prefer_ceil", 12));
  EXPECT_FALSE(fault_of("half_pixel", "round_prefer_floor", 16));
  EXPECT_TRUE(fault_of("half_pixel", "round_prefer_floor", 12));
  EXPECT_TRUE(fault_of("half_pixel", "floor", 16));
  EXPECT_FALSE(fault_of("pytorch_half_pixel", "round_prefer_floor", 12));
  EXPECT_TRUE(fault_of("pytorch_half_pixel", "round_prefer_ceil", 12));
  EXPECT_TRUE(fault_of("align_corners", "floor", 16));
}

}  // namespace
}  // namespace quasar::quant
