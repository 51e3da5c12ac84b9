#include "quasar/rounding/gradient.hpp"

#include <gtest/gtest.h>

#include <set>

#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"
#include "unit/rounding/random_tensor.hpp"

namespace quasar::tune {
namespace {

using Numbers = std::vector<int64_t>;

// y = f(x): a node, the shape of x, and the node's other inputs.
struct Case {
  std::string type;
  Shape x;
  std::vector<graph::Attribute> attributes = {};
  std::vector<Tensor> before = {}, after = {};  // inputs on both sides of x
  int64_t opset = 17;
  float offset = 0;  // added to x, which is of normal distribution
  size_t outputs = 1;
};

Tensor numbers(const Numbers& values) {
  return Tensor::of(Shape{static_cast<int64_t>(values.size())}, values);
}

Tensor ramp(const Shape& shape, float first, float step) {
  std::vector<float> values(count_of(shape));
  for (size_t i = 0; i < values.size(); i++) values[i] = first + step * static_cast<float>(i);
  return Tensor::of(shape, values);
}

graph::Model model_of(const Case& one) {
  graph::Model model;
  model.opsets[""] = one.opset;
  model.inputs = {{"x", DataType::float32, one.x}};
  graph::Node node{.name = "f", .op_type = one.type, .domain = "", .inputs = {}, .outputs = {}};
  const auto constant = [&](const Tensor& tensor) {
    if (tensor.type() == DataType::undefined) return node.inputs.emplace_back();
    const std::string name = "c" + std::to_string(node.inputs.size());
    model.initializers[name] = tensor;
    return node.inputs.emplace_back(name);
  };
  for (const auto& tensor : one.before) constant(tensor);
  node.inputs.emplace_back("x");
  for (const auto& tensor : one.after) constant(tensor);
  for (size_t i = 0; i < one.outputs; i++) {
    node.outputs.push_back("y" + std::to_string(i));
    model.outputs.push_back({node.outputs.back(), DataType::float32});
  }
  node.attributes = one.attributes;
  model.nodes.push_back(node);
  return model;
}

// Σ of outputs, the i-th element of each times weight(i).
double weight_of(size_t i) {
  return 0.3 + 0.1 * static_cast<double>(i * 7 % 11);
}
double loss_of(const runtime::Session& session, const Tensor& x) {
  double sum = 0;
  for (const Tensor& output : session.run(std::vector{x})) {
    for (size_t i = 0; i < output.count(); i++) sum += weight_of(i) * static_cast<double>(output.as<float>()[i]);
  }
  return sum;
}

// Weights for the elements of an output, as constants of the model.
std::string weights_for(NodeWriter& writer, const std::string& output) {
  const std::string period =
      writer.node("Mod", {writer.node("Mul", {writer.numbers(output), writer.integer(7)}), writer.integer(11)});
  return writer.add(writer.multiply(writer.as_float(period), writer.number(0.1F)), writer.number(0.3F));
}

std::vector<float> gradient_at(const graph::Model& model, const Tensor& x) {
  ReversePass pass = reverse_pass(model, {"x"}, weights_for);
  const auto found = pass.gradients.find("x");
  if (found == pass.gradients.end()) return {};
  pass.model.outputs = {{found->second, DataType::float32}};
  const Tensor gradient = runtime::Session(pass.model).run(std::vector{x}).front();
  EXPECT_EQ(gradient.shape(), x.shape());
  return {gradient.as<float>().begin(), gradient.as<float>().end()};
}

std::vector<Case> cases() {
  const Tensor none, w = random_tensor({6, 4, 3, 3}, 2, 0.4F), depthwise = random_tensor({4, 1, 3, 3}, 3, 0.4F);
  const Tensor up = random_tensor({4, 3, 3, 3}, 4, 0.4F), matrix = random_tensor({4, 5}, 5), row = random_tensor({5}, 6);
  const Tensor gains = random_tensor({4}, 7, 0.5F), means = random_tensor({4}, 8),
               spreads = Tensor::of(Shape{4}, std::vector<float>{1, 2, 3, 0.5F});
  const graph::Attribute kernel{"kernel_shape", Numbers{3, 3}}, by_two{"strides", Numbers{2, 2}},
      around{"pads", Numbers{1, 1, 1, 1}};
  const Shape image{2, 4, 7, 6}, rows{2, 3, 4};
  const std::string same = "SAME_UPPER", lower = "SAME_LOWER";
  return {
      {"Conv", image, {around}, {}, {w, random_tensor({6}, 9)}},
      {"Conv", image, {by_two, {"pads", Numbers{0, 1, 2, 1}}}, {}, {w}},
      {"Conv", image, {by_two, {"auto_pad", same}}, {}, {w}},
      {"Conv", image, {by_two, {"auto_pad", lower}}, {}, {w}},
      {"Conv", image, {{"dilations", Numbers{2, 1}}, {"group", int64_t{4}}, around}, {}, {depthwise}},
      {"Conv", {2, 4, 9}, {{"strides", Numbers{3}}}, {}, {random_tensor({2, 4, 3}, 10)}},
      {"ConvTranspose", image, {by_two, around, {"output_padding", Numbers{1, 0}}}, {}, {up}},
      {"ConvTranspose", image, {{"group", int64_t{2}}}, {}, {up}},
      {"Gemm", {3, 4}, {{"alpha", 0.5F}}, {}, {matrix, row}},
      {"Gemm", {3, 5}, {{"transB", int64_t{1}}}, {}, {matrix}},
      {"MatMul", rows, {}, {}, {matrix}},
      {"MatMul", rows, {}, {random_tensor({5, 3}, 11)}},
      {"MatMul", {4, 5}, {}, {random_tensor({2, 3, 4}, 12)}},
      {"Add", {4}, {}, {random_tensor(rows, 13)}},
      {"Add", rows, {}, {}, {random_tensor(rows, 14)}},
      {"Sub", {3, 1}, {}, {random_tensor(rows, 15)}},
      {"Mul", {2, 1, 4}, {}, {}, {random_tensor(rows, 16)}},
      {"Div", rows, {}, {}, {ramp({4}, 1, 0.5F)}},
      {"Div", {4}, {}, {random_tensor(rows, 17)}, {}, 17, 8},
      {"Pow", rows, {}, {}, {Tensor::scalar(3.0F)}},
      {"Abs", rows},
      {"Clip", rows, {}, {}, {Tensor::scalar(-0.5F), Tensor::scalar(0.8F)}},
      {"Cos", rows},
      {"Elu", rows, {{"alpha", 0.7F}}},
      {"Erf", rows},
      {"Exp", rows},
      {"Gelu", rows, {}, {}, {}, 20},
      {"HardSigmoid", rows, {{"alpha", 0.4F}}},
      {"HardSwish", rows},
      {"LeakyRelu", rows, {{"alpha", 0.2F}}},
      {"Log", rows, {}, {}, {}, 17, 8},
      {"Neg", rows},
      {"PRelu", rows, {}, {}, {gains}},
      {"Reciprocal", rows, {}, {}, {}, 17, 8},
      {"Relu", rows, {}, {}, {}, 13},
      {"Sigmoid", rows},
      {"Sin", rows},
      {"Softplus", rows},
      {"Sqrt", rows, {}, {}, {}, 17, 8},
      {"Tanh", rows},
      {"Softmax", rows},
      {"Softmax", rows, {{"axis", int64_t{1}}}},
      {"LogSoftmax", rows},
      {"Ceil", rows},
      {"Floor", rows},
      {"Round", rows},
      {"Sign", rows},
      {"Cast", rows, {{"to", int64_t{1}}}},
      {"Dropout", rows},
      {"Flatten", rows},
      {"Identity", rows},
      {"Reshape", rows, {}, {}, {numbers({4, -1})}},
      {"Squeeze", {2, 1, 4}, {}, {}, {numbers({1})}},
      {"Transpose", rows},
      {"Transpose", rows, {{"perm", Numbers{2, 0, 1}}}},
      {"Unsqueeze", rows, {}, {}, {numbers({1})}},
      {"Concat", rows, {{"axis", int64_t{-1}}}, {random_tensor({2, 3, 2}, 18)}, {random_tensor({2, 3, 1}, 19)}},
      {"Split", rows, {{"axis", int64_t{2}}}, {}, {numbers({1, 3})}, 17, 0, 2},
      {"DepthToSpace", image, {{"blocksize", int64_t{2}}}},
      {"SpaceToDepth", {1, 2, 4, 6}, {{"blocksize", int64_t{2}}}},
      {"Expand", {3, 1}, {}, {}, {numbers({2, 3, 4})}},
      {"Gather", rows, {{"axis", int64_t{1}}}, {}, {numbers({2, 0, 2})}},
      {"GatherElements", {2, 3}, {{"axis", int64_t{1}}}, {}, {Tensor::of(Shape{2, 2}, Numbers{0, 2, 1, 1})}},
      {"GatherND", rows, {}, {}, {Tensor::of(Shape{2, 2}, Numbers{0, 2, 1, 1})}},
      {"Pad", rows, {}, {}, {numbers({0, 1, 2, 0, 0, 1})}},
      {"Resize",
       image,
       {{"coordinate_transformation_mode", std::string("asymmetric")}, {"nearest_mode", std::string("floor")}},
       {},
       {none, ramp({4}, 1, 0.5F)}},
      {"Slice", rows, {}, {}, {numbers({-1, 0}), numbers({-5, 3}), numbers({2, 1}), numbers({-2, 1})}},
      {"Where", {3, 4}, {}, {Tensor::of(Shape{2, 1, 4}, std::vector<uint8_t>{1, 0, 0, 1, 0, 0, 1, 1})}, {Tensor::scalar(2.0F)}},
      {"ReduceL2", rows, {{"axes", Numbers{-1}}}},
      {"ReduceMean", rows, {{"axes", Numbers{0, -1}}, {"keepdims", int64_t{0}}}},
      {"ReduceMean", rows, {}, {}, {numbers({1})}, 18},
      {"ReduceSum", rows, {{"keepdims", int64_t{0}}}, {}, {numbers({1})}},
      {"LayerNormalization", rows, {}, {}, {gains, means}},
      {"LayerNormalization", rows, {{"axis", int64_t{1}}}, {}, {random_tensor({3, 4}, 20), random_tensor({3, 4}, 21)}, 18},
      {"InstanceNormalization", image, {}, {}, {gains, means}},
      {"BatchNormalization", image, {}, {}, {gains, means, means, spreads}},
      {"MaxPool", image, {kernel, by_two, around}},
      {"AveragePool", image, {kernel, by_two, around}},
      {"AveragePool", image, {kernel, around, {"count_include_pad", int64_t{1}}}},
      {"AveragePool", image, {{"kernel_shape", Numbers{2, 3}}, by_two}},
      {"GlobalAveragePool", image},
  };
}

// By central differences of the model itself.
TEST(Gradient, OfEveryFamilyIsTheSlope) {
  constexpr float step = 0.01F;
  std::set<std::string> tried;
  for (Case one : cases()) {
    SCOPED_TRACE(one.type + " " + to_string(one.x));
    tried.insert(one.type);
    if (one.type == "Where") {
      const Tensor& given = one.before.front();
      one.before.front() = Tensor(DataType::boolean, given.shape(), std::make_shared<Tensor>(given), given.bytes().data());
    }
    const graph::Model model = model_of(one);
    std::vector<float> x(count_of(one.x));
    const Tensor drawn = random_tensor(one.x, 1);
    for (size_t i = 0; i < x.size(); i++) x[i] = drawn.as<float>()[i] * (one.offset > 0 ? 0.5F : 1) + one.offset;
    const runtime::Session session(model);
    const std::vector<float> gradient = gradient_at(model, Tensor::of(one.x, x));
    if (one.type == "Ceil" || one.type == "Floor" || one.type == "Round" || one.type == "Sign") {
      EXPECT_TRUE(gradient.empty());
      continue;
    }
    ASSERT_EQ(gradient.size(), x.size());
    size_t kinks = 0;
    for (size_t i = 0; i < x.size(); i++) {
      const auto moved = [&](float by) {
        std::vector<float> other = x;
        other[i] += by;
        return loss_of(session, Tensor::of(one.x, other));
      };
      const double middle = moved(0), right = (moved(step) - middle) / step, left = (middle - moved(-step)) / step;
      // Where slopes on both sides differ, the gradient may be either.
      const double least = std::min(left, right) - 0.03, most = std::max(left, right) + 0.03;
      EXPECT_GE(gradient[i], least) << i;
      EXPECT_LE(gradient[i], most) << i;
      kinks += std::abs(right - left) > 0.1 ? 1 : 0;
    }
    EXPECT_LE(kinks, x.size() / 4 + 1);
  }
  for (const auto& [name, entry] : gradients::table().items()) {
    for (const auto type : entry.make({})->types()) EXPECT_TRUE(tried.contains(std::string(type))) << type << " has no case";
  }
}

graph::Node step(const std::string& type, const std::vector<std::string>& inputs, const std::string& output) {
  return {.name = output + "_node", .op_type = type, .domain = "", .inputs = inputs, .outputs = {output}};
}

// x is read by three nodes, and one of them by an operator without gradient whose result no output needs in float.
TEST(Gradient, ContributionsOfAllReadersAreAdded) {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{"x", DataType::float32, Shape{3}}};
  model.outputs = {{"y", DataType::float32}, {"count", DataType::int64}};
  model.nodes = {step("Mul", {"x", "x"}, "square"), step("Relu", {"x"}, "relu"), step("Add", {"square", "relu"}, "y"),
                 step("Shape", {"square"}, "count")};
  const std::vector<float> found = gradient_at(model, Tensor::of(Shape{3}, std::vector<float>{1, -2, 3}));
  ASSERT_EQ(found.size(), 3U);
  EXPECT_NEAR(found[0], weight_of(0) * 3, 1e-5);
  EXPECT_NEAR(found[1], weight_of(1) * -4, 1e-5);
  EXPECT_NEAR(found[2], weight_of(2) * 7, 1e-5);
}

// What is only partly known is not given.
TEST(Gradient, StopsAtAnOperatorWithoutOne) {
  graph::Model model;
  model.opsets[""] = 17;
  model.inputs = {{"x", DataType::float32, Shape{4}}};
  model.outputs = {{"y", DataType::float32}};
  model.nodes = {step("Relu", {"x"}, "a"), step("Softsign", {"a"}, "b"), step("Add", {"a", "b"}, "c"), step("Exp", {"c"}, "y")};
  const ReversePass pass = reverse_pass(model, {"a", "c"}, weights_for);
  EXPECT_TRUE(pass.gradients.contains("c"));
  EXPECT_FALSE(pass.gradients.contains("a"));
  EXPECT_EQ(pass.missing, (std::map<std::string, size_t>{{"Softsign", 1}}));
}

}  // namespace
}  // namespace quasar::tune
