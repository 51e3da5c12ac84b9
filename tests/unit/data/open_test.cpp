#include "files.hpp"
#include "quasar/data/described.hpp"

namespace quasar::data {
namespace {

namespace fs = std::filesystem;

const std::vector<graph::Value> inputs = {input_of("v", DataType::float32, Shape{-1, 2})};

TEST(Open, TakesWhatTheCommandLineTakes) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "sub" / "files");
  write_npz(folder.path() / "sub" / "d.npz", {{"v", npy_text<float>({3, 2}, {1, 2, 3, 4, 5, 6})}});
  write_file(folder.path() / "sub" / "files" / "0.npy", npy_text<float>({2}, {1, 2}));
  write_file(folder.path() / "sub" / "d.yaml", "reader: NPZ\npath: d.npz\nlimit: 2\n");
  write_file(folder.path() / "sub" / "d.json", R"({"path": "d.npz", "limit": 1})");
  EXPECT_EQ(open("sub/d.npz", inputs, folder.path())->size(), 3U);
  EXPECT_EQ(open((folder.path() / "sub" / "d.npz").string(), inputs)->size(), 3U);
  EXPECT_EQ(open("sub/d.yaml", inputs, folder.path())->size(), 2U);
  EXPECT_EQ(open("sub/d.json", inputs, folder.path())->size(), 1U);
  EXPECT_EQ(open("sub/files", inputs, folder.path())->size(), 1U);
  EXPECT_EQ(open("random", inputs, folder.path())->size(), 100U);
  EXPECT_EQ(open({{"reader", "random"}, {"count", 7}}, inputs)->size(), 7U);
}

// Goals that nobody names are about right answers where somebody says that there are labels.
TEST(Open, TellsWhetherSamplesAreSaidToHaveClasses) {
  const TemporaryFolder folder;
  for (const Json& none : {Json("nothing.npz"), Json("random"), Json{{"reader", "npz"}, {"path", "d.npz"}},
                           Json{{"reader", "images"}, {"path", "."}, {"labels", "boxes.json"}}, Json(3)})
    EXPECT_FALSE(has_classes(none, folder.path())) << none;
  EXPECT_TRUE(has_classes({{"reader", "npz"}, {"path", "d.npz"}, {"labels", "answers"}, {"batch_size", 4}}, folder.path()));
  EXPECT_TRUE(has_classes({{"reader", "pb"}, {"path", "d"}, {"labels", "labels.csv"}}, folder.path()));
}

TEST(Open, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "empty");
  write_file(folder.path() / "list.yaml", "- 1\n");
  write_file(folder.path() / "data.csv", "1,2\n");
  const std::vector<std::pair<Json, std::vector<std::string>>> table = {
      {"nothing", {"'", "nothing': no such file or folder"}},
      {"empty", {"empty", "holds neither .npy files"}},
      {"data.csv", {"data.csv", "expected a .npz file, a folder"}},
      {"list.yaml", {"list.yaml", "must hold a mapping with a reader"}},
      {"none.yaml", {"none.yaml", "No such file"}},
      {3, {"expected a text or a mapping", "3"}},
      {Json::object(), {"a reader is missing", "npy, npz, pb, random"}},
      {Json{{"reader", "npzz"}}, {"unknown reader 'npzz'", "did you mean 'npz'"}},
      {Json{{"reader", "pictures"}, {"path", "."}}, {"unknown reader 'pictures'", "images"}},
      {Json{{"reader", 3}}, {"'reader' is 3"}},
      {Json{{"reader", "npz"}}, {"reader npz: option 'path' is missing"}},
      {Json{{"reader", "npz"}, {"path", "empty"}}, {"empty' is a folder, not a zip archive"}},
      {Json{{"reader", "npz"}, {"path", "no.npz"}}, {"no.npz", "No such file"}},
  };
  for (const auto& [description, parts] : table) {
    EXPECT_EQ(missing(error_of([&] { open(description, inputs, folder.path()); }), parts), "");
  }
  EXPECT_EQ(missing(error_of([&] { open("random", {}); }), {"the model has no inputs"}), "");
}

}  // namespace
}  // namespace quasar::data
