#include "quasar/report/wrap.hpp"

#include <gtest/gtest.h>

namespace quasar::report {
namespace {

TEST(Wrapped, BreaksBetweenWords) {
  EXPECT_EQ(wrapped("one two three", 7), "one two\nthree");
  EXPECT_EQ(wrapped("one two three", 80), "one two three");
  EXPECT_EQ(wrapped("one two", 6, "- ", "  "), "- one\n  two");
  EXPECT_EQ(wrapped("", 10), "");
}

TEST(Wrapped, LeavesLongWordsAndLineBreaks) {
  EXPECT_EQ(wrapped("a incomprehensible b", 5), "a\nincomprehensible\nb");
  EXPECT_EQ(wrapped("a b\nc  d", 80), "a b\nc  d");
}

TEST(Wrapped, CountsColumnsNotBytes) {
  EXPECT_EQ(columns_of("1 … 2"), 5U);
  EXPECT_EQ(wrapped("…… ……", 5), "…… ……");
}

}  // namespace
}  // namespace quasar::report
