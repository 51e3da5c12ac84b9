#include <thread>

#include "files.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/data/labels.hpp"
#include "quasar/data/options.hpp"

namespace quasar::data {
namespace {

const std::vector<graph::Value> image = {input_of("input", DataType::float32, Shape{1, 3, 2, 2})};
const std::vector<graph::Value> vectors = {input_of("a", DataType::float32, Shape{-1, 2}),
                                           input_of("b", DataType::int64, Shape{-1})};

class Npz : public ::testing::Test {
 protected:
  DatasetPtr open_npz(const Members& members, const std::vector<graph::Value>& inputs, Json options = Json::object(),
                      bool compressed = false) {
    write_npz(folder.path() / "d.npz", members, compressed);
    options["reader"] = "npz";
    options["path"] = "d.npz";
    return open(options, inputs, folder.path());
  }
  std::string message_of(const Members& members, const std::vector<graph::Value>& inputs, const Json& options = Json::object()) {
    return error_of([&] { open_npz(members, inputs, options)->at(0); });
  }
  TemporaryFolder folder;
};

TEST_F(Npz, StoredAndCompressedGiveTheSameSamples) {
  const Members members = {{"a", npy_text<float>({2, 2}, {1, 2, 3, 4})}, {"b", npy_text<int64_t>({2}, {7, 8})}};
  for (const bool compressed : {false, true}) {
    const DatasetPtr data = open_npz(members, vectors, {}, compressed);
    ASSERT_EQ(data->size(), 2U);
    EXPECT_EQ(data->at(1), (Sample{Tensor::of<float>({1, 2}, {3, 4}), Tensor::of<int64_t>({1}, {8})}));
    EXPECT_EQ(data->at(0), (Sample{Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<int64_t>({1}, {7})}));
    EXPECT_EQ(data->label(0), std::nullopt);
    EXPECT_EQ(missing(data->source(), {"d.npz"}), "");
  }
}

TEST_F(Npz, BytesChannelsLastMeanAndScale) {
  // One 2x2 image of bytes, channels last, as cameras give them: 127.5 means and 1/127.5 scale -> [-1, 1].
  const std::vector<uint8_t> pixels = {0, 1, 2, 10, 11, 12, 20, 21, 22, 255, 254, 253};
  const Members members = {{"x", npy_text<uint8_t>({1, 2, 2, 3}, pixels)}, {"y", npy_text<int64_t>({1}, {4})}};
  const Json options = {{"inputs", {{"input", "x"}}}, {"labels", "y"},    {"layout", "NHWC"}, {"mean", 127.5},
                        {"scale", 1 / 127.5},         {"label_offset", 1}};
  const DatasetPtr data = open_npz(members, image, options);
  const Tensor x = data->at(0)[0];
  EXPECT_EQ(x.shape(), (Shape{1, 3, 2, 2}));
  for (size_t channel = 0; channel < 3; ++channel) {
    for (size_t place = 0; place < 4; ++place) {
      const float expected = static_cast<float>(pixels[place * 3 + channel]) / 127.5F - 1;
      EXPECT_NEAR(x.as<float>()[channel * 4 + place], expected, 1e-7);
    }
  }
  EXPECT_EQ(data->label(0), 5);
}

TEST_F(Npz, MeanAndScalePerChannelForEveryType) {
  const auto check = [&](const std::string& bytes) {
    const Json options = {{"mean", {1, 2, 3}}, {"scale", {2, 1, 0.5}}};
    const Tensor x = open_npz({{"input", bytes}}, image, options)->at(0)[0];
    EXPECT_EQ(x, Tensor::of<float>({1, 3, 2, 2}, {-2, 0, 2, 4, 2, 3, 4, 5, 2.5, 3, 3.5, 4}));
  };
  check(npy_text<uint8_t>({1, 3, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  check(npy_text<float>({1, 1, 3, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  check(npy_text<double>({1, 3, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  check(npy_text<int32_t>({1, 3, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

TEST_F(Npz, ConversionToTheModelsType) {
  const auto convert = [&](const std::string& bytes, DataType type, const Json& options = Json::object()) {
    return open_npz({{"v", bytes}}, {input_of("v", type, Shape{-1, 2})}, options)->at(0)[0];
  };
  EXPECT_EQ(convert(npy_text<double>({1, 2}, {0.1, 2}), DataType::float32), Tensor::of<float>({1, 2}, {0.1F, 2}));
  EXPECT_EQ(convert(npy_text<uint8_t>({1, 2}, {1, 255}), DataType::float32), Tensor::of<float>({1, 2}, {1, 255}));
  EXPECT_EQ(convert(npy_text<int64_t>({1, 2}, {1, -5}), DataType::int32), Tensor::of<int32_t>({1, 2}, {1, -5}));
  EXPECT_EQ(convert(npy_text<int64_t>({1, 2}, {1, 300}), DataType::uint8, {{"dtype", "uint8"}}),
            Tensor::of<uint8_t>({1, 2}, {1, 255}));
  EXPECT_EQ(convert(npy_text<float>({1, 2}, {1, 2}), DataType::float32, {{"dtype", "float"}}), Tensor::of<float>({1, 2}, {1, 2}));
}

TEST_F(Npz, ArraysAreFoundWhenUnambiguous) {
  const std::string x = npy_text<float>({2, 3, 2, 2}, std::vector<float>(24, 1)), y = npy_text<int64_t>({2}, {3, 4});
  EXPECT_EQ(open_npz({{"anything", x}}, image)->size(), 2U);
  EXPECT_EQ(open_npz({{"x", x}, {"y", y}}, image)->label(1), 4);
  EXPECT_EQ(open_npz({{"input", x}, {"classes", y}}, image, {{"labels", "classes"}})->label(0), 3);
  EXPECT_EQ(open_npz({{"input", x}, {"p", y}, {"q", y}}, image, {{"inputs", {{"input", "input"}}}})->label(0), std::nullopt);
}

TEST_F(Npz, LimitAndSeed) {
  std::vector<float> values(20);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const std::vector<graph::Value> inputs = {input_of("v", DataType::float32, Shape{-1, 1})};
  const auto read = [&](const Json& options) {
    const DatasetPtr data = open_npz({{"v", npy_text<float>({20, 1}, values)}}, inputs, options);
    std::vector<size_t> found;
    for (size_t i = 0; i < data->size(); ++i) found.push_back(static_cast<size_t>(data->at(i)[0].as<float>()[0]));
    return found;
  };
  EXPECT_EQ(read({{"limit", 3}}), (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(read({{"limit", 99}}).size(), 20U);
  std::vector<size_t> shuffled = Rng(7).permutation(20);
  EXPECT_EQ(read({{"seed", 7}}), shuffled);
  shuffled.resize(4);
  EXPECT_EQ(read({{"seed", 7}, {"limit", 4}}), shuffled);
}

TEST_F(Npz, BadInputsNameFileArrayAndInput) {
  const std::string good = npy_text<float>({2, 3, 2, 2}, std::vector<float>(24, 1));
  const std::string flat = npy_text<float>({2, 12}, std::vector<float>(24, 1));
  const std::string last = npy_text<uint8_t>({2, 2, 2, 3}, std::vector<uint8_t>(24, 1));
  const std::string two = npy_text<float>({2, 2}, {1, 2, 3, 4});
  struct Case {
    Members members;
    std::vector<graph::Value> inputs;
    Json options;
    std::vector<std::string> parts;
  };
  const std::vector<graph::Value> tokens = {input_of("ids", DataType::int32, Shape{1, 2})};
  const std::vector<Case> table = {
      {{{"input", flat}}, image, {}, {"d.npz", "array 'input'", "the model's input 'input'", "[1,3,2,2]", "[1,12]"}},
      {{{"input", last}}, image, {}, {"expected shape [1,3,2,2], found [1,2,2,3]", "add layout: NHWC"}},
      {{{"input", good}}, image, {{"layout", "NHWC"}}, {"found [1,3,2,2], which layout turns into [1,2,3,2]"}},
      {{{"p", good}, {"q", good}},
       image,
       {},
       {"d.npz", "no array for the model's input 'input'", "p, q", "inputs: {input: ARRAY}"}},
      {{{"input", good}, {"extra", good}}, image, {}, {"d.npz", "feed no input: extra"}},
      {{{"x", good}}, image, {{"inputs", {{"input", "xx"}}}}, {"no array 'xx'", "did you mean 'x'"}},
      {{{"x", good}}, image, {{"inputs", {{"inpt", "x"}}}}, {"'inpt', which is no input of the model", "did you mean 'input'"}},
      {{{"x", good}}, image, {{"labels", "z"}}, {"d.npz", "no array 'z' for the labels"}},
      {{{"input", good}, {"y", npy_text<int64_t>({3}, {1, 2, 3})}},
       image,
       {},
       {"array 'y'", "holds 3 samples", "array 'input'", "holds 2"}},
      {{{"input", good}, {"y", npy_text<float>({2}, {1, 0.5F})}},
       image,
       {{"labels", "y"}},
       {"array 'y'", "labels must be whole numbers"}},
      {{{"input", npy_text<float>({0, 3, 2, 2}, {})}}, image, {}, {"array 'input'", "holds no samples"}},
      {{{"input", npy_text<float>({}, {1})}}, image, {}, {"array 'input'", "is a single value"}},
      {{{"input", good.substr(0, good.size() - 5)}}, image, {}, {"d.npz", "array 'input'", "is cut short"}},
      {{{"input", npy_text("'|O'", "(1,)", "x")}}, image, {}, {"d.npz", "array 'input'", "Python objects (a pickle)"}},
      {{{"a", two}, {"b", npy_text<int64_t>({3}, {1, 2, 3})}},
       vectors,
       {},
       {"array 'b'", "holds 3 samples, but", "array 'a'", "holds 2"}},
      {{{"ids", two}}, tokens, {}, {"the model's input 'ids'", "expected type int32, found float32", "dtype: int32"}},
      {{{"ids", npy_text<int64_t>({1, 2}, {1, 1LL << 40})}}, tokens, {}, {"array 'ids', sample 0", "outside the range of int32"}},
      {{{"ids", two}}, tokens, {{"dtype", "int64"}}, {"'dtype' is \"int64\"", "'ids' is int32"}},
      {{{"ids", two}}, tokens, {{"mean", 3}}, {"mean and scale need an input of floating point", "'ids' is int32"}},
      {{{"input", good}}, image, {{"mean", {1, 2}}}, {"array 'input'", "mean has 2 values for 3 channels"}},
      {{{"input", good}}, image, {{"scale", "big"}}, {"option 'scale' is \"big\""}},
      {{{"input", good}}, image, {{"layout", "HW"}}, {"option 'layout' is \"HW\""}},
      {{{"input", good}}, image, {{"layout", {{"inptu", "NHWC"}}}}, {"'inptu', which is no input", "did you mean 'input'"}},
      {{{"input", good}}, image, {{"batch_size", 8}}, {"batch_size 8 is not yet supported"}},
      {{{"input", good}}, image, {{"limits", 8}}, {"unknown option 'limits'", "did you mean 'limit'"}},
      {{{"input", good}}, image, {{"seed", -1}}, {"'seed' is -1"}},
      {{{"input", good}}, image, {{"labels", 3}}, {"'labels' is 3, but must be a name"}},
      {{{"input", good}}, {input_of("s", DataType::string, Shape{1})}, {}, {"input 's' is not a tensor of numbers"}},
  };
  for (const auto& [members, inputs, options, parts] : table) EXPECT_EQ(missing(message_of(members, inputs, options), parts), "");
}

TEST_F(Npz, DamagedArchivesAreNamed) {
  const auto path = write_npz(folder.path() / "whole.npz", {{"input", npy_text<float>({2, 3, 2, 2}, std::vector<float>(24, 1))}});
  const std::string bytes = read_file(path);
  const auto message = [&](const std::string& content) {
    write_file(folder.path() / "cut.npz", content);
    return error_of([&] { open("cut.npz", image, folder.path()); });
  };
  EXPECT_EQ(missing(message(bytes.substr(0, bytes.size() / 2)), {"cut.npz", "not a zip archive, or cut short"}), "");
  EXPECT_EQ(missing(message("no archive at all"), {"cut.npz", "not a zip archive, or cut short"}), "");
  EXPECT_EQ(missing(message(""), {"cut.npz"}), "");
  EXPECT_EQ(missing(error_of([&] { open("none.npz", image, folder.path()); }), {"none.npz", "no such file"}), "");
  write_npz(folder.path() / "empty.npz", {{"../readme", ""}});
  EXPECT_EQ(missing(error_of([&] { open("empty.npz", image, folder.path()); }), {"empty.npz"}), "");
  std::string packed = read_file(write_npz(path, {{"input", npy_text<float>({2, 3, 2, 2}, std::vector<float>(24, 1))}}, true));
  packed[60] = static_cast<char>(packed[60] ^ 0x55);
  EXPECT_EQ(missing(message(packed), {"cut.npz", "member 'input.npy'", "cannot be read"}), "");
  std::string stored = bytes;  // numpy.savez does not compress
  stored[200] = static_cast<char>(stored[200] ^ 0x55);
  EXPECT_EQ(missing(message(stored), {"cut.npz", "member 'input.npy'", "CRC error"}), "");
}

// A shape costs a file nothing where there are no values.
TEST_F(Npz, TwoMembersOfOneNameAreRefused) {
  const auto path = folder.path() / "d.npz";
  write_npz(path, {{"first", npy_text<float>({2, 2}, {1, 2, 3, 4})}, {"other", npy_text<float>({2, 2}, {5, 6, 7, 8})}}, false);
  std::string bytes = read_file(path);
  for (size_t at = bytes.find("other"); at != std::string::npos; at = bytes.find("other")) bytes.replace(at, 5, "first");
  write_file(path, bytes);
  const std::string said = error_of([&] { open({{"reader", "npz"}, {"path", "d.npz"}}, {vectors[0]}, folder.path()); });
  EXPECT_NE(said.find("has two members of the name 'first"), std::string::npos) << said;
}

TEST_F(Npz, SamplesWithoutValuesAreFewOrRefused) {
  const std::vector<graph::Value> inputs{input_of("cache", DataType::float32, Shape{-1, 0, 4})};
  const auto count = [&](int64_t samples) {
    const std::string shape = "(" + std::to_string(samples) + ", 0, 4)";
    return open_npz({{"cache", npy_text("'<f4'", shape, "")}}, inputs)->size();
  };
  EXPECT_EQ(count(7), 7U);
  EXPECT_EQ(missing(error_of([&] { count(1'000'000'000'000); }), {"array 'cache'", "holds 1000000000000 samples without values"}),
            "");
}

TEST_F(Npz, AMissingCacheIsToldHowToBeEmpty) {
  const std::vector<graph::Value> inputs{input_of("ids", DataType::int64, Shape{-1, -1}),
                                         input_of("past", DataType::float32, Shape{-1, 2, -1, 16})};
  const auto file = npy_text<int64_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const std::string said = error_of([&] { open_npz({{"ids", file}}, inputs); });
  EXPECT_EQ(missing(said, {"no array for the model's input 'past'", "add an array of the shape [samples,2,0,16]"}), "") << said;
}

TEST(Labels, OffsetsThatNoNumberHoldsAreRefused) {
  EXPECT_EQ(with_offset(INT64_MAX, -1), INT64_MAX - 1);
  EXPECT_EQ(missing(error_of([] { with_offset(INT64_MAX, 1); }), {"9223372036854775807", "label_offset 1"}), "");
}

TEST_F(Npz, ThreadsReadTheSameSamples) {
  std::vector<float> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const DatasetPtr data = open_npz({{"v", npy_text<float>({500, 2}, values)}}, {input_of("v", DataType::float32, Shape{-1, 2})});
  std::vector<int> wrong(4, 0);
  {
    std::vector<std::jthread> threads;
    for (size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (size_t k = 0; k < 500; ++k) {
          const size_t i = (k * 7 + t * 131) % 500;
          if (data->at(i)[0].as<float>()[1] != values[2 * i + 1]) ++wrong[t];
        }
      });
    }
  }
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace quasar::data
