#include "quasar/tune/comparable.hpp"

#include <gtest/gtest.h>

#include "generated_samples.hpp"
#include "quasar/base/file.hpp"

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
  job.goals.objectives = {{metric, search::Direction::maximize}};
  job.metrics = {metric};
  const auto samples = [](int64_t by) { return std::make_shared<Labelled>(by); };
  const Json known = goal_of(job, {samples(0), samples(0), nullptr});
  try {
    check_comparable(job, "a", known, goal_of(job, {samples(0), samples(offset), nullptr}));
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
  EXPECT_NO_THROW(
      check_comparable(Job(), "a", {{"labelling of evaluation samples", nullptr}}, {{"labelling of evaluation samples", "x"}}));
}

// What an older study does not tell is not compared.
TEST(Comparable, OlderStudiesGoOn) {
  Json goal{{"metric", "L2"}, {"output_weights", {{"y", 1}}}};
  EXPECT_NO_THROW(check_comparable(Job(), "a", {{"metric", "L2"}}, goal));
  EXPECT_THROW(check_comparable(Job(), "a", {{"metric", "L2"}, {"output_weights", nullptr}}, goal), Error);
}

}  // namespace
}  // namespace quasar::tune
