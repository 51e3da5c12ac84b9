#include "quasar/sensitivity/hessian_trace.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/sensitivity/loss.hpp"

namespace quasar::tune {
namespace {

constexpr int64_t inputs = 6, outputs = 3;

Tensor noise(const Shape& shape, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(count_of(shape));
  for (auto& value : values) value = static_cast<float>(rng.normal());
  return Tensor::of(shape, values);
}

class MaybeLabelled final : public data::Dataset {
 public:
  explicit MaybeLabelled(bool labels) : labels_(labels) {}
  size_t size() const override { return 40; }
  data::Sample at(size_t index) const override { return {noise({1, inputs}, 9 + index)}; }
  std::optional<int64_t> label(size_t index) const override {
    return labels_ ? std::optional<int64_t>(static_cast<int64_t>(index) % outputs) : std::nullopt;
  }
  std::string source() const override { return "test"; }

 private:
  bool labels_;
};

graph::Model linear() {
  graph::Model model;
  model.opsets[""] = 17;
  model.inputs = {{"x", DataType::float32, Shape{1, inputs}}};
  model.outputs = {{"y", DataType::float32, Shape{1, outputs}}};
  model.initializers["w"] = noise({inputs, outputs}, 1);
  model.nodes = {{.name = "product", .op_type = "MatMul", .domain = "", .inputs = {"x", "w"}, .outputs = {"y"}}};
  return model;
}

// For L = mean_o (y_o − f_o)² and y = xW the Hessian's diagonal is 2 x_i² / outputs, whatever W is.
TEST(HessianTrace, OfALinearLayerUnderSquaredErrorIsKnown) {
  const MaybeLabelled samples(false);
  double expected = 0;
  for (size_t i = 0; i < samples.size(); i++) {
    const data::Sample sample = samples.at(i);
    for (const float x : sample[0].as<float>())
      expected += 2.0 * x * x / inputs;  // per weight: trace 2 Σx² over inputs · outputs
  }
  expected /= static_cast<double>(samples.size()) * outputs;
  const auto traces = average_traces(linear(), {"w"}, samples, {.loss = "mse", .probes = 16});
  EXPECT_NEAR(traces.at("w"), expected, 0.15 * expected);
}

TEST(HessianTrace, DoesNotDependOnThreads) {
  const MaybeLabelled samples(true);
  for (const char* loss : {"mse", "kl", "cross_entropy"}) {
    const auto one = average_traces(linear(), {"w"}, samples, {.loss = loss, .threads = 1});
    const auto three = average_traces(linear(), {"w"}, samples, {.loss = loss, .threads = 3});
    EXPECT_EQ(one, three) << loss;
    EXPECT_GT(one.at("w"), 0) << loss;
  }
}

class Broken final : public Loss {
 public:
  explicit Broken(bool throws) : throws_(throws) {}
  double of(const Tensor&, const Tensor&, std::optional<int64_t>) const override {
    if (throws_) throw Error("no such target");
    return std::nan("");
  }

 private:
  bool throws_;
};

// Whatever comes out of a user's own function, it is told whose it is.
TEST(HessianTrace, ALossThatGivesNoNumberOrFailsIsNamed) {
  for (const bool throws : {false, true}) {
    const Registration<Loss> guest(losses::table(), "my_own_loss", {.help = "of a test", .make = [throws](const Options&) {
                                                                      return std::make_unique<Broken>(throws);
                                                                    }});
    try {
      average_traces(linear(), {"w"}, MaybeLabelled(false), {.loss = "my_own_loss", .threads = 1});
      FAIL();
    } catch (const TraceFailed& failed) {
      const std::string what = failed.what();
      EXPECT_NE(what.find("my_own_loss"), std::string::npos) << what;
      EXPECT_NE(what.find("sample 0"), std::string::npos) << what;
      EXPECT_NE(what.find(throws ? "no such target" : "NaN"), std::string::npos) << what;
    }
  }
}

TEST(HessianTrace, MistakesAreTold) {
  EXPECT_THROW(average_traces(linear(), {"w"}, MaybeLabelled(false), {.loss = "cross_entropy"}), Error);
  EXPECT_THROW(average_traces(linear(), {"w"}, MaybeLabelled(true), {.loss = "hinge"}), Error);
}

}  // namespace
}  // namespace quasar::tune
