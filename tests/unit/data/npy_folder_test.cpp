#include "files.hpp"

namespace quasar::data {
namespace {

namespace fs = std::filesystem;

const std::vector<graph::Value> one = {input_of("v", DataType::float32, Shape{-1, 2})};
const std::vector<graph::Value> two = {input_of("a", DataType::float32, Shape{-1, 2}),
                                       input_of("b", DataType::float32, Shape{1})};

class NpyFolder : public ::testing::Test {
 protected:
  void put(const fs::path& name, const std::string& bytes) {
    fs::create_directories((folder.path() / name).parent_path());
    write_file(folder.path() / name, bytes);
  }
  std::string message_of(const Json& description, const std::vector<graph::Value>& inputs) {
    return error_of([&] { open(description, inputs, folder.path()); });
  }
  TemporaryFolder folder;
};

TEST_F(NpyFolder, FilesAreSortedAndLabelled) {
  put("d/b.npy", npy_text<float>({2}, {3, 4}));
  put("d/a.npy", npy_text<float>({1, 2}, {1, 2}));
  put("d/notes.txt", "not a sample");
  put("d/labels.csv",
      "\xef\xbb\xbf"
      "label,file,by\r\n5,b.npy,\"me, too\"\r\n-2,\"a.npy\",x\r\n9,other.npy,\r\n");
  const DatasetPtr data =
      open({{"reader", "npy"}, {"path", "d"}, {"labels", "labels.csv"}, {"label_offset", 1}}, one, folder.path());
  ASSERT_EQ(data->size(), 2U);
  EXPECT_EQ(data->at(0)[0], Tensor::of<float>({1, 2}, {1, 2}));
  EXPECT_EQ(data->at(1)[0], Tensor::of<float>({1, 2}, {3, 4}));
  EXPECT_EQ(data->label(0), -1);
  EXPECT_EQ(data->label(1), 6);
  EXPECT_EQ(open("d", one, folder.path())->label(0), std::nullopt);
}

// Their sizes may be of any length, and were counted through.
TEST_F(NpyFolder, SamplesWithoutValuesAreNormalizedAtOnce) {
  put("d/a.npy", npy_text("'<f4'", "(1000000000000000, 4, 0, 3)", ""));
  const Json reader{{"reader", "npy"}, {"path", "d"}, {"layout", "NHWC"}, {"mean", {1, 2, 3}}};
  const DatasetPtr data = open(reader, {input_of("x", DataType::float32, Shape{-1, 3, -1, -1})}, folder.path());
  EXPECT_EQ(data->at(0)[0].shape(), (Shape{1000000000000000, 3, 4, 0}));
}

TEST_F(NpyFolder, OneSubfolderPerInput) {
  for (const std::string name : {"0.npy", "1.npy"}) {
    put("d/a/" + name, npy_text<float>({2}, {1, 2}));
    put("d/second/" + name, npy_text<float>({}, {7}));
  }
  const DatasetPtr data = open({{"reader", "npy"}, {"path", "d"}, {"inputs", {{"b", "second"}}}}, two, folder.path());
  ASSERT_EQ(data->size(), 2U);
  EXPECT_EQ(data->at(1), (Sample{Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<float>({1}, {7})}));
  put("e/v/0.npy", npy_text<float>({2}, {1, 2}));
  EXPECT_EQ(open("e", one, folder.path())->size(), 1U);
}

TEST_F(NpyFolder, BadFoldersAreNamed) {
  const std::string good = npy_text<float>({2}, {1, 2});
  put("short/0.npy", good);
  put("short/1.npy", good.substr(0, good.size() - 1));
  put("shape/0.npy", npy_text<float>({3}, {1, 2, 3}));
  put("text/0.npy", "hello");
  put("labels/0.npy", good);
  put("labels/none.csv", "file,label\nx.npy,1\n");
  put("labels/word.csv", "file,label\n\n0.npy,cat\n");
  put("labels/twice.csv", "file,label\n0.npy,1\n0.npy,2\n");
  put("labels/half.csv", "file,label\n0.npy\n");
  put("labels/head.csv", "0.npy,1\n");
  put("labels/empty.csv", "");
  put("odd/a/0.npy", good);
  put("odd/a/1.npy", good);
  put("odd/b/0.npy", good);
  put("lone/a/0.npy", good);
  put("loop/0.npy", good);
  fs::create_symlink("1.npy", folder.path() / "loop/1.npy");
  fs::create_directories(folder.path() / "empty");
  const auto labels = [](const std::string& file) { return Json{{"reader", "npy"}, {"path", "labels"}, {"labels", file}}; };
  const std::vector<std::tuple<Json, std::vector<graph::Value>, std::vector<std::string>>> table = {
      {"short", one, {"short/1.npy", "is cut short"}},
      {"loop", one, {"loop/1.npy", "Too many levels of symbolic links"}},
      {"shape", one, {"shape/0.npy", "input 'v'", "expected shape [?,2], found [3]"}},
      {"text", one, {"text/0.npy", "is not a NumPy array"}},
      {"empty", one, {"empty", "neither .npy files", "test_data_set_*"}},
      {Json{{"reader", "npy"}, {"path", "empty"}}, one, {"empty", "holds no .npy file"}},
      {Json{{"reader", "npy"}, {"path", "nowhere"}}, one, {"nowhere' is not there"}},
      {Json{{"reader", "npy"}, {"path", "text/0.npy"}}, one, {"text/0.npy' is not a folder"}},
      {Json{{"reader", "npy"}}, one, {"reader npy: option 'path' is missing"}},
      {labels("none.csv"), one, {"none.csv", "no label for the sample '0.npy'"}},
      {labels("word.csv"), one, {"word.csv', line 3", "'cat' is not a whole number"}},
      {labels("twice.csv"), one, {"twice.csv', line 3", "'0.npy' is given twice"}},
      {labels("half.csv"), one, {"half.csv', line 2", "a value is missing"}},
      {labels("head.csv"), one, {"head.csv", "header file,label"}},
      {labels("empty.csv"), one, {"empty.csv", "is empty"}},
      {labels("nothere.csv"), one, {"nothere.csv", "No such file"}},
      {"odd", two, {"odd/a", "odd/b", "'1.npy' is in one of them only"}},
      {"lone", two, {"lone/b' is no folder", "input 'b'"}},
  };
  for (const auto& [description, inputs, parts] : table) EXPECT_EQ(missing(message_of(description, inputs), parts), "");
}

}  // namespace
}  // namespace quasar::data
