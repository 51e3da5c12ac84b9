// What keeps float32 in files of float16 since small values, positions or angles are computed there.
#include <gtest/gtest.h>

#include "made_up_statistics.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

using Observed = std::map<std::string, std::vector<float>>;

// Of a plan with float16 for the rest. All values but the observed ones lie where float16 is at its best.
Plan fine_plan(const graph::Model& model, const Observed& observed = {}) {
  Json words = words_of_scheme("s8s8_tensorrt");
  words["high_precision_dtype"] = "fp16";
  stats::Statistics seen = made_up_statistics(model);
  for (const auto& [value, numbers] : observed) seen[value] = stats::of_values(numbers, {.histogram = true});
  return resolve(model, seen, parse_config(words), *targets::table().make("tensorrt"));
}

std::set<std::string> kept_wide(const graph::Model& model, const Observed& observed = {}) {
  return *fine_plan(model, observed).half_but;
}

std::string number(Builder& b, float value) {
  return b.constant(Tensor::scalar(value));
}

// conv, made a row, divided by its norm; `guard`: the norm is not below it.
graph::Model normalized(float guard) {
  Builder b;
  const auto row =
      b.node("Reshape", {b.conv(b.input("x", {1, 16, 4, 4}), 16, 16, 3), b.constant(Tensor::of<int64_t>({2}, {1, 256}))});
  const auto square = b.node("Mul", {row, row});
  const auto norm = b.node("Sqrt", {b.node("ReduceMean", {square}, {{"axes", std::vector<int64_t>{1}}})});
  return b.finish({b.node("Div", {row, b.node("Max", {norm, number(b, guard)})})});
}

const Observed with_zeros = {
    {"Mul_0_out", {0, 4}}, {"ReduceMean_0_out", {0, 2}}, {"Sqrt_0_out", {0, 1.4F}}, {"Max_0_out", {0, 1.4F}}};

TEST(HalfFine, ADivisionByWhatMayBeSmallStaysFloat32WithAllThatLeadsThere) {
  const std::set<std::string> to_the_root = {"Conv_0", "Reshape_0", "Mul_0", "ReduceMean_0", "Sqrt_0"};
  std::set<std::string> all = to_the_root;
  all.insert({"Max_0", "Div_0"});
  EXPECT_EQ(kept_wide(normalized(1e-12F), with_zeros), all);
  EXPECT_EQ(kept_wide(normalized(1e-5F), with_zeros), all) << "a guard that float16 holds, and no value near it";
  EXPECT_EQ(kept_wide(normalized(0.01F), with_zeros), to_the_root) << "the guard keeps divisors large";
  Observed large = with_zeros;
  for (auto& [value, numbers] : large) numbers[0] = 0.5F;
  EXPECT_EQ(kept_wide(normalized(0.01F), large), std::set<std::string>());
  EXPECT_EQ(kept_wide(normalized(1e-12F), large), std::set<std::string>{"Max_0"}) << "a constant that it does not hold";
}

TEST(HalfFine, TheNoteNamesThem) {
  const Plan plan = fine_plan(normalized(1e-12F), with_zeros);
  EXPECT_TRUE(std::ranges::any_of(plan.notes, [](const auto& note) {
    return note.find("before a logarithm, a root or a division: Conv_0, Reshape_0, Mul_0") != std::string::npos;
  }));
}

// The sign of what divides may change, then it comes near 0.
TEST(HalfFine, ObservedDivisors) {
  Builder b;
  const auto sum = b.conv(b.input("x", {1, 16, 4, 4}), 16, 16, 3);
  const auto model = b.finish({b.node("Div", {b.conv("x", 16, 16, 3), sum})});
  EXPECT_EQ(kept_wide(model, {{"Conv_0_out", {0.5F, 2}}}), std::set<std::string>());
  EXPECT_EQ(kept_wide(model, {{"Conv_0_out", {-2, -0.5F}}}), std::set<std::string>());
  const std::set<std::string> both = {"Conv_0", "Div_0"};
  EXPECT_EQ(kept_wide(model, {{"Conv_0_out", {-1, 2}}}), both);
  EXPECT_EQ(kept_wide(model, {{"Conv_0_out", {1e-4F, 2}}}), both) << "half of it has not all of its bits";
}

TEST(HalfFine, LogarithmsOfProbabilities) {
  const auto model = [](float least) {
    Builder b;
    const auto sum = b.conv(b.input("x", {1, 16, 4, 4}), 16, 16, 3);
    const auto shares = b.node("Softmax", {sum}, {{"axis", int64_t{1}}});
    return b.finish({b.node("Log", {least > 0 ? b.node("Max", {shares, number(b, least)}) : shares})});
  };
  const Observed seen = {{"Softmax_0_out", {0, 1}}, {"Max_0_out", {0.001F, 1}}, {"Log_0_out", {-7, 0}}};
  EXPECT_EQ(kept_wide(model(0), seen), (std::set<std::string>{"Log_0", "Softmax_0"})) << "what Softmax reads may be rounded";
  EXPECT_EQ(kept_wide(model(0.001F), seen), std::set<std::string>());
}

TEST(HalfFine, RootsAndPowersBelowOne) {
  const auto model = [](float exponent) {
    Builder b;
    const auto sum = b.node("Relu", {b.conv(b.input("x", {1, 16, 4, 4}), 16, 16, 3)});
    return b.finish({b.node("Pow", {b.node("Mul", {sum, number(b, 2)}), number(b, exponent)})});
  };
  const Observed seen = {{"Mul_0_out", {0, 4}}, {"Pow_0_out", {0, 4}}};
  EXPECT_TRUE(kept_wide(model(0.5F), seen).contains("Pow_0"));
  EXPECT_TRUE(kept_wide(model(0.5F), seen).contains("Mul_0"));
  EXPECT_TRUE(kept_wide(model(-1), seen).contains("Pow_0"));
  EXPECT_FALSE(kept_wide(model(2), seen).contains("Pow_0"));
}

TEST(HalfFine, AnglesBeyondEightStayFloat32) {
  Builder b;
  const auto turn = b.node("Mul", {b.conv(b.input("x", {1, 16, 4, 4}), 16, 16, 3), number(b, 30)});
  const auto model = b.finish({b.node("Sin", {turn}), b.node("Cos", {turn})});
  EXPECT_EQ(kept_wide(model, {{"Mul_0_out", {-90, 90}}}), (std::set<std::string>{"Conv_0", "Mul_0", "Sin_0", "Cos_0"}));
  EXPECT_EQ(kept_wide(model, {{"Mul_0_out", {-3, 3}}}), std::set<std::string>());
}

// Which cell a value falls into, and where in it.
TEST(HalfFine, PositionsBeforeTheyBecomeWholeNumbers) {
  Builder b;
  const auto place = b.node("Mul", {b.conv(b.input("x", {1, 16, 4, 4}), 16, 16, 3), number(b, 7)});
  const auto moved = b.node("Add", {place, number(b, 3)});
  const auto cell = b.node("Floor", {moved});
  const auto index = b.node("Cast", {b.node("Relu", {moved})}, {{"to", static_cast<int64_t>(DataType::int64)}});
  const auto model = b.finish({b.node("Sub", {moved, cell}), b.node("Sigmoid", {b.conv("x", 16, 16, 3)}), index});
  const std::set<std::string> kept = kept_wide(model, {{"Floor_0_out", {-5, 5}}});
  for (const char* node : {"Mul_0", "Add_0", "Relu_0", "Conv_0", "Sub_0"}) EXPECT_TRUE(kept.contains(node)) << node;
  EXPECT_FALSE(kept.contains("Conv_1"));
  EXPECT_FALSE(kept.contains("Sigmoid_0"));
}

// The position passes another operator before its whole part is taken off.
TEST(HalfFine, APositionIsOneBehindWhatMovesIt) {
  Builder b;
  const auto place = b.node("Mul", {b.conv(b.input("x", {1, 16, 4, 4}), 16, 16, 3), number(b, 7)});
  const auto cell = b.node("Floor", {place});
  const auto shape = b.constant(Tensor::of<int64_t>({2}, {1, 256}));
  const auto model = b.finish({b.node("Sub", {b.node("Reshape", {place, shape}), b.node("Reshape", {cell, shape})})});
  EXPECT_TRUE(kept_wide(model, {{"Floor_0_out", {-5, 5}}}).contains("Sub_0"));
}

// What a quotient's divisor keeps in float32 is a position, too.
TEST(HalfFine, APositionThatIsAQuotient) {
  Builder b;
  const auto sum = b.conv(b.input("x", {1, 16, 4, 4}), 16, 16, 3);
  const auto place = b.node("Div", {number(b, 1), sum});
  const auto model = b.finish({b.node("Sub", {place, b.node("Floor", {place})})});
  EXPECT_TRUE(kept_wide(model, {{"Conv_0_out", {-1, 1}}, {"Floor_0_out", {-5, 5}}}).contains("Sub_0"));
}

TEST(HalfFine, ScalesOfAResizeStayFloat32) {
  Builder b;
  const auto sum = b.conv(b.input("x", {1, 16, 4, 4}), 16, 16, 3);
  const auto ratio = b.node("Div", {b.input("there", {4}), b.input("here", {4})});
  const auto model = b.finish({b.node("Resize", {sum, "", ratio})});
  EXPECT_TRUE(kept_wide(model, {{"here", {3, 12}}, {"there", {4, 16}}}).contains("Div_0"));
}

TEST(HalfFine, AClipMayMakeSmallOfLarge) {
  const auto model = [](float most) {
    Builder b;
    const auto size = b.node("Abs", {b.conv(b.input("x", {1, 16, 4, 4}), 16, 16, 3)});
    return b.finish({b.node("Div", {number(b, 1), b.clip(size, 0, most)})});
  };
  const Observed seen = {{"Abs_0_out", {1, 2}}, {"Clip_0_out", {0, 1}}};
  EXPECT_TRUE(kept_wide(model(2e-5F), seen).contains("Div_0"));
  EXPECT_FALSE(kept_wide(model(4), seen).contains("Div_0"));
}

TEST(HalfFine, WholeNumbersBeyond2048) {
  Builder b;
  const auto sum = b.conv(b.input("x", {1, 16, 4, 4}), 16, 16, 3);
  const auto number_of = b.node("Cast", {b.input("n", {1}, DataType::int64)}, {{"to", static_cast<int64_t>(DataType::float32)}});
  const auto scaled = b.node("Mul", {b.node("Add", {number_of, number(b, 1)}), number(b, 0.5F)});
  const auto model = b.finish({b.node("Add", {sum, scaled})});
  const auto with = [&](float largest) {
    return kept_wide(model, {{"Cast_0_out", {0, largest}},
                             {"Add_0_out", {1, largest}},
                             {"Mul_0_out", {0.5F, largest / 2}},
                             {"Add_1_out", {0, largest}}});
  };
  EXPECT_EQ(with(1000), std::set<std::string>());
  EXPECT_EQ(with(3000), (std::set<std::string>{"Add_0", "Mul_0"})) << "half of 3000 is within float16 again";
  EXPECT_EQ(with(9000), (std::set<std::string>{"Add_0", "Mul_0", "Add_1"}));
}

TEST(HalfFine, NormsHaveNoRow) {
  Builder b;
  const auto sum = b.conv(b.input("x", {1, 16, 4, 4}), 16, 16, 3);
  const auto norm = b.node("ReduceL2", {sum}, {{"axes", std::vector<int64_t>{1}}});
  const auto model = b.finish({b.node("Mul", {norm, norm})});
  const graph::Model made = written(model, fine_plan(model, {{"ReduceL2_0_out", {300, 400}}}));
  const graph::Index index(made);
  EXPECT_TRUE(index.producer(index.node("ReduceL2_0")->inputs[0])->is("Cast"));
}

}  // namespace
}  // namespace quasar::quant
