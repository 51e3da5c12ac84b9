// Samples that a program holds in memory.
#include "quasar/data/in_memory.hpp"

#include "quasar/data/annotations.hpp"
#include "quasar/data/source_files.hpp"
#include "unit/data/files.hpp"

namespace quasar::data {
namespace {

const std::vector<graph::Value> one_input = {input_of("v", DataType::float32, Shape{-1, 2})};
const std::vector<graph::Value> two_inputs = {input_of("a", DataType::float32, Shape{1, 2}),
                                              input_of("b", DataType::int64, Shape{1})};

Tensor floats(Shape shape, const std::vector<float>& values) {
  return Tensor::of<float>(std::move(shape), values);
}

DatasetPtr opened(std::vector<Item> items, const std::vector<graph::Value>& inputs = one_input,
                  const Json& options = Json::object()) {
  const Registration<Reader> guest(readers::table(), "mine",
                                   memory(std::make_shared<std::vector<Item>>(std::move(items)), "a test"));
  Json words = options;
  words["reader"] = "mine";
  return open(words, inputs);
}

// As a recurrent network has them beside its frames: one state, one rate.
TEST(Memory, InputsWithoutAnAxisOfSamplesAreOneForAll) {
  const std::vector<graph::Value> inputs = {input_of("v", DataType::float32, Shape{-1, 2}),
                                            input_of("state", DataType::float32, Shape{2, -1, 1}),
                                            input_of("rate", DataType::int64, Shape{})};
  const Tensor state = floats({2, 1, 1}, {8, 9}), rate = Tensor::scalar<int64_t>(16000);
  const DatasetPtr one = opened({{{"v", floats({1, 2}, {1, 2})}, {"state", state}, {"rate", rate}}}, inputs);
  ASSERT_EQ(one->size(), 1u);
  EXPECT_EQ(one->at(0), (Sample{floats({1, 2}, {1, 2}), state, rate}));
  const DatasetPtr three = opened({{{"v", floats({3, 2}, {1, 2, 3, 4, 5, 6})}, {"state", state}, {"rate", rate}}}, inputs);
  ASSERT_EQ(three->size(), 3u);
  EXPECT_EQ(three->at(2), (Sample{floats({1, 2}, {5, 6}), state, rate}));
}

// An input of the shape [1], such as a threshold, has one value for each sample, or one for all.
TEST(Memory, OneValueIsThatOfEverySample) {
  const std::vector<graph::Value> inputs = {one_input[0], input_of("s", DataType::float32, Shape{1})};
  const Tensor three = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  for (const Shape& shape : {Shape{1}, Shape{}, Shape{1, 1}}) {
    const DatasetPtr data = opened({{{"v", three}, {"s", floats(shape, {7})}}}, inputs);
    ASSERT_EQ(data->size(), 3u);
    EXPECT_EQ(data->at(2), (Sample{floats({1, 2}, {5, 6}), floats({1}, {7})}));
  }
  EXPECT_EQ(opened({{{"v", three}, {"s", floats({3}, {7, 8, 9})}}}, inputs)->at(2).at(1), floats({1}, {9}));
  EXPECT_EQ(opened({{{"v", floats({2}, {1, 2})}, {"s", floats({1}, {7})}}}, inputs)->size(), 1u);
  EXPECT_EQ(missing(error_of([&] {
                      opened({{{"v", three}, {"s", floats({2}, {7, 8})}}}, inputs);
                    }),
                    {"'v' has the shape [3,2], 's' [2]", "constants: {INPUT: VALUE}"}),
            "");
}

TEST(Memory, AnAxisMoreThanTheInputCountsSamples) {
  const DatasetPtr clips = opened({{{"v", floats({2, 3}, {1, 2, 3, 4, 5, 6})}}}, {input_of("v", DataType::float32, Shape{3})});
  ASSERT_EQ(clips->size(), 2u);
  EXPECT_EQ(clips->at(1).at(0), floats({3}, {4, 5, 6}));
}

// [height, width, 1]: its first axis is none of samples, as its name says.
TEST(Memory, APictureOfOpenSizeIsOneSample) {
  graph::Value picture = input_of("v", DataType::float32, Shape{-1, -1, 1});
  picture.symbols = {"image_height", "image_width", ""};
  const Tensor pixels = floats({2, 2, 1}, {1, 2, 3, 4});
  const DatasetPtr data = opened({{{"v", pixels}}}, {picture});
  ASSERT_EQ(data->size(), 1u);
  EXPECT_EQ(data->at(0).at(0), pixels);
}

TEST(Memory, TellsWhetherSamplesSayTheirClass) {
  const auto told = [](const Item& item) {
    return memory(std::make_shared<std::vector<Item>>(std::vector{item}), "a test").make({})->brings_classes();
  };
  const Tensor values = floats({2, 2}, {1, 2, 3, 4}), classes = Tensor::of<int64_t>({2}, {0, 1});
  EXPECT_TRUE(told({{"v", values}, {"y", classes}}));
  EXPECT_TRUE(told({{"v", values}, {"y", Tensor::of<int64_t>({2, 1}, {0, 1})}})) << "a batch";
  EXPECT_TRUE(told({{"v", floats({2}, {1, 2})}, {"y", Tensor::scalar<int64_t>(1)}}));
  EXPECT_FALSE(told({{"v", floats({1, 2}, {1, 2})}, {"labels", classes}})) << "one for each place";
  EXPECT_FALSE(told({{"v", values}}));
  EXPECT_FALSE(told({{"v", values}, {"y", floats({2}, {0.5F, 1})}}));
  EXPECT_FALSE(told({{"v", values}, {"labels", classes}, {"boxes", floats({2, 4}, {1, 2, 3, 4, 1, 2, 3, 4})}}));
}

// What a regression is to answer stands where labels of classes stand elsewhere.
TEST(Memory, FractionsAreNoLabels) {
  const DatasetPtr data = opened({{{"v", floats({2, 2}, {1, 2, 3, 4})}, {"y", floats({2}, {0.5F, 1})}}});
  ASSERT_EQ(data->size(), 2u);
  EXPECT_FALSE(data->label(0).has_value());
}

// What labels are does not hang on the first item: 0.0 of a regression is whole, and a text may have one letter.
TEST(Memory, TheFirstItemDoesNotDecideWhatLabelsAre) {
  const Tensor v = floats({1, 2}, {1, 2});
  EXPECT_FALSE(opened({{{"v", v}, {"y", floats({1}, {0})}}, {{"v", v}, {"y", floats({1}, {0.25F})}}})->label(0));
  const auto letters = [](std::vector<int64_t> of) { return Tensor::of<int64_t>({1, std::ssize(of)}, of); };
  const DatasetPtr texts = opened({{{"v", v}, {"labels", letters({4})}}, {{"v", v}, {"labels", letters({1, 2, 3})}}});
  EXPECT_FALSE(texts->label(0));
  EXPECT_EQ(target_of(*texts, 0)->count(), 1u);
  EXPECT_EQ(target_of(*texts, 1)->count(), 3u);
}

TEST(Memory, PointsInAnOpenNumberAreOneSample) {
  graph::Value voxels = input_of("v", DataType::float32, Shape{-1, 2, 4});
  voxels.symbols = {"num_voxels", "", ""};
  EXPECT_EQ(opened({{{"v", floats({3, 2, 4}, std::vector<float>(24))}}}, {voxels})->size(), 1u);
}

// They are told to whoever asks what an output must not replace.
TEST(Memory, HasTheFilesThatItsItemsComeFrom) {
  const auto items = std::make_shared<std::vector<Item>>(std::vector<Item>{{{"", floats({1, 2}, {1, 2})}}});
  const Registration<Reader> held(readers::table(), "mapped", memory(items, "a test", {"/data/a.npy", "/data/b.npy"}));
  const Registration<Reader> asked(readers::table(), "asked",
                                   streamed({1, [items](size_t i) { return items->at(i); }}, "a test", {"/data/c.npy"}));
  using Files = std::vector<std::filesystem::path>;
  EXPECT_EQ(places_of({{"reader", "mapped"}, {"limit", 1}}), (Files{"/data/a.npy", "/data/b.npy"}));
  EXPECT_EQ(places_of({{"reader", "asked"}, {"class_names", "/data/names.txt"}}), (Files{"/data/c.npy", "/data/names.txt"}));
  for (const char* other : {"npz", "random", "nobody"}) EXPECT_EQ(places_of({{"reader", other}}), Files{}) << other;
}

TEST(Memory, BatchesSamplesAndWholeArraysAreTheSameData) {
  const Tensor all = floats({3, 2}, {1, 2, 3, 4, 5, 6}), labels = Tensor::of<int64_t>({3}, std::vector<int64_t>{7, 8, 9});
  const std::vector<std::vector<Item>> forms{
      {{{"v", all}, {"labels", labels}}},
      {{{"", all}, {"y", labels}}},
      {{{"v", floats({2, 2}, {1, 2, 3, 4})}, {"label", Tensor::of<int64_t>({2}, std::vector<int64_t>{7, 8})}},
       {{"v", floats({1, 2}, {5, 6})}, {"label", Tensor::of<int64_t>({1, 1}, std::vector<int64_t>{9})}}},
      {{{"v", floats({2}, {1, 2})}, {"label", Tensor::scalar<int64_t>(7)}},
       {{"v", floats({2}, {3, 4})}, {"label", Tensor::scalar<int64_t>(8)}},
       {{"v", floats({2}, {5, 6})}, {"label", Tensor::scalar<int64_t>(9)}}}};
  for (const auto& items : forms) {
    const DatasetPtr data = opened(items);
    ASSERT_EQ(data->size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      const auto first = static_cast<float>(2 * i + 1);
      EXPECT_EQ(data->at(i).at(0), floats({1, 2}, {first, first + 1}));
      EXPECT_EQ(data->label(i), static_cast<int64_t>(7 + i));
    }
  }
}

TEST(Memory, OptionsOfReadersHold) {
  const std::vector<Item> items{
      {{"v", floats({3, 2}, {1, 2, 3, 4, 5, 6})}, {"y", Tensor::of<int64_t>({3}, std::vector<int64_t>{0, 1, 2})}}};
  const DatasetPtr data = opened(items, one_input, {{"limit", 2}, {"mean", 1}, {"scale", 10}, {"label_offset", 1}});
  EXPECT_EQ(data->size(), 2u);
  EXPECT_EQ(data->at(1).at(0), floats({1, 2}, {20, 30}));
  EXPECT_EQ(data->label(1), 2);
}

TEST(Memory, AnOptionNamesTheLabelsAndOthersArePassedOver) {
  const Tensor all = floats({2, 2}, {1, 2, 3, 4}), classes = Tensor::of<int64_t>({2}, {7, 8}),
               index = Tensor::of<int64_t>({2}, {0, 1});
  const Item item{{"v", all}, {"target", classes}, {"index", index}};
  const DatasetPtr without = opened({item}), with = opened({item}, one_input, {{"labels", "target"}, {"limit", 1}});
  EXPECT_FALSE(without->label(1).has_value());
  const auto passed_over = [](const Item& one, const Json& options = Json::object()) {
    const Entry<Reader> entry = memory(std::make_shared<std::vector<Item>>(std::vector{one}), "a test");
    return entry.make(Options(entry.options, options, "a test"))->passed_over(one_input);
  };
  EXPECT_EQ(passed_over(item), (std::vector<std::string>{"index", "target"}));
  EXPECT_EQ(with->label(0), 7);
  EXPECT_EQ(passed_over(item, {{"labels", "target"}}), std::vector<std::string>{"index"});
  EXPECT_EQ(passed_over({{"v", all}, {"y", classes}}), std::vector<std::string>{});
  EXPECT_EQ(passed_over({{"pixels", all}}), std::vector<std::string>{}) << "the only array feeds the only input";
  EXPECT_EQ(missing(error_of([&] {
                      opened({item}, one_input, {{"labels", "targt"}});
                    }),
                    {"holds no array 'targt' for the labels", "index, target, v", "did you mean 'target'"}),
            "");
  const auto whole = memory(std::make_shared<std::vector<Item>>(std::vector{item}), "a test").make({})->whole_arrays();
  EXPECT_EQ(whole, (std::vector<std::string>{"index", "target"}));
}

TEST(Memory, SeveralInputsAreFedByName) {
  const DatasetPtr data =
      opened({{{"a", floats({2, 2}, {1, 2, 3, 4})}, {"b", Tensor::of<int64_t>({2}, std::vector<int64_t>{5, 6})}}}, two_inputs);
  EXPECT_EQ(data->size(), 2u);
  EXPECT_EQ(data->at(1).at(1).as<int64_t>()[0], 6);
}

TEST(Memory, LabelsOfManyPlacesAreTargets) {
  const Tensor all = floats({2, 2}, {1, 2, 3, 4});
  for (const auto& items :
       {std::vector<Item>{{{"v", all}, {"y", Tensor::of<int64_t>({2, 3}, std::vector<int64_t>{1, 2, 3, 4, 5, 6})}}},
        std::vector<Item>{{{"v", floats({2}, {1, 2})}, {"y", Tensor::of<int64_t>({3}, std::vector<int64_t>{1, 2, 3})}},
                          {{"v", floats({2}, {3, 4})}, {"y", Tensor::of<int64_t>({3}, std::vector<int64_t>{4, 5, 6})}}}}) {
    const DatasetPtr data = opened(items);
    ASSERT_EQ(data->size(), 2u);
    EXPECT_EQ(data->label(1), std::nullopt);
    EXPECT_EQ(target_of(*data, 1), Tensor::of<int64_t>({3}, std::vector<int64_t>{4, 5, 6}));
  }
}

DatasetPtr streamed_from(Stream stream, const Json& options = Json::object()) {
  const Registration<Reader> guest(readers::table(), "mine", streamed(std::move(stream), "a test"));
  Json words = options;
  words["reader"] = "mine";
  return open(words, one_input);
}

TEST(Memory, StreamsAreReadWhenTheyAreAskedFor) {
  auto reads = std::make_shared<std::vector<size_t>>();
  const auto item = [reads](size_t i) {
    reads->push_back(i);
    const auto value = static_cast<float>(i);
    return Item{{"v", floats({2}, {value, -value})}, {"label", Tensor::scalar(static_cast<int64_t>(i % 3))}};
  };
  const DatasetPtr data = streamed_from({.size = 1000, .item = item}, {{"label_offset", 1}});
  EXPECT_EQ(data->size(), 1000u);
  EXPECT_EQ(*reads, std::vector<size_t>({0}));
  EXPECT_EQ(data->at(7).at(0), floats({1, 2}, {7, -7}));
  EXPECT_EQ(data->label(7), 2);
  EXPECT_EQ(data->label(8), 3);
  EXPECT_EQ(*reads, std::vector<size_t>({0, 7, 8}));
  std::vector<int64_t> known;
  for (int64_t i = 0; i < 1000; ++i) known.push_back(i % 3);
  EXPECT_EQ(streamed_from({.size = 1000, .item = item, .labels = known})->label(998), 2);
  EXPECT_EQ(reads->back(), 0u);
}

TEST(Memory, ListsOfLabelsThatContradictItems) {
  const auto item = [](size_t i) { return Item{{"v", floats({2}, {1, 2})}, {"label", Tensor::scalar(static_cast<int64_t>(i))}}; };
  const DatasetPtr other = streamed_from({.size = 3, .item = item, .labels = {7, 8, 9}});  // of something else
  EXPECT_EQ(other->label(2), 2);
  const DatasetPtr wrong = streamed_from({.size = 3, .item = item, .labels = {0, 1, 9}});
  EXPECT_EQ(missing(error_of([&] { wrong->at(2); }), {"sample 2", "list of labels"}), "");
}

TEST(Memory, BoxesStandBesideSamples) {
  const auto item = [](size_t i) {
    const auto n = static_cast<int64_t>(i);  // the first one has none
    return Item{{"v", floats({2}, {1, 2})},
                {"boxes", floats({n, 4}, std::vector<float>(4 * i, 5))},
                {"labels", Tensor::of<int64_t>({n}, std::vector<int64_t>(i, 3))},
                {"iscrowd", Tensor::of<int64_t>({n}, std::vector<int64_t>(i, 1))}};
  };
  for (const DatasetPtr& data : {opened({item(0), item(1), item(2)}, one_input, {{"label_offset", 1}}),
                                 streamed_from({.size = 3, .item = item}, {{"label_offset", 1}})}) {
    EXPECT_EQ(data->label(2), std::nullopt);
    EXPECT_EQ(boxes_of(*data, 0)->size(), 0u);
    const Boxes two = boxes_of(*data, 2).value();
    ASSERT_EQ(two.size(), 2u);
    EXPECT_EQ(two[1].bottom, 5);
    EXPECT_EQ(two[1].label, 4);
    EXPECT_TRUE(two[1].crowd);
  }
  Item batch = item(1);
  batch["v"] = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(missing(error_of([&] { opened({batch}); }), {"a batch of 2 samples"}), "");
  Item fewer = item(2);
  fewer["labels"] = Tensor::scalar<int64_t>(1);
  EXPECT_EQ(missing(error_of([&] { boxes_of(*opened({fewer}), 0); }), {"'boxes' has the shape [2,4]", "[1,4]"}), "");
  Item none = item(1);
  none.erase("labels");
  EXPECT_EQ(missing(error_of([&] { opened({none}); }), {"boxes without labels"}), "");
}

TEST(Memory, StreamsOfBatchesAreKept) {
  const auto item = [](size_t i) { return Item{{"", floats({2, 2}, std::vector<float>(4, static_cast<float>(i)))}}; };
  const DatasetPtr data = streamed_from({.size = 3, .item = item});
  EXPECT_EQ(data->size(), 6u);
  EXPECT_EQ(data->at(5).at(0), floats({1, 2}, {2, 2}));
}

TEST(Memory, MistakesNameTheItem) {
  const auto error = [](std::vector<Item> items, const std::vector<graph::Value>& inputs = one_input) {
    return error_of([&] { opened(std::move(items), inputs); });
  };
  EXPECT_EQ(missing(error({}), {"a test", "there are none"}), "");
  EXPECT_EQ(missing(error({{{"v", floats({2, 3}, {1, 2, 3, 4, 5, 6})}}}), {"item 0", "expected shape [?,2]", "[1,3]"}), "");
  EXPECT_EQ(missing(error({{{"v", floats({2}, {1, 2})}}, {{"w", floats({2}, {1, 2})}}}), {"item 1 holds no array 'v'"}), "");
  EXPECT_EQ(
      missing(error({{{"a", floats({2, 2}, {1, 2, 3, 4})}, {"c", floats({2}, {1, 2})}}}, two_inputs), {"input 'b'", "a, c"}), "");
  EXPECT_EQ(
      missing(error({{{"v", floats({2, 2}, {1, 2, 3, 4})}, {"y", Tensor::scalar<int64_t>(1)}}}), {"2 samples, but 1 labels"}),
      "");
  const std::vector<graph::Value> cached{one_input[0], input_of("layer.value", DataType::float32, Shape{-1, 2, -1, 8})};
  EXPECT_EQ(missing(error({{{"v", floats({1, 2}, {1, 2})}}}, cached),
                    {"input 'layer.value'", "[samples,2,0,8]", "quasar.cache_samples()"}),
            "");
  EXPECT_EQ(readers::table().try_find("mine"), nullptr);
}

}  // namespace
}  // namespace quasar::data
