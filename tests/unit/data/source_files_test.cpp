#include "quasar/data/source_files.hpp"

#include <gtest/gtest.h>

#include "unit/data/files.hpp"

namespace quasar::data {
namespace {
namespace fs = std::filesystem;

std::vector<std::string> names_in(const MovedSource& source) {
  std::vector<std::string> out;
  for (const auto& [name, place] : source.files) out.push_back(name);
  return out;
}

// What a folder, its labels and a description of them in a file come to elsewhere: the same samples.
TEST(MovedSource, ReadsTheSameSamplesFromAnotherFolder) {
  const TemporaryFolder here, there;
  fs::create_directories(here.path() / "arrays/deeper/deepest");
  for (int i = 0; i < 3; ++i)
    write_file(here.path() / "arrays" / (std::to_string(i) + ".npy"), npy_text(Shape{1, 2}, std::vector<float>{float(i), 7}));
  write_file(here.path() / "arrays/notes.txt", "no sample");
  write_file(here.path() / "arrays/deeper/deepest/far.npy", "too deep to be one");
  write_file(here.path() / "arrays/labels.csv", "file,label\n0.npy,4\n1.npy,5\n2.npy,6\n");
  write_file(here.path() / "names.json", R"(["a", "b"])");
  write_file(here.path() / "samples.yaml",
             "reader: npy\npath: arrays/.\nlabels: labels.csv\nclass_names: names.json\nlimit: 2\n");
  const auto source = moved_source("samples.yaml", here.path(), "samples/calib");
  ASSERT_TRUE(source);
  EXPECT_EQ(names_in(*source),
            (std::vector<std::string>{"samples/calib/arrays/0.npy", "samples/calib/arrays/1.npy", "samples/calib/arrays/2.npy",
                                      "samples/calib/class_names/names.json", "samples/calib/labels/labels.csv"}));
  for (const auto& [name, place] : source->files) {
    fs::create_directories((there.path() / name).parent_path());
    fs::copy_file(place, there.path() / name);
  }
  const std::vector<graph::Value> inputs{{"x", DataType::float32, Shape{-1, 2}, std::vector<std::string>(2)}};
  const DatasetPtr before = open("samples.yaml", inputs, here.path()), after = open(source->words, inputs, there.path());
  ASSERT_EQ(after->size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(to_doubles(after->at(i)[0]), to_doubles(before->at(i)[0]));
    EXPECT_EQ(after->label(i), before->label(i));
  }
}

TEST(MovedSource, ArraysOfLabelsAndMadeUpSamplesAreNoFiles) {
  const TemporaryFolder here;
  write_file(here.path() / "a.npz", "not read");
  const auto archive = moved_source({{"reader", "npz"}, {"path", "a.npz"}, {"labels", "label"}}, here.path(), "samples/calib");
  ASSERT_TRUE(archive);
  EXPECT_EQ(names_in(*archive), std::vector<std::string>{"samples/calib/a.npz"});
  EXPECT_EQ(archive->words["labels"], "label");
  EXPECT_EQ(archive->words["path"], "samples/calib/a.npz");
  const auto random = moved_source("random", here.path(), "samples/calib");
  ASSERT_TRUE(random);
  EXPECT_TRUE(random->files.empty());
  EXPECT_FALSE(moved_source({{"reader", "of a program"}}, here.path(), "samples/calib"));
  EXPECT_NE(error_of([&] { moved_source(7, here.path(), "samples/calib"); }).find("expected a text or a mapping"),
            std::string::npos);
}

}  // namespace
}  // namespace quasar::data
