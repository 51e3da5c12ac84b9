// Models whose batch is fixed, and inputs that are the same for every sample.

#include "files.hpp"
#include "quasar/data/in_memory.hpp"
#include "quasar/data/repeating.hpp"

namespace quasar::data {
namespace {

namespace fs = std::filesystem;

const std::vector<graph::Value> batch_of_two = {input_of("v", DataType::float32, Shape{2, 3})};

struct Stored {
  Stored() {
    write_npz(folder.path() / "singles.npz", {{"v", npy_text<float>({5, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14})},
                                              {"labels", npy_text<int64_t>({5}, {4, 3, 2, 1, 0})}});
    write_npz(folder.path() / "batches.npz", {{"v", npy_text<float>({2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})}});
  }
  TemporaryFolder folder;
};

TEST(FixedBatch, EverySampleFillsTheBatch) {
  const Stored stored;
  for (const Json& words : {Json("singles.npz"), Json{{"reader", "npz"}, {"path", "singles.npz"}, {"batch_size", 2}}}) {
    const DatasetPtr all = open(words, batch_of_two, stored.folder.path());
    ASSERT_EQ(all->size(), 5U);
    EXPECT_EQ(all->at(1).at(0), Tensor::of<float>({2, 3}, std::vector<float>{3, 4, 5, 3, 4, 5}));
    EXPECT_EQ(all->label(1), 3);
    EXPECT_EQ(repeats_of(*all), 2);
    const auto splits = split(all, {{"calibration", 2}, {"evaluation", "rest"}});
    EXPECT_EQ(splits.evaluation->size(), 3U);
    EXPECT_EQ(repeats_of(*splits.evaluation), 2);
  }
}

TEST(FixedBatch, StoredBatchesStayAsTheyAre) {
  const Stored stored;
  const DatasetPtr all = open("batches.npz", batch_of_two, stored.folder.path());
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ(all->at(1).at(0), Tensor::of<float>({2, 3}, std::vector<float>{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(repeats_of(*all), 1);
  EXPECT_EQ(repeats_of(*open("random", batch_of_two)), 1);
}

TEST(FixedBatch, WhatFitsNeitherWaySpeaksOfTheModel) {
  const Stored stored;
  const auto error = [&](const std::vector<graph::Value>& inputs) {
    return error_of([&] { open("singles.npz", inputs, stored.folder.path()); });
  };
  EXPECT_EQ(missing(error({input_of("v", DataType::float32, Shape{2, 4})}), {"expected shape [2,4], found [1,3]"}), "");
  // A picture's channels are no batch.
  EXPECT_EQ(missing(error({input_of("v", DataType::float32, Shape{3, 1, 3})}), {"expected shape [3,1,3]"}), "");
}

TEST(FixedBatch, LabelsOfABatchInMemoryAreItsSamples) {
  const Tensor two = Tensor::of<float>({2, 3}, std::vector<float>{0, 1, 2, 3, 4, 5});
  const Item item{{"v", two}, {"labels", Tensor::of<int64_t>({2}, std::vector<int64_t>{7, 8})}};
  const Registration<Reader> guest(readers::table(), "mine",
                                   memory(std::make_shared<std::vector<Item>>(std::vector<Item>{item}), "a test"));
  const DatasetPtr all = open({{"reader", "mine"}}, batch_of_two);
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ(all->label(1), 8);
  EXPECT_EQ(all->at(1).at(0), Tensor::of<float>({2, 3}, std::vector<float>{3, 4, 5, 3, 4, 5}));
}

const std::vector<graph::Value> picture_and_size = {input_of("v", DataType::float32, Shape{-1, 3}),
                                                    input_of("size", DataType::int64, Shape{1, 2}),
                                                    input_of("scale", DataType::float32, Shape{-1, 2})};

TEST(Constants, StandBetweenWhatSamplesFeed) {
  const Stored stored;
  const DatasetPtr all =
      open({{"reader", "npz"}, {"path", "singles.npz"}, {"constants", {{"size", {416, 320}}, {"scale", {{1, 0.5}}}}}},
           picture_and_size, stored.folder.path());
  ASSERT_EQ(all->size(), 5U);
  const Sample sample = all->at(1);
  ASSERT_EQ(sample.size(), 3U);
  EXPECT_EQ(sample[0].as<float>()[0], 3);
  EXPECT_EQ(sample[1], Tensor::of<int64_t>({1, 2}, std::vector<int64_t>{416, 320}));
  EXPECT_EQ(sample[2], Tensor::of<float>({1, 2}, std::vector<float>{1, 0.5F}));
  EXPECT_EQ(all->label(1), 3);
}

TEST(Constants, ANumberFillsItsInputAndPicturesFeedTheOther) {
  const std::vector<graph::Value> inputs = {input_of("size", DataType::int32, Shape{1, 2}),
                                            input_of("p", DataType::float32, Shape{1, 1, 1, 2})};
  const TemporaryFolder folder;
  fs::copy_file(fs::path(QUASAR_SOURCE_DIR) / "tests/unit/data/pictures/pixels_0.png", folder.path() / "0.png");
  const DatasetPtr all = open({{"path", "."}, {"color", "gray"}, {"constants", {{"size", 7}}}}, inputs, folder.path());
  EXPECT_EQ(all->at(0).at(0), Tensor::of<int32_t>({1, 2}, std::vector<int32_t>{7, 7}));
  EXPECT_EQ(all->at(0).at(1).count(), 2U);
}

TEST(Constants, MistakesAreNamed) {
  const Stored stored;
  const auto error = [&](const Json& constants) {
    return error_of([&] {
      open({{"reader", "npz"}, {"path", "singles.npz"}, {"constants", constants}}, picture_and_size, stored.folder.path());
    });
  };
  EXPECT_EQ(missing(error(3), {"constants is 3"}), "");
  EXPECT_EQ(missing(error({{"sise", 1}}), {"'sise', which is no input", "did you mean 'size'"}), "");
  EXPECT_EQ(missing(error({{"size", {1, 2, 3}}}), {"[1,2,3] for the input 'size' (int64[1,2]) does not fit"}), "");
  EXPECT_EQ(missing(error({{"size", {1, 2.5}}}), {"holds values that this type has not"}), "");
  EXPECT_EQ(missing(error({{"scale", {{1, 2}, {3}}}}), {"must be a number or lists"}), "");
  EXPECT_EQ(missing(error({{"v", 1}, {"size", 1}, {"scale", {1, 2}}}), {"leaves no input"}), "");
}

}  // namespace
}  // namespace quasar::data
