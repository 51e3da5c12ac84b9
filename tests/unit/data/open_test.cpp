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

// Without opening it: goals that nobody names are about right answers where there are labels.
TEST(Open, TellsWhetherSamplesSayTheirClass) {
  const TemporaryFolder folder;
  const std::string values = npy_text<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  write_npz(folder.path() / "none.npz", {{"v", values}});
  write_npz(folder.path() / "named.npz", {{"v", values}, {"label", npy_text<int64_t>({3}, {0, 1, 0})}});
  write_npz(folder.path() / "values.npz", {{"v", values}, {"y", npy_text<float>({3}, {0.5F, 1, 2})}});
  write_npz(folder.path() / "pixels.npz", {{"v", values}, {"labels", npy_text<int64_t>({3, 2}, {0, 1, 0, 1, 0, 1})}});
  write_npz(folder.path() / "own.npz", {{"v", values}, {"answers", npy_text<int64_t>({3}, {0, 1, 0})}});
  for (const char* name : {"none.npz", "values.npz", "pixels.npz", "own.npz", "nothing.npz", "random"})
    EXPECT_FALSE(has_classes(name, folder.path())) << name;
  EXPECT_TRUE(has_classes("named.npz", folder.path()));
  EXPECT_TRUE(has_classes({{"path", "own.npz"}, {"labels", "answers"}, {"limit", 2}}, folder.path()));
  for (const char* name : {"cats/a.png", "dogs/b.png"}) {
    fs::create_directories((folder.path() / "classes" / name).parent_path());
    write_file(folder.path() / "classes" / name, "");
  }
  EXPECT_TRUE(has_classes({{"reader", "images"}, {"path", "classes"}, {"mean", 0}, {"scale", 1}}, folder.path()));
  EXPECT_FALSE(has_classes({{"reader", "images"}, {"path", "classes/cats"}, {"mean", 0}, {"scale", 1}}, folder.path()));
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
