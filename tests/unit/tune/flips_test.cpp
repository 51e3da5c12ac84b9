#include "quasar/tune/flips.hpp"

#include <gtest/gtest.h>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/data/labels.hpp"
#include "quasar/data/preview.hpp"

namespace quasar::tune {
namespace {

class Labels final : public data::Dataset {
 public:
  explicit Labels(std::vector<int64_t> labels) : labels_(std::move(labels)) {}
  size_t size() const override { return 4; }
  data::Sample at(size_t) const override { return {}; }
  std::optional<int64_t> label(size_t index) const override {
    return labels_.empty() ? std::nullopt : std::optional(labels_[index]);
  }
  std::string source() const override { return "test"; }

 private:
  std::vector<int64_t> labels_;
};

eval::Score score(std::vector<int32_t> answers, std::vector<double> values) {
  eval::Score out;
  out.answers = std::move(answers);
  out.per_sample = std::move(values);
  return out;
}

Json shown(const data::Dataset& samples, const eval::Score& reference, const eval::Score& best) {
  return to_json(flips_of(samples, reference, best).value());
}

TEST(Flips, CountsWhatBecameRightAndWrong) {
  const Labels labels({0, 0, 1, 1});
  const Json flips = shown(labels, score({0, 0, 0, 1}, {0, 0, 0, 0}), score({0, 1, 1, 1}, {0.1, 0.4, 0.7, 0.2}));
  EXPECT_EQ(flips["changed"], 2);
  EXPECT_EQ(flips["lost"], 1);    // sample 1
  EXPECT_EQ(flips["gained"], 1);  // sample 2
  ASSERT_EQ(flips["classes"].size(), 2U);
  EXPECT_EQ(flips["classes"][0]["class"], 0);
  EXPECT_EQ(flips["classes"][0]["lost"], 1);
  ASSERT_EQ(flips["worst"].size(), 4U);
  EXPECT_EQ(flips["worst"][0]["sample"], 2);  // changed, and moved most
  EXPECT_EQ(flips["worst"][1]["sample"], 1);
  EXPECT_EQ(flips["worst"][2]["sample"], 3);
}

TEST(Flips, WithoutLabelsClassesAreTheFloatModels) {
  const Json flips = shown(Labels({}), score({5, 5, 6, 6}, {0, 0, 0, 0}), score({5, 5, 6, 7}, {0, 0, 0, 1}));
  EXPECT_FALSE(flips.contains("gained"));
  ASSERT_EQ(flips["classes"].size(), 1U);
  EXPECT_EQ(flips["classes"][0]["class"], 6);
  EXPECT_FALSE(flips["worst"][0].contains("label"));
}

class NamedLabels final : public data::Labelled {
 public:
  NamedLabels() : Labelled({{0, 0, 1, 1}, {{1, "cat"}, {2, "dog"}, {9, "cow"}}}) {}
  size_t size() const override { return 4; }
  data::Sample at(size_t) const override { return {}; }
  std::string source() const override { return "test"; }
};

TEST(Flips, NameTheClassesThatTheySpeakOf) {
  const auto before = score({0, 0, 0, 1}, {0, 0, 0, 0}), after = score({0, 1, 1, 2}, {0.1, 0.4, 0.7, 0.2});
  EXPECT_EQ(shown(NamedLabels(), before, after)["names"], (Json{{"1", "cat"}, {"2", "dog"}}));
  EXPECT_FALSE(shown(Labels({0, 0, 1, 1}), before, after).contains("names"));
  const data::DatasetPtr last = data::subset(std::make_shared<NamedLabels>(), {3, 2, 1, 0});  // as `split` makes them
  EXPECT_EQ(shown(*last, before, after)["names"].size(), 2U);
}

TEST(Flips, AreUnknownWithoutAnswers) {
  EXPECT_FALSE(flips_of(Labels({}), score({}, {}), score({}, {})));
  EXPECT_FALSE(flips_of(Labels({}), score({1, 2}, {0, 0}), score({}, {0, 0})));
}

TEST(Flips, WithoutClassesShowWhatMovedMost) {
  const Json flips = shown(Labels({}), score({}, {0, 0, 0, 0}), score({}, {0.1, 0.4, 0.3, 0.2}));
  EXPECT_FALSE(flips.contains("changed"));
  EXPECT_EQ(flips["samples"], 4);
  ASSERT_EQ(flips["worst"].size(), 4U);
  EXPECT_EQ(flips["worst"][0]["sample"], 1);
  EXPECT_EQ(flips["worst"][0]["value"], 0.4);
  EXPECT_FALSE(flips["worst"][0].contains("float"));
}

// Gray squares, but for those that are gone.
class Squares final : public data::Dataset, public data::Pictures {
 public:
  size_t size() const override { return 4; }
  data::Sample at(size_t) const override { return {}; }
  std::optional<int64_t> label(size_t) const override { return std::nullopt; }
  std::string source() const override { return "test"; }
  std::optional<data::Picture> picture(size_t index) const override {
    if (index == 1) throw Error("gone");
    return data::Picture{{300, 300, 1, std::vector<uint8_t>(300 * 300, 90)}, "<" + std::to_string(index) + ">.png"};
  }
};

TEST(Flips, ArePicturedAsSmallFiles) {
  const TemporaryFolder folder;
  const auto pictures = folder.path() / "worst_samples";
  std::filesystem::create_directory(pictures);
  write_file(pictures / "sample_9.jpg", "of an earlier search");
  write_file(pictures / "mine.jpg", "the user's");
  Flips flips;
  flips.worst = {{.number = 1}, {.number = 3}};
  add_pictures(flips, Squares(), folder.path());
  EXPECT_EQ(flips.worst[0].picture, "");
  EXPECT_EQ(flips.worst[1].picture, "worst_samples/sample_3.jpg");
  EXPECT_EQ(flips.worst[1].file, "<3>.png");
  EXPECT_EQ(data::size_of(pictures / "sample_3.jpg"), (data::Size{128, 128}));
  EXPECT_FALSE(std::filesystem::exists(pictures / "sample_9.jpg"));
  EXPECT_TRUE(std::filesystem::exists(pictures / "mine.jpg"));
}

}  // namespace
}  // namespace quasar::tune
