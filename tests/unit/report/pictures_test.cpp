#include "quasar/report/pictures.hpp"

#include <gtest/gtest.h>

#include "quasar/base/file.hpp"

namespace quasar::report {
namespace {

class PicturesTest : public testing::Test {
 protected:
  PicturesTest() { std::filesystem::create_directory(folder.path() / "worst_samples"); }
  void put(const std::string& name, const std::string& bytes) { write_file(folder.path() / name, bytes); }
  Json of(const Json& worst) const { return pictures_of({{"best", {{"flips", {{"worst", worst}}}}}}, folder.path()); }

  const TemporaryFolder folder;
  const std::string start = "\xff\xd8\xff";
};

TEST_F(PicturesTest, BecomeText) {
  put("worst_samples/a.jpg", start);
  put("worst_samples/b.jpg", start + "A");
  put("worst_samples/c.jpg", start + "AB");
  const Json found = of({{{"sample", 1}, {"picture", "worst_samples/a.jpg"}},
                         {{"sample", 2}, {"picture", "worst_samples/b.jpg"}},
                         {{"sample", 3}, {"picture", "worst_samples/c.jpg"}}});
  EXPECT_EQ(found["1"], "data:image/jpeg;base64,/9j/");
  EXPECT_EQ(found["2"], "data:image/jpeg;base64,/9j/QQ==");
  EXPECT_EQ(found["3"], "data:image/jpeg;base64,/9j/QUI=");
}

// A result.json from a stranger names no files of the reader's.
TEST_F(PicturesTest, ComeFromTheirFolderOnlyAndAreSmallJpegFiles) {
  put("private.jpg", start);
  put("worst_samples/page.jpg", "<script>");
  put("worst_samples/large.jpg", start + std::string(70000, 'x'));
  EXPECT_TRUE(of({{{"sample", 1}, {"picture", "private.jpg"}},
                  {{"sample", 2}, {"picture", "worst_samples/../private.jpg"}},
                  {{"sample", 3}, {"picture", (folder.path() / "private.jpg").string()}},
                  {{"sample", 4}, {"picture", "worst_samples/page.jpg"}},
                  {{"sample", 5}, {"picture", "worst_samples/large.jpg"}},
                  {{"sample", 6}, {"picture", "worst_samples/none.jpg"}},
                  {{"sample", 7}, {"picture", "worst_samples/.."}},
                  {{"sample", 8}}})
                  .empty());
  EXPECT_TRUE(pictures_of({{"best", nullptr}}, folder.path()).empty());
}

TEST_F(PicturesTest, TogetherHaveABound) {
  put("worst_samples/a.jpg", start + std::string(60000, 'x'));
  Json worst = Json::array();
  for (int i = 0; i < 40; ++i) worst.push_back({{"sample", i}, {"picture", "worst_samples/a.jpg"}});
  EXPECT_LE(of(worst).dump().size(), (1U << 20) + 1000);
  EXPECT_GT(of(worst).size(), 10U);
}

}  // namespace
}  // namespace quasar::report
