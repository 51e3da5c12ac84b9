#include "quasar/base/printable.hpp"

#include <gtest/gtest.h>

namespace quasar {
namespace {

TEST(Printable, ShowsWhatWouldSteer) {
  EXPECT_EQ(printable("a\x1b[31m\x07\x7f\r"), "a\\x1b[31m\\x07\\x7f\\x0d");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m \xe2\x80\xae"
                      "abc \xe2\x81\xa6"),
            "\\x9b31m \\u202eabc \\u2066");
}

TEST(Printable, LeavesTheRest) {
  for (const std::string text : {"Conv_1\n\t× 10⁻³ … é \xc2\xa0 ü 漢字", "no UTF-8: \xff\xe2", "\xe2\x80", "\xc2", ""})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, NoLineLooksLikeAMessageOfItsOwn) {
  EXPECT_EQ(printable_name("a\nb\tc\x1b"), "a\\nb\\tc\\x1b");
  EXPECT_EQ(printable_message("a\nquasar: b\n c\n\nd"), "a\n  quasar: b\n c\n\n  d");
}

}  // namespace
}  // namespace quasar
