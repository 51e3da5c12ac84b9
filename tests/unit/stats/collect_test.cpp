// collect() against statistics of the raw values, sample by sample.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <mutex>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::stats {
namespace {

constexpr int64_t width = 40;

std::vector<float> normals(uint64_t seed, size_t count, double scale = 1) {
  Rng rng(seed);
  std::vector<float> values(count);
  for (float& x : values) x = static_cast<float>(rng.normal() * scale);
  return values;
}

// x [1, 40] -> product = x W -> rectified = Relu(product) -> y = rectified · x; shape = Shape(x).
graph::Model small_model() {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{.name = "x", .type = DataType::float32, .shape = Shape{1, width}}};
  model.outputs = {{.name = "y", .type = DataType::float32, .shape = Shape{1, width}}};
  model.initializers["W"] = Tensor::of({width, width}, normals(1, width * width));
  const auto node = [](const std::string& name, const std::string& type, std::vector<std::string> inputs,
                       const std::string& output) {
    return graph::Node{.name = name, .op_type = type, .domain = "", .inputs = std::move(inputs), .outputs = {output}};
  };
  model.nodes = {node("multiply", "MatMul", {"x", "W"}, "product"), node("rectify", "Relu", {"product"}, "rectified"),
                 node("scale", "Mul", {"rectified", "x"}, "y"), node("measure", "Shape", {"x"}, "shape")};
  return model;
}

class Generated final : public data::Dataset {
 public:
  explicit Generated(size_t size, std::function<void(size_t, std::vector<float>&)> change = {})
      : size_(size), change_(std::move(change)) {}
  size_t size() const override { return size_; }
  data::Sample at(size_t index) const override {
    auto values = normals(100 + index, width, 1 + static_cast<double>(index % 7));
    if (change_) change_(index, values);
    return {Tensor::of({1, width}, values)};
  }
  std::optional<int64_t> label(size_t) const override { return std::nullopt; }
  std::string source() const override { return "generated"; }

 private:
  size_t size_;
  std::function<void(size_t, std::vector<float>&)> change_;
};

const std::vector<std::string> observed{"product", "x", "y", "rectified"};
const Requests everything{.histogram = true, .averages = {0.01, 0.3}};

// The raw values of each sample, by value name.
std::map<std::string, std::vector<std::vector<float>>> raw_values(const data::Dataset& samples) {
  const std::vector<std::string> inner{"product", "y", "rectified"};
  const runtime::Session session(runtime::tapped(small_model(), inner));
  std::map<std::string, std::vector<std::vector<float>>> raw;
  for (size_t i = 0; i < samples.size(); ++i) {
    const data::Sample sample = samples.at(i);
    const auto outputs = session.run(sample);
    const auto copy = [](const Tensor& t) { return std::vector<float>(t.as<float>().begin(), t.as<float>().end()); };
    raw["x"].push_back(copy(sample[0]));
    for (size_t j = 0; j < inner.size(); ++j) raw[inner[j]].push_back(copy(outputs[j]));
  }
  return raw;
}

void expect_equal(const Statistics& a, const Statistics& b) {
  ASSERT_EQ(a.size(), b.size());
  for (const auto& [name, seen] : a) {
    const TensorStats& other = b.at(name);
    EXPECT_EQ(seen.range, other.range) << name;
    EXPECT_EQ(seen.averaged, other.averaged) << name;
    EXPECT_EQ(seen.histogram, other.histogram) << name;
    EXPECT_EQ(seen.mean, other.mean) << name;
    EXPECT_EQ(seen.mean_square, other.mean_square) << name;
    EXPECT_EQ(seen.count, other.count) << name;
  }
}

// A file of shape [0, 40] is one sample without a value.
TEST(Collect, SamplesWithoutValuesAreAnError) {
  class Nothing final : public data::Dataset {
   public:
    size_t size() const override { return 2; }
    data::Sample at(size_t) const override { return {Tensor::of({0, width}, std::vector<float>())}; }
    std::optional<int64_t> label(size_t) const override { return std::nullopt; }
    std::string source() const override { return "nothing"; }
  };
  graph::Model model = small_model();
  model.inputs[0].shape = model.outputs[0].shape = Shape{-1, width};
  try {
    collect(model, Nothing(), {"product", "x"}, {});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("holds no values (shape [0,40])"), std::string::npos) << e.what();
  }
}

TEST(Collect, AgreesWithTheRawValues) {
  const Generated samples(75);
  const auto raw = raw_values(samples);
  const Statistics seen = collect(small_model(), samples, observed, everything).at(75);
  ASSERT_EQ(seen.size(), 4U);
  for (const auto& [name, runs] : raw) {
    std::vector<float> all;
    std::map<double, Range> averaged;
    for (const auto& run : runs) {
      all.insert(all.end(), run.begin(), run.end());
      const auto [low, high] = std::minmax_element(run.begin(), run.end());
      for (const double c : everything.averages) {
        if (&run == &runs.front()) averaged[c] = {*low, *high};
        averaged[c] = {(1 - c) * averaged[c].low + c * *low, (1 - c) * averaged[c].high + c * *high};
      }
    }
    const TensorStats expected = of_values(all, {.histogram = true});
    const TensorStats& got = seen.at(name);
    EXPECT_EQ(got.range, expected.range) << name;
    EXPECT_EQ(got.histogram, expected.histogram) << name;
    EXPECT_EQ(got.count, all.size()) << name;
    EXPECT_NEAR(got.mean, expected.mean, 1e-9) << name;
    EXPECT_NEAR(got.mean_square, expected.mean_square, 1e-9 * expected.mean_square) << name;
    for (const double c : everything.averages) {
      EXPECT_NEAR(got.averaged.at(c).low, averaged[c].low, 1e-9) << name;
      EXPECT_NEAR(got.averaged.at(c).high, averaged[c].high, 1e-9) << name;
    }
  }
}

TEST(Collect, AnyNumberOfThreadsGivesTheSameBits) {
  const Generated samples(75);
  const Statistics one = collect(small_model(), samples, observed, everything, {.threads = 1}).at(75);
  for (const size_t threads : {2, 4, 7}) {
    expect_equal(collect(small_model(), samples, observed, everything, {.threads = threads}).at(75), one);
  }
}

TEST(Collect, PrefixesAreWhatThePrefixAloneGives) {
  const Generated samples(40);
  const auto all = collect(small_model(), samples, observed, everything, {.threads = 2, .prefixes = {1, 13, 40}});
  ASSERT_EQ(all.size(), 3U);
  for (const size_t size : {1, 13, 40})
    expect_equal(all.at(size), collect(small_model(), Generated(size), observed, everything).at(size));
}

TEST(Collect, ChannelsAlongAreThoseOfAPassOfTheirOwn) {
  const graph::Model model = small_model();
  const Generated samples(40);
  const std::map<std::string, int> axes{{"rectified", -1}, {"x", 1}};
  const auto seen = collect(model, samples, observed, {.histogram = true}, {.prefixes = {7}, .axes = axes});
  for (const size_t size : {size_t{7}, size_t{40}}) {
    const ChannelStatistics alone = collect_channels(model, samples, axes, {.samples = size});
    ASSERT_EQ(alone.size(), axes.size());
    for (const auto& [value, channels] : alone) EXPECT_EQ(seen.at(size).at(value).channels, channels) << value;
    EXPECT_FALSE(seen.at(size).at("product").channels);
  }
}

// As a detector's head has it in a picture without anything.
TEST(Collect, AnEmptySampleSaysNothingOfChannels) {
  const Tensor one = Tensor::of<float>({2, 2}, {1, 2, 3, 4}), none = Tensor::of<float>({0, 2}, std::vector<float>());
  ChannelAccumulator plain(-1), with_empty(-1), other(-1);
  plain.add(one, "x");
  with_empty.add(none, "x");
  with_empty.add(one, "x");
  with_empty.add(none, "x");
  with_empty.add(other);
  ASSERT_TRUE(with_empty.result());
  EXPECT_EQ(*with_empty.result(), *plain.result());
  EXPECT_FALSE(other.result());
}

TEST(Collect, WithoutRequestsOnlyRangesAndMeans) {
  const Statistics seen = collect(small_model(), Generated(3), {"y"}, {}).at(3);
  EXPECT_EQ(seen.at("y").histogram.total(), 0U);
  EXPECT_TRUE(seen.at("y").averaged.empty());
  EXPECT_LT(seen.at("y").range.low, seen.at("y").range.high);
  EXPECT_TRUE(collect(small_model(), Generated(3), {}, {}).at(3).empty());
}

TEST(Collect, ProgressCountsEverySample) {
  std::mutex guard;
  std::multiset<double> shares;
  const Progress progress = [&](const std::string& work, double share) {
    const std::lock_guard lock(guard);
    EXPECT_EQ(work, "calibration");
    shares.insert(share);
  };
  collect(small_model(), Generated(4), observed, {}, {.threads = 2, .prefixes = {1}, .progress = progress});
  EXPECT_EQ(shares, (std::multiset<double>{0, 0.25, 0.5, 0.75, 1}));
}

TEST(Collect, InputsNeedNoRun) {
  const Statistics seen = collect(small_model(), Generated(3), {"x"}, {}).at(3);
  EXPECT_EQ(seen.at("x").count, 3U * width);
}

std::string message(const data::Dataset& samples, const std::vector<std::string>& values, const CollectOptions& options = {}) {
  try {
    collect(small_model(), samples, values, {}, options);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Collect, ErrorsNameTheValueAndTheSample) {
  const Generated bad(50, [](size_t index, std::vector<float>& values) {
    if (index >= 23) values[3] = std::nanf("");
  });
  for (const size_t threads : {1, 4}) {
    const std::string text = message(bad, {"y", "x"}, {.threads = threads});
    EXPECT_NE(text.find("sample 23 of generated: 'y'"), std::string::npos) << text;
  }
  const std::string type = message(Generated(2), {"shape"});
  EXPECT_NE(type.find("'shape' is int64"), std::string::npos) << type;
  EXPECT_NE(message(Generated(2), {"nowhere"}).find("nowhere"), std::string::npos);
  EXPECT_NE(message(Generated(0), {"y"}).find("no samples"), std::string::npos);
  EXPECT_NE(message(Generated(2), {"y"}, {.prefixes = {3}}).find("after 3 samples"), std::string::npos);
}

// What every sample has by chance is not what the model promises.
TEST(Collect, SizesThatTheModelLeavesOpenAreOpenBehindSoftmax) {
  for (const int64_t size : {width, int64_t{-1}}) {
    graph::Model model = small_model();
    model.inputs[0].shape = Shape{1, size};
    model.inputs[0].symbols = {"", size < 0 ? "n" : ""};
    model.outputs[0].shape = Shape{1, size};
    model.nodes = {{.name = "softmax", .op_type = "Softmax", .domain = "", .inputs = {"x"}, .outputs = {"p"}},
                   {.name = "scale", .op_type = "Mul", .domain = "", .inputs = {"p", "x"}, .outputs = {"y"}}};
    const auto seen = collect(model, Generated(3), {"p", "y"}, {}, {}).at(3);
    EXPECT_EQ(seen.at("p").shape, (Shape{1, size}));
    EXPECT_EQ(seen.at("y").shape, (Shape{1, width}));
  }
}

// Masks of −inf are usual between nodes and as inputs; other infinities at the ends are mistakes.
TEST(Collect, InfiniteValuesAreCountedInside) {
  const auto with = [](float value) {
    return Generated(4, [=](size_t index, std::vector<float>& values) {
      if (index == 2) values[3] = value;
    });
  };
  const Generated huge = with(3e38F), infinite = with(INFINITY), masked = with(-INFINITY);
  const auto seen = collect(small_model(), huge, {"product", "rectified"}, everything, {}).at(4);
  EXPECT_GT(seen.at("product").not_finite, 0U);
  EXPECT_EQ(seen.at("product").count + seen.at("product").not_finite, 4U * width);
  EXPECT_LT(seen.at("product").range.high, 3.5e38);
  EXPECT_NE(message(huge, {"product", "y"}).find("sample 2 of generated: 'y' has values that are not finite"), std::string::npos);
  EXPECT_NE(message(infinite, {"x"}).find("sample 2 of generated: 'x' has values that are not finite"), std::string::npos);
  EXPECT_EQ(collect(small_model(), masked, {"x"}, everything, {}).at(4).at("x").not_finite, 1U);
  EXPECT_NE(message(with(NAN), {"x"}).find("sample 2 of generated: 'x' has values that are not finite"), std::string::npos);
}

}  // namespace
}  // namespace quasar::stats
