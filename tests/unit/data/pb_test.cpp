#include "files.hpp"

namespace quasar::data {
namespace {

namespace fs = std::filesystem;

const std::vector<graph::Value> one = {input_of("v", DataType::float32, Shape{-1, 2})};
const std::vector<graph::Value> two = {input_of("a", DataType::float32, Shape{1, 2}),
                                       input_of("b", DataType::float32, Shape{1, 2})};

// An onnx.TensorProto by hand: dims = 1, data_type = 2, name = 8, raw_data = 9.
std::string proto(const std::string& name, const std::vector<float>& values) {
  std::string out("\x08\x01\x08", 3);
  out += static_cast<char>(values.size());
  out += std::string("\x10\x01\x42", 3) + static_cast<char>(name.size()) + name;
  const std::string bytes = raw(values);
  return out + "\x4a" + static_cast<char>(bytes.size()) + bytes;
}

class Pb : public ::testing::Test {
 protected:
  void put(const fs::path& name, const std::string& bytes) {
    fs::create_directories((folder.path() / name).parent_path());
    write_file(folder.path() / name, bytes);
  }
  TemporaryFolder folder;
};

TEST_F(Pb, SetsComeInTheOrderOfTheirNumbers) {
  for (const int set : {10, 9, 0}) put("d/test_data_set_" + std::to_string(set) + "/input_0.pb", proto("", {float(set), 1}));
  put("d/labels.csv", "file,label\ntest_data_set_0,1\ntest_data_set_9,2\ntest_data_set_10,3\n");
  const DatasetPtr data = open({{"reader", "pb"}, {"path", "d"}, {"labels", "labels.csv"}}, one, folder.path());
  ASSERT_EQ(data->size(), 3U);
  EXPECT_EQ(data->at(1)[0], Tensor::of<float>({1, 2}, {9, 1}));
  EXPECT_EQ(data->at(2)[0], Tensor::of<float>({1, 2}, {10, 1}));
  EXPECT_EQ(data->label(2), 3);
  EXPECT_EQ(open("d", one, folder.path())->size(), 3U);
  EXPECT_EQ(open("d/test_data_set_9", one, folder.path())->size(), 1U);
}

TEST_F(Pb, NamesBeforeNumbers) {
  put("named/test_data_set_0/input_0.pb", proto("b", {1, 2}));
  put("named/test_data_set_0/input_1.pb", proto("a", {3, 4}));
  EXPECT_EQ(open("named", two, folder.path())->at(0)[0], Tensor::of<float>({1, 2}, {3, 4}));
  put("half/test_data_set_0/input_0.pb", proto("b", {1, 2}));
  put("half/test_data_set_0/input_1.pb", proto("c", {3, 4}));
  EXPECT_EQ(open("half", two, folder.path())->at(0)[0], Tensor::of<float>({1, 2}, {1, 2}));
}

TEST_F(Pb, BadFoldersAreNamed) {
  const std::string good = proto("v", {1, 2});
  put("cut/test_data_set_0/input_0.pb", good.substr(0, good.size() - 3));
  put("text/test_data_set_0/input_0.pb", "hello world");
  put("nothing/test_data_set_0/input_0.pb", "");
  put("shape/test_data_set_0/input_0.pb", proto("v", {1, 2, 3}));
  put("more/test_data_set_0/input_0.pb", good);
  put("more/test_data_set_0/input_1.pb", good);
  put("less/test_data_set_0/input_1.pb", good);
  std::string wrong = good;
  wrong[3] = 7;  // says 7 values, holds 2
  put("size/test_data_set_0/input_0.pb", wrong);
  put("texts/test_data_set_0/input_0.pb", std::string("\x08\x01\x08\x02\x10\x08\x32\x01\x61\x32\x01\x62", 12));
  put("sequence/test_data_set_0/input_0.pb", good + std::string("\x1a\x02\x08\x01", 4));
  fs::create_directories(folder.path() / "empty");
  const std::vector<std::pair<std::string, std::vector<std::string>>> table = {
      {"cut", {"cut/test_data_set_0/input_0.pb", "is not an ONNX tensor"}},
      {"text", {"text/test_data_set_0/input_0.pb", "is not an ONNX tensor"}},
      {"nothing", {"nothing/test_data_set_0/input_0.pb", "is not an ONNX tensor"}},
      {"shape", {"shape/test_data_set_0/input_0.pb", "input 'v'", "expected shape [?,2], found [1,3]"}},
      {"more", {"more/test_data_set_0' holds input_1.pb", "the model's inputs are: v"}},
      {"less", {"less/test_data_set_0' lacks input_0.pb"}},
      {"size", {"size/test_data_set_0/input_0.pb"}},
      {"texts", {"texts/test_data_set_0/input_0.pb", "input 'v'", "found texts"}},
      {"sequence", {"sequence/test_data_set_0/input_0.pb", "is a sequence"}},
      {"empty", {"empty", "holds no test_data_set_*"}},
      {"none", {"none' is not there"}},
  };
  for (const auto& [path, parts] : table) {
    EXPECT_EQ(missing(error_of([&] { open({{"reader", "pb"}, {"path", path}}, one, folder.path()); }), parts), "");
  }
}

}  // namespace
}  // namespace quasar::data
