// What classes are called: forms and mistakes. That every reader knows them is tested by contracts/.
#include "quasar/data/class_names.hpp"

#include "quasar/data/options.hpp"
#include "unit/data/files.hpp"

namespace quasar::data {
namespace {

class ClassNamesOption : public ::testing::Test {
 protected:
  ClassNames read(const Json& given) const {
    return read_class_names(Options(with_common({}), {{"class_names", given}}, "test"), folder.path() / "base",
                            folder.path() / "data", "test");
  }
  std::string error(const Json& given) const {
    return error_of([&] { read(given); });
  }
  ClassNamesOption() {
    for (const char* name : {"base", "data"}) std::filesystem::create_directories(folder.path() / name);
  }
  TemporaryFolder folder;
};

TEST_F(ClassNamesOption, FilesStandBesideTheConfigurationOrTheSamples) {
  write_file(folder.path() / "data/names.txt", "there\n");
  EXPECT_EQ(read("names.txt").at(0), "there");
  write_file(folder.path() / "base/names.txt", "here\n");
  EXPECT_EQ(read("names.txt").at(0), "here");
}

TEST_F(ClassNamesOption, NamesMayBeNumbersAndGapsAreAllowedInMappings) {
  EXPECT_EQ(read({0, 1.5}), (ClassNames{{0, "0"}, {1, "1.5"}}));
  EXPECT_EQ(read({{"7", "cat"}, {"-1", "nothing"}}), (ClassNames{{-1, "nothing"}, {7, "cat"}}));
}

TEST_F(ClassNamesOption, MistakesAreNamed) {
  EXPECT_EQ(missing(error(3), {"test: option 'class_names' is 3", "a list of names"}), "");
  EXPECT_EQ(missing(error(""), {"option 'class_names' is \"\""}), "");
  EXPECT_EQ(missing(error(Json::array()), {"holds no names"}), "");
  EXPECT_EQ(missing(error({"cat", nullptr}), {"the name of class 1 is null"}), "");
  EXPECT_EQ(missing(error({{"cat", 1}}), {"'cat' is not the number of a class"}), "");
  EXPECT_EQ(missing(error("nowhere.txt"), {"nowhere.txt"}), "");
  write_file(folder.path() / "base/gap.txt", "cat\n\ndog\n");
  EXPECT_EQ(missing(error("gap.txt"), {"gap.txt', line 2", "every line is the name of a class"}), "");
  write_file(folder.path() / "base/latin.txt", "cat\nl\xe9opard\n");
  EXPECT_EQ(missing(error("latin.txt"), {"latin.txt', line 2: is not UTF-8 text"}), "");
  write_file(folder.path() / "base/empty.txt", "\n");
  EXPECT_EQ(missing(error("empty.txt"), {"holds no names"}), "");
  write_file(folder.path() / "base/one.yaml", "cat\n");
  EXPECT_EQ(missing(error("one.yaml"), {"one.yaml' is \"cat\"", "must be a list"}), "");
}

// Folders may have any name; reports and result.json are UTF-8.
TEST_F(ClassNamesOption, NamesThatTheSamplesBringAreMadeUtf8) {
  const Options options(with_common({}), Json::object(), "test");
  EXPECT_EQ(read_class_names(options, "", "", "test", {{0, "l\xe9opard"}}).at(0), "l\xef\xbf\xbdopard");
}

}  // namespace
}  // namespace quasar::data
