#include "quasar/sensitivity/unit_errors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "quasar/base/rng.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/sensitivity/group_errors.hpp"
#include "unit/tune/generated_samples.hpp"

namespace quasar::tune {
namespace {

Tensor noise(const Shape& shape, uint64_t seed, float scale) {
  Rng rng(seed);
  std::vector<float> values(count_of(shape));
  for (auto& value : values) value = scale * static_cast<float>(rng.normal());
  return Tensor::of(shape, values);
}

// x ─MatMul─ m ─Relu─ r ─MatMul─ y
graph::Model chain() {
  graph::Model model;
  model.opsets[""] = 17;
  model.inputs = {{"x", DataType::float32, Shape{1, 16}}};
  model.outputs = {{"y", DataType::float32, Shape{1, 4}}};
  model.initializers["w1"] = noise({16, 8}, 1, 0.5F);
  model.initializers["w2"] = noise({8, 4}, 2, 0.5F);
  model.nodes = {{.name = "first", .op_type = "MatMul", .domain = "", .inputs = {"x", "w1"}, .outputs = {"m"}},
                 {.name = "relu", .op_type = "Relu", .domain = "", .inputs = {"m"}, .outputs = {"r"}},
                 {.name = "second", .op_type = "MatMul", .domain = "", .inputs = {"r", "w2"}, .outputs = {"y"}}};
  return model;
}

struct Samples final : GeneratedSamples {
  Samples() : GeneratedSamples(20, [](size_t index) { return data::Sample{noise({1, 16}, 50 + index, 1)}; }) {}
};

quant::QuantParams scale(float s) {
  return {.type = DataType::int8, .scales = {s}, .zero_points = {0}};
}

double model_distance(const graph::Model& model, const quant::Plan& plan, const Samples& samples) {
  const runtime::Session reference(model), candidate(quant::apply(model, plan), {.integer_kernels = false});
  double sum = 0;
  for (size_t i = 0; i < samples.size(); i++) {
    const auto y = reference.run(samples.at(i)), q = candidate.run(samples.at(i));
    double squares = 0;
    for (size_t j = 0; j < 4; j++) squares += std::pow(y[0].as<float>()[j] - q[0].as<float>()[j], 2);
    sum += std::sqrt(squares);
  }
  return sum / static_cast<double>(samples.size());
}

quant::Plan whole_plan() {
  quant::Plan plan;
  plan.values = {{"x", scale(0.05F)}, {"r", scale(0.05F)}, {"y", scale(0.1F)}};
  plan.nodes["first"].weight = quant::ConstantPlan{1, scale(0.02F)};
  plan.nodes["relu"] = {};
  plan.nodes["second"].weight = quant::ConstantPlan{1, scale(0.02F)};
  return plan;
}

// 40 products, of which one has weights on a grid that is much too coarse.
TEST(UnitErrors, WorkIsThatOfEachUnitAndAllBehindIt) {
  const ToggledModel model(chain(), whole_plan());
  const Samples samples;
  const auto errors = alone(model, samples);
  double behind = 0, sum = 0;
  for (auto error = errors.rbegin(); error != errors.rend(); ++error) sum += behind += error->work;
  EXPECT_EQ(work_by_units(model, samples.at(0)), 2 * sum);
}

TEST(UnitErrors, ProgressComesToItsEnd) {
  const ToggledModel model(chain(), whole_plan());
  std::map<std::string, double> most;
  const Progress progress = [&](const std::string& work, double share) { most[work] = std::max(most[work], share); };
  alone(model, Samples(), 1, output_distance, progress);
  up_to_each(model, Samples(), 1, progress);
  EXPECT_EQ(most.size(), 2U);
  for (const auto& [work, share] : most) EXPECT_EQ(share, 1) << work;
}

TEST(GroupErrors, FindTheWorstUnitInFewRuns) {
  constexpr size_t depth = 40, worst = 29;
  graph::Model model;
  model.opsets[""] = 17;
  model.inputs = {{"v0", DataType::float32, Shape{1, 16}}};
  quant::Plan plan;
  for (size_t k = 0; k < depth; k++) {
    const std::string in = "v" + std::to_string(k), out = "v" + std::to_string(k + 1), name = "n" + std::to_string(k);
    model.initializers["w" + name] = noise({16, 16}, 100 + k, 0.25F);
    model.nodes.push_back({.name = name, .op_type = "MatMul", .domain = "", .inputs = {in, "w" + name}, .outputs = {out}});
    plan.values[in] = scale(0.1F);
    plan.nodes[name].weight = quant::ConstantPlan{1, scale(k == worst ? 0.2F : 0.01F)};
  }
  model.outputs = {{"v40", DataType::float32, Shape{1, 16}}};
  const Samples samples;
  const ToggledModel toggled(model, plan);
  ASSERT_EQ(toggled.units().size(), depth);
  const data::DatasetPtr all(data::DatasetPtr(), &samples);
  const auto two = data::first(all, 2);
  const auto exact = group_errors(toggled, *two, depth);
  const std::vector<double> alone_errors = alone_at_outputs(toggled, *two);
  ASSERT_EQ(exact.size(), depth);
  for (size_t u = 0; u < depth; u++) EXPECT_NEAR(exact[u].error, alone_errors[u], 1e-6 * alone_errors[worst]);
  const auto groups = group_errors(toggled, *two, 16);  // of 40
  size_t units = 0;
  for (const auto& group : groups) {
    EXPECT_EQ(group.first, units);
    units += group.count;
  }
  EXPECT_EQ(units, depth);
  EXPECT_LE(groups.size(), 16u);
  std::vector<double> noises(depth, 1);
  noises[worst] = 100;
  const auto errors = shared_out(groups, noises);
  EXPECT_EQ(std::ranges::max_element(errors) - errors.begin(), worst);
  EXPECT_NEAR(errors[worst], alone_errors[worst], 0.4 * alone_errors[worst]);
  double squares = 0, all_squares = 0;  // nothing is lost by sharing out
  for (const double error : errors) squares += error * error;
  for (const auto& group : groups) all_squares += group.error * group.error;
  EXPECT_NEAR(squares, all_squares, 1e-9 * all_squares);
}

TEST(ToggledModel, WithEverySwitchOnIsTheQuantizedModel) {
  const graph::Model model = chain();
  const Samples samples;
  const ToggledModel toggled(model, whole_plan());
  ASSERT_EQ(toggled.units().size(), 2u);
  const runtime::Session reference(model), candidate(quant::apply(model, whole_plan()), {.integer_kernels = false});
  for (size_t i = 0; i < samples.size(); i++) {
    const auto y = reference.run(samples.at(i)), q = candidate.run(samples.at(i));
    EXPECT_EQ(toggled.outputs(samples.at(i), {false, false})[0], y[0]);
    const auto on = toggled.outputs(samples.at(i), {true, true});
    for (size_t j = 0; j < 4; j++) EXPECT_NEAR(on[0].as<float>()[j], q[0].as<float>()[j], 1e-5);
  }
}

// x ─MatMul─ m ─Add─ a ─Relu─ r ─MatMul─ y: two switches wrote `a`, and ONNX Runtime refused the model.
TEST(ToggledModel, ABiasAddedToAProductIsAUnitOfItsOwn) {
  graph::Model model = chain();
  model.initializers["b"] = noise({8}, 3, 0.5F);
  model.nodes[1].inputs = {"a"};
  quant::Plan plan = whole_plan();
  plan.nodes["add"] = {};
  const Samples samples;
  for (const bool swapped : {false, true}) {
    graph::Node add{.name = "add", .op_type = "Add", .domain = "", .inputs = {"m", "b"}, .outputs = {"a"}};
    if (swapped) std::swap(add.inputs[0], add.inputs[1]);
    graph::Model with_add = model;
    with_add.nodes.insert(with_add.nodes.begin() + 1, add);
    const ToggledModel toggled(with_add, plan);
    ASSERT_EQ(toggled.units().size(), 3u);
    EXPECT_EQ(toggled.units()[1].node, "add");
    const runtime::Session reference(with_add), candidate(quant::apply(with_add, plan), {.integer_kernels = false});
    const auto sample = samples.at(0);
    const auto y = reference.run(sample), q = candidate.run(sample), on = toggled.outputs(sample, {true, true, true});
    EXPECT_EQ(toggled.outputs(sample, {false, false, false})[0], y[0]);
    for (size_t j = 0; j < 4; j++) EXPECT_NEAR(on[0].as<float>()[j], q[0].as<float>()[j], 1e-5);
    EXPECT_EQ(toggled.locals(sample, {true, true, true}).size(), 3u);
  }
}

// Strategies end with what they have when it happens, and tell it from other errors.
TEST(ToggledModel, AModelThatDoesNotRunIsAnErrorOfItsOwn) {
  graph::Model model = chain();
  model.nodes[1].op_type = "NoSuchOperator";
  const ToggledModel toggled(model, whole_plan());
  const Samples samples;
  EXPECT_THROW(toggled.outputs(samples.at(0), {true, true}), ToggledModelFailed);
  EXPECT_THROW(toggled.locals(samples.at(0), {true, true}), ToggledModelFailed);
}

TEST(UnitErrors, AloneIsTheErrorOfAModelInWhichNothingElseIsQuantized) {
  const graph::Model model = chain();
  quant::Plan plan;
  plan.values = {{"r", scale(0.05F)}, {"y", scale(0.1F)}};
  plan.nodes["second"].weight = quant::ConstantPlan{1, scale(0.02F)};
  const Samples samples;
  const auto errors = alone(ToggledModel(model, whole_plan()), samples);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[1].unit.node, "second");
  EXPECT_DOUBLE_EQ(errors[1].work, 32);  // 8 inputs, 4 outputs
  EXPECT_NEAR(errors[1].output_error, model_distance(model, plan, samples), 1e-6);
  EXPECT_GT(errors[0].output_error, 0);
  EXPECT_GT(errors[1].noise_to_signal, 0);
}

TEST(UnitErrors, FlippingOneSwitchOfTwo) {
  const graph::Model model = chain();
  const Samples samples;
  const ToggledModel toggled(model, whole_plan());
  const auto errors = alone(toggled, samples);
  const auto without = without_each(toggled, samples, {true, true}, {true, true});
  EXPECT_DOUBLE_EQ(without[0], errors[1].output_error);
  EXPECT_DOUBLE_EQ(without[1], errors[0].output_error);
  const auto with = with_each(toggled, samples, {true, false});
  EXPECT_EQ(with[0], 0);
  EXPECT_NEAR(with[1], model_distance(model, whole_plan(), samples), 1e-5);
}

TEST(UnitErrors, AsManySamplesAtATimeAsMayBeKept) {
  const graph::Model model = chain();
  const Samples samples;
  const size_t bytes = 4 * (16 + 8 + 4);  // of x, r and y
  for (const size_t fit : {size_t{0}, size_t{1}, size_t{3}, size_t{100}}) {
    const ToggledModel toggled(model, whole_plan(), fit * bytes);
    EXPECT_EQ(passages_at_once(toggled, samples, 4), std::clamp<size_t>(fit, 1, 4)) << fit;
    EXPECT_EQ(alone_at_outputs(toggled, samples, 4), alone_at_outputs(ToggledModel(model, whole_plan()), samples, 1)) << fit;
  }
}

TEST(UnitErrors, AccumulateFromTheFirstToTheWholeModel) {
  const graph::Model model = chain();
  const Samples samples;
  const ToggledModel toggled(model, whole_plan());
  const auto sums = up_to_each(toggled, samples);
  ASSERT_EQ(sums.size(), toggled.units().size());
  EXPECT_DOUBLE_EQ(sums.front(), alone(toggled, samples).front().output_error);
  EXPECT_DOUBLE_EQ(sums.back(), with_all(toggled, samples));
  EXPECT_NEAR(sums.back(), model_distance(model, whole_plan(), samples), 1e-3);
}

}  // namespace
}  // namespace quasar::tune
