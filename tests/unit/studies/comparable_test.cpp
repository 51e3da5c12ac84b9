#include "quasar/studies/comparable.hpp"

#include <gtest/gtest.h>

#include "quasar/base/file.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/studies/attributes.hpp"
#include "unit/graph/small_models.hpp"
#include "unit/tune/generated_samples.hpp"

namespace quasar::tune {
namespace {

struct Labelled final : GeneratedSamples {
  explicit Labelled(int64_t offset)
      : GeneratedSamples(5, [](size_t i) { return data::Sample{Tensor::of(Shape{1}, std::vector<float>{float(i)})}; }),
        offset_(offset) {}
  std::optional<int64_t> label(size_t index) const override { return int64_t(index) + offset_; }

 private:
  int64_t offset_;
};

std::string difference(const std::string& metric, int64_t offset) {
  const TemporaryFolder folder;
  Job job;
  job.model = folder.path() / "m.onnx";
  write_file(job.model, "model");
  job.aim.goals.objectives = {{metric, Direction::maximize}};
  job.aim.metrics = {metric};
  const auto samples = [](int64_t by) { return std::make_shared<Labelled>(by); };
  const Json known = goal_of(job, {samples(0), samples(0), nullptr});
  try {
    check_comparable(job.study, "a", known, goal_of(job, {samples(0), samples(offset), nullptr}));
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// The same samples with other labels give other values of whatever looks at labels, if only for the report.
TEST(Comparable, LabelsStayTheSame) {
  EXPECT_EQ(difference("top1", 0), "");
  EXPECT_NE(difference("top1", 1).find("another labelling of evaluation samples"), std::string::npos);
  EXPECT_NE(difference("cos", 1).find("another labelling of evaluation samples"), std::string::npos);
  EXPECT_NO_THROW(check_comparable(StudyKeys(), "a", {{"labelling of evaluation samples", nullptr}},
                                   {{"labelling of evaluation samples", "x"}}));
}

// The weights may lie beside the model's file, and change while it stays.
TEST(Comparable, ExternalWeightsBelongToTheModel) {
  const TemporaryFolder folder;
  const auto model = folder.path() / "m.onnx";
  graph::Model weights = graph::small_model();
  const auto filled = [](float value) { return Tensor::of({1024}, std::vector<float>(1024, value)); };  // small ones stay inside
  weights.initializers["large"] = filled(0);
  graph::save(weights, model);
  EXPECT_EQ(fingerprint(model), hash_of(std::string_view(read_file(model)))) << "as in earlier studies";

  graph::save(weights, model, graph::ExternalData::always);
  const std::string file = read_file(model), before = fingerprint(model);
  weights.initializers["large"] = filled(1);
  graph::save(weights, model, graph::ExternalData::always);
  ASSERT_EQ(read_file(model), file);
  EXPECT_FALSE(is_same(before, fingerprint(model)));
  EXPECT_TRUE(is_same(hash_of(std::string_view(file)), before)) << "an earlier study knows the .onnx file only";
}

// A sample between those that earlier versions looked at.
TEST(Comparable, EverySampleCounts) {
  const auto samples = [](float second) {
    return GeneratedSamples(
        5, [second](size_t i) { return data::Sample{Tensor::of(Shape{1}, std::vector<float>{i == 1 ? second : float(i)})}; });
  };
  const std::string before = fingerprint(samples(1)), after = fingerprint(samples(7));
  EXPECT_EQ(before, fingerprint(samples(1)));
  EXPECT_FALSE(is_same(before, after));
  const std::string earlier = before.substr(0, 32);  // of the first, the middle and the last
  EXPECT_TRUE(is_same(earlier, before));
  EXPECT_FALSE(is_same(std::string(32, '0'), before));
  EXPECT_THROW(check_comparable(StudyKeys(), "a", {{calibration_attribute, before}}, {{calibration_attribute, after}}), Error);
  EXPECT_NO_THROW(check_comparable(StudyKeys(), "a", {{calibration_attribute, earlier}}, {{calibration_attribute, before}}));
}

// What an older study does not tell is not compared.
TEST(Comparable, OlderStudiesGoOn) {
  Json goal{{"metric", "L2"}, {"output_weights", {{"y", 1}}}};
  EXPECT_NO_THROW(check_comparable(StudyKeys(), "a", {{"metric", "L2"}}, goal));
  EXPECT_THROW(check_comparable(StudyKeys(), "a", {{"metric", "L2"}, {"output_weights", nullptr}}, goal), Error);
}

}  // namespace
}  // namespace quasar::tune
