#include <rapidcheck.h>

#include <set>

#include "files.hpp"

namespace quasar::data {
namespace {

// Sample i holds the number i.
class Numbers : public Dataset {
 public:
  explicit Numbers(size_t size) : size_(size) {}
  size_t size() const override { return size_; }
  Sample at(size_t index) const override { return {Tensor::scalar(static_cast<int64_t>(index))}; }
  std::optional<int64_t> label(size_t index) const override { return static_cast<int64_t>(index) + 1000; }
  std::string source() const override { return "'numbers'"; }

 private:
  size_t size_;
};

std::vector<int64_t> numbers_of(const DatasetPtr& data) {
  std::vector<int64_t> found;
  for (size_t i = 0; data && i < data->size(); ++i) {
    found.push_back(data->at(i)[0].as<int64_t>()[0]);
    EXPECT_EQ(data->label(i), found.back() + 1000);
  }
  return found;
}

TEST(Split, PartsAreDisjointAndComplete) {
  rc::check([] {
    const auto calibration = *rc::gen::inRange<size_t>(1, 20), evaluation = *rc::gen::inRange<size_t>(1, 20);
    const auto holdout = *rc::gen::inRange<size_t>(0, 20);
    const auto seed = *rc::gen::inRange(0, 1000);
    const auto all = std::make_shared<Numbers>(calibration + evaluation + holdout);
    const Splits splits =
        split(all, {{"calibration", calibration}, {"evaluation", evaluation}, {"holdout", "rest"}, {"seed", seed}});
    std::multiset<int64_t> seen;
    for (const auto& part : {splits.calibration, splits.evaluation, splits.holdout}) {
      for (const int64_t number : numbers_of(part)) seen.insert(number);
    }
    RC_ASSERT(splits.calibration->size() == calibration);
    RC_ASSERT(splits.evaluation->size() == evaluation);
    RC_ASSERT(seen.size() == all->size());
    RC_ASSERT((std::set<int64_t>(seen.begin(), seen.end()).size()) == all->size());
  });
}

TEST(Split, SeedDecides) {
  const auto all = std::make_shared<Numbers>(100);
  const auto cut = [&](int seed) {
    return numbers_of(split(all, {{"calibration", 30}, {"evaluation", 30}, {"seed", seed}}).calibration);
  };
  EXPECT_EQ(cut(0), cut(0));
  EXPECT_NE(cut(0), cut(1));
  const Splits two = split(all, {{"calibration", 30}, {"evaluation", "rest"}});
  EXPECT_EQ(two.evaluation->size(), 70U);
  EXPECT_EQ(two.holdout, nullptr);
}

TEST(Split, BadDescriptions) {
  const auto all = std::make_shared<Numbers>(250);
  const std::vector<std::pair<Json, std::vector<std::string>>> table = {
      {{{"calibration", 100}, {"evaluation", 300}},
       {"calibration 100 + evaluation 300 is too much", "'numbers' holds 250 samples"}},
      {{{"calibration", 250}, {"evaluation", "rest"}}, {"calibration 250 leaves nothing for evaluation"}},
      {{{"calibration", "rest"}, {"evaluation", "rest"}}, {"only one part may be rest"}},
      {{{"calibration", 10}}, {"'evaluation' is missing"}},
      {{{"calibration", 0}, {"evaluation", 1}}, {"'calibration' is 0"}},
      {{{"calibration", 1.5}, {"evaluation", 1}}, {"'calibration' is 1.5, but must be a number of samples or rest"}},
      {{{"calib", 10}, {"evaluation", 1}}, {"unknown option 'calib'", "did you mean 'calibration'"}},
      {{{"calibration", INT64_MAX}, {"evaluation", INT64_MAX}, {"holdout", INT64_MAX}}, {"is too much"}},
      {7, {"must be a mapping"}},
  };
  for (const auto& [description, parts] : table) EXPECT_EQ(missing(error_of([&] { split(all, description); }), parts), "");
}

TEST(Subset, KeepsOrderAndLabels) {
  const auto all = std::make_shared<Numbers>(10);
  EXPECT_EQ(numbers_of(subset(all, {3, 1, 3})), (std::vector<int64_t>{3, 1, 3}));
  EXPECT_EQ(numbers_of(first(all, 2)), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(first(all, 99)->size(), 10U);
  EXPECT_EQ(missing(error_of([&] { subset(all, {10}); }), {"sample 10", "'numbers'", "holds 10"}), "");
}

}  // namespace
}  // namespace quasar::data
