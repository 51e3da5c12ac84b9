#include <cmath>

#include "files.hpp"

namespace quasar::data {
namespace {

DatasetPtr random_data(const std::vector<graph::Value>& inputs, Json options = Json::object()) {
  options["reader"] = "random";
  return open(options, inputs);
}

const std::vector<graph::Value> real = {input_of("x", DataType::float32, Shape{-1, 3, 50, 50})};

TEST(Random, SamplesDependOnSeedAndIndexOnly) {
  const Sample sample = random_data(real, {{"count", 5}})->at(3);
  EXPECT_EQ(sample[0].shape(), (Shape{1, 3, 50, 50}));
  EXPECT_EQ(random_data(real, {{"count", 20000}})->at(3), sample);
  EXPECT_EQ(random_data(real, {{"count", 20000}, {"limit", 4}})->at(3), sample);
  EXPECT_NE(random_data(real, {{"seed", 1}})->at(3), sample);
  EXPECT_NE(random_data(real)->at(4), sample);
  EXPECT_EQ(random_data(real, {{"limit", 4}})->size(), 4U);
  EXPECT_EQ(random_data(real, {{"limit", 4}})->label(0), std::nullopt);
}

TEST(Random, Distributions) {
  double sum = 0, squares = 0;
  const Tensor normal = random_data(real)->at(0)[0];
  for (const float x : normal.as<float>()) {
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / 7500, 0, 0.05);
  EXPECT_NEAR(squares / 7500, 1, 0.1);
  sum = 0;
  const Tensor uniform = random_data(real, {{"distribution", "uniform"}, {"low", -2}, {"high", 6}})->at(0)[0];
  for (const float x : uniform.as<float>()) {
    EXPECT_TRUE(x >= -2 && x <= 6);
    sum += x;
  }
  EXPECT_NEAR(sum / 7500, 2, 0.15);
  EXPECT_EQ(random_data(real, {{"low", -2}, {"high", 6}})->at(0)[0], uniform) << "bounds are meant";
  std::vector<graph::Value> with_ids = real;
  with_ids.push_back(input_of("ids", DataType::int64, Shape{1, 4}));
  EXPECT_EQ(random_data(with_ids, {{"low", 0}, {"high", 6}})->at(0)[0], normal) << "of the ids";
}

TEST(Random, IntegersReachBothEnds) {
  const std::vector<graph::Value> inputs = {input_of("ids", DataType::int64, Shape{-1, -1}),
                                            input_of("mask", DataType::boolean, Shape{1, 40})};
  const Sample sample =
      random_data(inputs, {{"low", {{"ids", -1}}}, {"high", {{"ids", 2}}}, {"shapes", {{"ids", {2, 200}}}}})->at(0);
  EXPECT_EQ(sample[0].shape(), (Shape{2, 200}));
  std::vector<int> seen(4, 0);
  for (const int64_t id : sample[0].as<int64_t>()) ++seen.at(static_cast<size_t>(id + 1));
  for (const int count : seen) EXPECT_GT(count, 60);
  EXPECT_EQ(sample[1].type(), DataType::boolean);
}

TEST(Random, BadOptions) {
  const std::vector<graph::Value> bytes = {input_of("b", DataType::uint8, Shape{2})},
                                  unknown = {input_of("u", DataType::float32, std::nullopt)};
  const std::vector<std::tuple<std::vector<graph::Value>, Json, std::vector<std::string>>> table = {
      {real, {{"count", 0}}, {"'count' is 0"}},
      {real, {{"distribution", "gauss"}}, {"one of normal, uniform"}},
      {real, {{"low", 2}, {"high", 1}}, {"low 2.0 is above high 1.0", "'x'"}},
      {real, {{"low", "a"}}, {"option 'low' is \"a\""}},
      {real, {{"shapes", {{"x", {1, 4, 50, 50}}}}}, {"gives [1,4,50,50] for the input 'x', whose shape is [?,3,50,50]"}},
      {real, {{"shapes", {{"z", {1}}}}}, {"'z', which is no input"}},
      {real, {{"shapes", {{"x", 3}}}}, {"gives 3 for the input 'x'"}},
      {unknown, {}, {"'u' has no known shape"}},
      {bytes, {{"high", 300}}, {"300.0 (low or high) is no uint8", "'b'"}},
      {bytes, {{"high", 0.5}}, {"0.5 (low or high) is no uint8"}},
      {real, {{"batch_size", 2}}, {"batch_size 2 is not yet supported"}},
      {real, {{"layout", "NHWC"}}, {"unknown option 'layout'"}},
      {{input_of("h", DataType::float32, Shape{1, 1000000, 1000000000})},
       {},
       {"input 'h' of shape [1,1000000,1000000000] takes 4000000000000000 bytes"}},
  };
  for (const auto& [inputs, options, parts] : table) {
    EXPECT_EQ(missing(error_of([&] { random_data(inputs, options); }), parts), "");
  }
}

}  // namespace
}  // namespace quasar::data
