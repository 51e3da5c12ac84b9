#include "quasar/base/files/overwrite_guard.hpp"

#include <gtest/gtest.h>

#include "quasar/base/file.hpp"
#include "unit/error_of.hpp"

namespace quasar {
namespace {
namespace fs = std::filesystem;

struct InAndOutTest : testing::Test {
  InAndOutTest() {
    write_file(folder / "in", "x");
    fs::create_directories(folder / "samples" / "class");
    write_file(folder / "samples" / "class" / "a.png", "x");
  }

  // Reads "in" and the pictures, and writes this.
  std::string said(const fs::path& output) const {
    OverwriteGuard files;
    files.reads(folder / "in", "the model");
    files.reads_in(folder / "samples", "of the data", [](const fs::path& file) { return file.extension() == ".png"; });
    files.writes(output, "-o");
    return test::error_of([&] { files.check(); });
  }

  TemporaryFolder own;
  fs::path folder = own.path();
};

TEST_F(InAndOutTest, AnInputIsNotReplacedByAnyOfItsNames) {
  EXPECT_NE(said(folder / "in").find("-o: '" + (folder / "in").string() + "' is the model, which would be replaced"),
            std::string::npos);
  fs::create_symlink("in", folder / "link");
  fs::create_hard_link(folder / "in", folder / "hard");
  fs::create_directory_symlink(folder, folder / "again");
  for (const char* name : {"link", "hard", "again/in", "samples/../in", "./in"})
    EXPECT_NE(said(folder / name), "no error") << name;
  EXPECT_EQ(said(folder / "out"), "no error");
  EXPECT_EQ(said("/dev/stdout"), "no error");
}

TEST_F(InAndOutTest, NorIsAFileOfAFolderThatIsRead) {
  fs::create_symlink(folder / "samples" / "class" / "a.png", folder / "b.png");
  for (const char* name : {"samples/class/a.png", "b.png"}) EXPECT_NE(said(folder / name), "no error") << name;
  for (const char* name : {"samples/new.png", "samples/class", "c.png"}) EXPECT_EQ(said(folder / name), "no error") << name;
}

TEST_F(InAndOutTest, OutputsAreDifferentFiles) {
  OverwriteGuard files;
  files.writes(folder / "new", "-o");
  files.writes(folder / "samples" / ".." / "new", "--html");
  EXPECT_NE(test::error_of([&] { files.check(); }).find("--html: "), std::string::npos);
}

TEST_F(InAndOutTest, AFolderThatIsWrittenTo) {
  OverwriteGuard files;
  files.reads(folder / "in", "the model");
  files.writes_in(folder, "keep_models", [](const fs::path& file) { return file.filename() == "in"; });
  EXPECT_NE(test::error_of([&] { files.check(); }), "no error");
  OverwriteGuard below;
  below.reads(folder / "sub" / "in", "the model");
  below.writes_in(folder, "keep_models", [](const fs::path&) { return true; });
  EXPECT_EQ(test::error_of([&] { below.check(); }), "no error") << "nothing is written to folders below";
  OverwriteGuard both;
  both.reads_in(folder, "the samples", [](const fs::path& file) { return file.filename() == "in"; });
  both.writes_in(folder / ".", "output_dir", [](const fs::path&) { return true; });
  EXPECT_NE(test::error_of([&] { both.check(); }).find("is the samples, which would be replaced"), std::string::npos);
}

}  // namespace
}  // namespace quasar
