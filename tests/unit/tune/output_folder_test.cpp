#include "quasar/tune/output_folder.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "quasar/base/file.hpp"
#include "unit/error_of.hpp"

namespace quasar::tune {
namespace {
namespace fs = std::filesystem;

TEST(OutputFolder, ResultsAppearTogether) {
  const TemporaryFolder parent;
  const fs::path out = parent.path() / "out";
  {
    OutputFolder folder(out);
    write_file(out / "best.onnx", "earlier");
    write_file(folder.unfinished() / "best.onnx", "new");
    write_file(folder.unfinished() / "best_config.yaml", "new");
    EXPECT_EQ(read_file(out / "best.onnx"), "earlier");
    EXPECT_FALSE(fs::exists(out / "best_config.yaml"));
    write_file(out / "result.json", "of the earlier one");
    write_file(folder.unfinished() / "result.json", "of the new one");
    folder.put_in_place({"best.onnx.data", "best.onnx", "best_config.yaml"}, "result.json");
    EXPECT_EQ(read_file(out / "result.json"), "of the new one");
    EXPECT_EQ(read_file(out / "best.onnx"), "new");
    EXPECT_EQ(read_file(out / "best_config.yaml"), "new");
  }
  for (const auto& file : fs::directory_iterator(out)) EXPECT_EQ(file.path().string().find(".part"), std::string::npos);
}

TEST(OutputFolder, WhatAKilledSearchHadBegunIsRemovedAndNothingElse) {
  const TemporaryFolder parent;
  const auto make = [&](const std::vector<std::string>& names) {
    for (const auto& name : names) write_file(parent.path() / name, "half");
  };
  const auto there = [&](const std::string& name) { return fs::exists(parent.path() / name); };
  fs::create_directories(parent.path() / ".quasar-results.part4711");
  fs::create_directories(parent.path() / "photos.part1");
  const std::vector<std::string> ours{".quasar-results.part4711/best.onnx", "result.json.part4711", "report.html.part",
                                      "trial_3.onnx.part12"};
  const std::vector<std::string> theirs{"photos.part1/a.png", "archive.zip.part2", "m.onnx.part4", "best.onnx.partial"};
  make(ours);
  make(theirs);
  fs::create_directory_symlink(parent.path(), parent.path() / ".quasar-results.part1");
  const OutputFolder folder(parent.path());
  for (const auto& name : ours) EXPECT_FALSE(there(name)) << name;
  for (const auto& name : theirs) EXPECT_TRUE(there(name)) << name;
  EXPECT_FALSE(there(".quasar-results.part4711"));
  EXPECT_TRUE(fs::is_symlink(parent.path() / ".quasar-results.part1"));
}

TEST(OutputFolder, UnfinishedResultsDoNotGoWhereALinkLeads) {
  const TemporaryFolder parent;
  const fs::path out = parent.path() / "out", victim = parent.path() / "victim";
  fs::create_directories(out);
  fs::create_directories(victim);
  write_file(victim / "best.onnx", "mine");
  fs::create_directory_symlink(victim, out / (".quasar-results.part" + std::to_string(getpid())));
  OutputFolder folder(out);
  write_file(folder.unfinished() / "best.onnx", "new");
  folder.put_in_place({"best.onnx"}, "result.json");
  EXPECT_EQ(read_file(out / "best.onnx"), "new");
  EXPECT_EQ(read_file(victim / "best.onnx"), "mine");
}

TEST(OutputFolder, IsLostWhenItIsGoneOrAnothersHasItsName) {
  const TemporaryFolder parent;
  const fs::path out = parent.path() / "out";
  const OutputFolder folder(out);
  EXPECT_EQ(folder.lost(), "");
  fs::rename(out, parent.path() / "moved");
  EXPECT_NE(folder.lost().find("nothing can be written there"), std::string::npos) << folder.lost();
  fs::create_directory(out);
  EXPECT_EQ(folder.lost(), "");  // nobody's: it may be written to
  write_file(out / ".quasar-lock", "process 1 on another host\n");
  EXPECT_NE(folder.lost().find("another search has taken its name"), std::string::npos) << folder.lost();
  fs::remove_all(out);
  fs::rename(parent.path() / "moved", out);
  EXPECT_EQ(folder.lost(), "");
}

}  // namespace
}  // namespace quasar::tune
