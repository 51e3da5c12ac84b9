// Text that is tokenized already, and audio: several inputs, whole numbers, lengths that differ from sample to sample.
#include "files.hpp"
#include "quasar/data/annotations.hpp"

namespace quasar::data {
namespace {

namespace fs = std::filesystem;

const std::vector<graph::Value> text = {input_of("input_ids", DataType::int64, Shape{-1, -1}),
                                        input_of("attention_mask", DataType::int64, Shape{-1, -1})};

struct Sequences : testing::Test {
  DatasetPtr opened(const Json& description, const std::vector<graph::Value>& inputs) const {
    return open(description, inputs, folder.path());
  }
  void write(const fs::path& name, const std::string& bytes) const {
    fs::create_directories((folder.path() / name).parent_path());
    write_file(folder.path() / name, bytes);
  }
  TemporaryFolder folder;
};

TEST_F(Sequences, NpzWithSeveralInputs) {
  write_npz(folder.path() / "text.npz", {{"attention_mask", npy_text<int64_t>({2, 3}, {1, 1, 1, 1, 1, 0})},
                                         {"input_ids", npy_text<int32_t>({2, 3}, {101, 7592, 102, 101, 102, 0})},
                                         {"label", npy_text<int64_t>({2}, {1, 0})}});
  const auto data = opened("text.npz", text);
  ASSERT_EQ(data->size(), 2U);
  const Sample sample = data->at(1);
  ASSERT_EQ(sample.size(), 2U);  // in the model's order, in its type
  EXPECT_EQ(sample[0], Tensor::of<int64_t>({1, 3}, {101, 102, 0}));
  EXPECT_EQ(sample[1], Tensor::of<int64_t>({1, 3}, {1, 1, 0}));
  EXPECT_EQ(data->label(0), 1);
}

TEST_F(Sequences, NpyFoldersWhoseSamplesDifferInLength) {
  for (const auto& [name, count] : {std::pair{"a.npy", 3}, std::pair{"b.npy", 5}}) {
    const std::vector<int64_t> ids(static_cast<size_t>(count), 7), mask(static_cast<size_t>(count), 1);
    write(fs::path("input_ids") / name, npy_text<int64_t>({count}, ids));
    write(fs::path("attention_mask") / name, npy_text<int64_t>({1, count}, mask));
  }
  const auto data = opened(".", text);
  ASSERT_EQ(data->size(), 2U);
  EXPECT_EQ(data->at(0)[0].shape(), (Shape{1, 3}));
  EXPECT_EQ(data->at(1)[0].shape(), (Shape{1, 5}));
  EXPECT_EQ(data->at(1)[1].shape(), (Shape{1, 5}));
}

// What a model itself gave before is recorded; what comes from another model is not called a state.
TEST_F(Sequences, CachesAndStatesThatAreMissingSayHowTheyAreRecorded) {
  const std::string ids = npy_text<int64_t>({1, 2}, {1, 2}), mask = npy_text<int64_t>({1, 2}, {1, 1});
  write_npz(folder.path() / "text.npz", {{"input_ids", ids}, {"attention_mask", mask}});
  write("parts/input_ids/a.npy", ids);
  write("parts/attention_mask/a.npy", mask);
  const auto said = [&](const std::string& name, const Shape& shape, const Json& description) {
    std::vector<graph::Value> inputs = text;
    inputs.push_back(input_of(name, DataType::float32, shape));
    return error_of([&] { opened(description, inputs); });
  };
  for (const char* reader : {"text.npz", "parts"}) {
    const std::string cache = said("past_key_values.0.key", {-1, 2, -1, 8}, reader);
    EXPECT_EQ(missing(cache, {"past_key_values.0.key", "the shape [samples,2,0,8]", "quasar.cache_samples()",
                              "quasar.pipeline_samples()"}),
              "");
    EXPECT_EQ(missing(said("state", {2, -1, 128}, reader), {"'state'", "a state is zeros at first", "quasar.Session"}), "");
    for (const char* other : {"encoder_hidden_states", "pixels"})
      EXPECT_EQ(said(other, {-1, -1, 8}, reader).find("docs/language.md"), std::string::npos) << other;
  }
}

TEST_F(Sequences, FractionsAreNoTokens) {
  write_npz(folder.path() / "text.npz",
            {{"input_ids", npy_text<float>({1, 2}, {1.5F, 2})}, {"attention_mask", npy_text<int64_t>({1, 2}, {1, 1})}});
  EXPECT_EQ(missing(error_of([&] { opened("text.npz", text); }), {"input_ids", "expected type int64, found float32"}), "");
}

TEST_F(Sequences, AudioClipsOfAnyLength) {
  write("one.npy", npy_text<int16_t>({4}, {0, 16384, -16384, 32767}));
  write("two.npy", npy_text<float>({1, 6}, {0, 0.5F, -0.5F, 0.25F, 1, -1}));
  const auto clips = opened({{"reader", "npy"}, {"path", "."}}, {input_of("audio", DataType::float32, Shape{1, -1})});
  ASSERT_EQ(clips->size(), 2U);
  EXPECT_EQ(clips->at(0)[0].shape(), (Shape{1, 4}));
  EXPECT_EQ(clips->at(1)[0].shape(), (Shape{1, 6}));
  const auto scaled = opened({{"reader", "npy"}, {"path", "."}, {"scale", 1 / 32768.0}, {"limit", 1}},
                             {input_of("audio", DataType::float32, Shape{1, -1})});
  EXPECT_EQ(scaled->at(0)[0].as<float>()[1], 0.5F);
}

TEST_F(Sequences, LabelsPerPlace) {
  write_npz(folder.path() / "text.npz",
            {{"x", npy_text<float>({2, 2}, {1, 2, 3, 4})}, {"labels", npy_text<int16_t>({2, 3}, {1, -100, 2, 3, 4, 5})}});
  const std::vector<graph::Value> input = {input_of("x", DataType::float32, Shape{-1, 2})};
  const auto data = opened("text.npz", input);
  EXPECT_EQ(target_of(*data, 0), Tensor::of<int64_t>({3}, {1, -100, 2}));
  EXPECT_FALSE(data->label(0).has_value());
  EXPECT_EQ(target_of(*first(data, 1), 0), target_of(*data, 0));
  const Json offset{{"reader", "npz"}, {"path", "text.npz"}, {"label_offset", 1}};
  EXPECT_EQ(missing(error_of([&] { opened(offset, input); }), {"label_offset is for one label per sample", "[2,3]"}), "");
  write_npz(folder.path() / "bad.npz",
            {{"x", npy_text<float>({2, 2}, {1, 2, 3, 4})}, {"labels", npy_text<float>({2, 3}, {1, 2, 3, 4, 5, 6})}});
  EXPECT_EQ(missing(error_of([&] { opened("bad.npz", input); }), {"labels must be whole numbers, found float32"}), "");
  write_npz(folder.path() / "few.npz",
            {{"x", npy_text<float>({2, 2}, {1, 2, 3, 4})}, {"labels", npy_text<int64_t>({1, 3}, {1, 2, 3})}});
  EXPECT_EQ(missing(error_of([&] { opened("few.npz", input); }), {"holds 1 samples"}), "");
}

}  // namespace
}  // namespace quasar::data
