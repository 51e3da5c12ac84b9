#include "quasar/job/statistics_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/job/calibration.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/trial/variants.hpp"
#include "unit/quant/random_dataset.hpp"
#include "unit/quant/sample_models.hpp"

namespace quasar::tune {
namespace {
namespace fs = std::filesystem;

// Counts how often a sample is read; one value of one sample may be another.
class CountedSamples final : public data::Dataset {
 public:
  explicit CountedSamples(const graph::Model& model, size_t changed = 99) : samples_(model), changed_(changed) {}
  size_t size() const override { return samples_.size(); }
  data::Sample at(size_t index) const override {
    ++reads;
    data::Sample out = samples_.at(index);
    if (index != changed_) return out;
    std::vector<float> values(out[0].as<float>().begin(), out[0].as<float>().end());
    values.back() += 1;
    out[0] = Tensor::of(out[0].shape(), values);
    return out;
  }
  std::optional<int64_t> label(size_t) const override { return std::nullopt; }
  std::string source() const override { return "test"; }

  mutable std::atomic<size_t> reads = 0;

 private:
  quant::RandomSamples samples_;
  size_t changed_;
};

struct StatisticsFolderTest : testing::Test {
  StatisticsFolderTest() : model(runtime::prepare(quant::residual())), samples(std::make_shared<CountedSamples>(model)) {}

  // As another process would.
  Observed collect(const graph::Model& graph, const data::DatasetPtr& read, const stats::Requests& needs = {.histogram = true}) {
    StatisticsFolder shared(folder, read, [this](Level level, const std::string& text) {
      const std::lock_guard lock(guard);
      if (level != Level::debug) told.push_back(text);
    });
    return shared.collect(graph, quant::observed_values(graph), needs, {2});
  }
  Observed collect() { return collect(model, samples); }

  std::map<size_t, stats::Statistics> observed() const {
    return stats::collect(model, *samples, quant::observed_values(model), {.histogram = true}, {.prefixes = {2}});
  }
  std::vector<fs::path> files(const std::string& extension = ".statistics") const {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == extension) out.push_back(entry.path());
    }
    return out;
  }
  bool was_told(const std::string& what) {
    const std::lock_guard lock(guard);
    return std::ranges::any_of(told, [&](const std::string& text) { return text.find(what) != std::string::npos; });
  }
  void wait_until_told(const std::string& what) {
    for (int i = 0; i < 100000 && !was_told(what); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  const graph::Model model;
  const std::shared_ptr<CountedSamples> samples;
  const TemporaryFolder place;
  fs::path folder = place.path() / "new" / "statistics";
  std::mutex guard;
  std::vector<std::string> told;
};

TEST_F(StatisticsFolderTest, TheSecondReadsWhatTheFirstObserved) {
  const Observed first = collect();
  EXPECT_TRUE(first.file.empty());
  EXPECT_EQ(first.by_size, observed());
  samples->reads = 0;
  const Observed second = collect();
  EXPECT_EQ(files(), std::vector{second.file});
  EXPECT_EQ(second.by_size, first.by_size);
  EXPECT_EQ(samples->reads, samples->size()) << "once, to know that they are the same";
  EXPECT_TRUE(told.empty()) << testing::PrintToString(told);
}

TEST_F(StatisticsFolderTest, ACalibrationReadsNoSampleForObserving) {
  CalibrationNeeds needs;
  const quant::Config config = quant::parse_config(
      {{"activation", "UInt8Spec"}, {"activation_params", {{"calibration_method", "Entropy"}}}, {"weight", "Int8Spec"}});
  needs.add(config);
  const auto shared = std::make_shared<StatisticsFolder>(folder, samples, Log());
  Calibration first(model, samples, needs, {}, shared);
  const stats::Statistics seen = first.seen(config);
  samples->reads = 0;
  std::vector<std::string> lines;
  Calibration second(
      model, samples, needs, [&](Level, const std::string& text) { lines.push_back(text); }, shared);
  EXPECT_EQ(second.seen(config), seen);
  EXPECT_EQ(samples->reads, 0U);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("read from '" + files().at(0).string()), std::string::npos) << lines[0];
  // What nobody requested before is shared, too.
  quant::Config smaller = config;
  smaller.calib_data_size = 3;
  EXPECT_EQ(second.seen(smaller),
            stats::collect(model, *samples, quant::observed_values(model), {.histogram = true}, {.prefixes = {3}}).at(3));
  EXPECT_EQ(files().size(), 2U);
}

TEST_F(StatisticsFolderTest, WhateverTheyDependOnTellsThemApart) {
  collect();
  for (size_t changed = 0; changed < samples->size(); ++changed) {
    EXPECT_TRUE(collect(model, std::make_shared<CountedSamples>(model, changed)).file.empty()) << changed;
  }
  EXPECT_TRUE(collect(model, samples, {.histogram = false}).file.empty());
  EXPECT_TRUE(collect(model, samples, {.histogram = true, .averages = {0.01}}).file.empty());
  graph::Model other = model;
  auto& [name, weights] = *std::ranges::find_if(
      other.initializers, [](const auto& item) { return item.second.type() == DataType::float32 && item.second.count() > 8; });
  std::vector<float> values(weights.as<float>().begin(), weights.as<float>().end());
  values.back() += 0.01F;
  weights = Tensor::of(weights.shape(), values);
  EXPECT_TRUE(collect(other, samples).file.empty());
  EXPECT_FALSE(collect().file.empty());
}

TEST_F(StatisticsFolderTest, ADamagedFileIsObservedAgainWithAWarning) {
  const Observed right = collect();
  const fs::path file = files().at(0);
  const std::string bytes = read_file(file);
  for (const std::string& wrong : {std::string(), std::string("nonsense"), bytes.substr(0, bytes.size() / 2), bytes + "x"}) {
    told.clear();
    write_file(file, wrong);
    const Observed again = collect();
    EXPECT_TRUE(again.file.empty());
    EXPECT_EQ(again.by_size, right.by_size);
    ASSERT_EQ(told.size(), 1U);
    EXPECT_NE(told[0].find(file.string()), std::string::npos) << told[0];
    EXPECT_EQ(read_file(file), bytes);
  }
  told.clear();
  fs::resize_file(file, uintmax_t{1} << 40);  // takes no space
  EXPECT_EQ(collect().by_size, right.by_size);
  EXPECT_TRUE(was_told("damaged"));
}

TEST_F(StatisticsFolderTest, AFolderThatCannotBeIsAWarning) {
  write_file(place.path() / "file", "x");
  folder = place.path() / "file" / "statistics";
  EXPECT_EQ(collect().by_size, observed());
  EXPECT_TRUE(was_told("nothing can be shared")) << testing::PrintToString(told);
  told.clear();
  folder = place.path() / "good";
  collect();
  const fs::path file = files().at(0);
  fs::remove(file);
  fs::create_directories(file / "full");
  EXPECT_EQ(collect().by_size, observed());
  EXPECT_TRUE(was_told("what was observed is not shared")) << testing::PrintToString(told);
}

TEST_F(StatisticsFolderTest, OfManyOneObserves) {
  std::atomic<size_t> observers = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 5; ++i) threads.emplace_back([&] { observers += collect().file.empty() ? 1 : 0; });
  threads.clear();
  EXPECT_EQ(observers, 1U);
}

TEST_F(StatisticsFolderTest, WaitingEndsWithTheHolderOrByCancelling) {
  const Observed right = collect();
  const fs::path file = files().at(0);
  const std::string bytes = read_file(file);
  fs::remove(file);
  std::optional<FileLock> holder(std::in_place, files(".lock").at(0), "it", "wait");
  std::stop_source stop;
  std::atomic<bool> cancelled = false;
  std::jthread impatient([&] {
    const CancelScope scope(stop.get_token());
    try {
      collect();
    } catch (const Cancelled&) {
      cancelled = true;
    }
  });
  wait_until_told("waiting for process");
  stop.request_stop();
  impatient.join();
  EXPECT_TRUE(cancelled);
  told.clear();
  Observed patient;
  std::jthread other([&] { patient = collect(); });
  wait_until_told("waiting for process");
  write_file(file.string() + ".part1", "what a dead process left");
  write_file(file, bytes);
  holder.reset();
  other.join();
  EXPECT_EQ(patient.file, file);
  EXPECT_EQ(patient.by_size, right.by_size);
  fs::remove(file);
  EXPECT_TRUE(collect().file.empty());
  EXPECT_FALSE(fs::exists(file.string() + ".part1"));
}

// Each float graph has a file of its own, and what a transform leaves alone is not observed again.
TEST_F(StatisticsFolderTest, VariantsShareEveryGraph) {
  const quant::Config config = quant::parse_config({{"activation", "UInt8Spec"}, {"weight", "Int8Spec"}, {"include_cle", true}});
  CalibrationNeeds needs;
  needs.add(config);
  Variants alone(model, model, samples, needs);
  const stats::Statistics seen = alone.seen(config);
  for (size_t i = 0; i < 2; ++i) {
    Variants sharing(model, model, samples, needs, {.statistics_dir = folder});
    EXPECT_EQ(sharing.seen(config), seen);
  }
  EXPECT_EQ(files().size(), 2U);
}

}  // namespace
}  // namespace quasar::tune
