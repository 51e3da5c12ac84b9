#include "quasar/data/overlap.hpp"

#include "files.hpp"

namespace quasar::data {
namespace {

// Samples that hold the given numbers.
class Given : public Dataset {
 public:
  Given(std::string name, std::vector<float> numbers) : name_(std::move(name)), numbers_(std::move(numbers)) {}
  size_t size() const override { return numbers_.size(); }
  Sample at(size_t index) const override { return {Tensor::scalar(numbers_.at(index))}; }
  std::optional<int64_t> label(size_t index) const override { return static_cast<int64_t>(index) + 7; }
  std::string source() const override { return name_; }

 private:
  std::string name_;
  std::vector<float> numbers_;
};

void read_all(const DatasetPtr& samples) {
  for (size_t i = 0; i < samples->size(); ++i) samples->at(i);
}

TEST(OverlapGuard, TellsOnceWhichSplitsShareSamples) {
  OverlapGuard guard;
  const auto calibration = guard.watch("calibration", std::make_shared<Given>("'a.npz'", std::vector<float>{1, 2, 3}));
  const auto evaluation = guard.watch("evaluation", std::make_shared<Given>("'b.npz'", std::vector<float>{3, 4, 2, 5}));
  EXPECT_TRUE(guard.news().empty());  // nothing was read
  read_all(calibration);
  EXPECT_TRUE(guard.news().empty());
  read_all(evaluation);
  read_all(evaluation);
  const auto news = guard.news();
  ASSERT_EQ(news.size(), 1U);
  EXPECT_EQ(missing(news[0], {"2 of 4 evaluation samples ('b.npz') are calibration samples too ('a.npz')"}), "");
  EXPECT_TRUE(guard.news().empty());
  const auto holdout = guard.watch("hold-out", std::make_shared<Given>("'c.npz'", std::vector<float>{5, 6}));
  read_all(holdout);
  const auto more = guard.news();
  ASSERT_EQ(more.size(), 1U);
  EXPECT_EQ(missing(more[0], {"1 of 2 hold-out samples", "are evaluation samples too"}), "");
}

// What a fingerprint is made of: taken once, and the same for samples that are not watched.
TEST(OverlapGuard, ContentsAreTakenOnce) {
  struct Counted : Given {
    using Given::Given;
    Sample at(size_t index) const override {
      ++reads;
      return Given::at(index);
    }
    mutable size_t reads = 0;
  };
  const auto plain = std::make_shared<Counted>("'a.npz'", std::vector<float>{1, 2, 3});
  const OverlapGuard guard;
  const auto watched = guard.watch_alone(plain);
  watched->at(1);
  EXPECT_EQ(content_of(*watched, 1), content_of(Given("'b.npz'", {2}), 0));
  EXPECT_EQ(plain->reads, 1U);
  EXPECT_EQ(content_of(*watched, 2), content_of(*plain, 2));
  EXPECT_NE(content_of(*watched, 1), content_of(*watched, 2));
}

TEST(OverlapGuard, ChangesNothing) {
  OverlapGuard guard;
  EXPECT_EQ(guard.watch("hold-out", nullptr), nullptr);
  const auto plain = std::make_shared<Given>("'a.npz'", std::vector<float>{1, 2, 3});
  const auto watched = guard.watch("calibration", plain);
  ASSERT_EQ(watched->size(), 3U);
  EXPECT_EQ(watched->at(2), plain->at(2));
  EXPECT_EQ(watched->label(1), 8);
  EXPECT_EQ(watched->source(), "'a.npz'");
}

TEST(OverlapGuard, SeesShapesAndTypes) {
  OverlapGuard guard;
  class Shaped : public Given {
   public:
    using Given::Given;
    Sample at(size_t index) const override { return {Given::at(index)[0].reshaped({1, 1})}; }
  };
  const auto a = guard.watch("calibration", std::make_shared<Given>("a", std::vector<float>{1}));
  const auto b = guard.watch("evaluation", std::make_shared<Shaped>("b", std::vector<float>{1}));
  read_all(a);
  read_all(b);
  EXPECT_TRUE(guard.news().empty());
}

}  // namespace
}  // namespace quasar::data
