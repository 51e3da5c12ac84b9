#include "quasar/graph/repeated_initializers.hpp"

#include <gtest/gtest.h>

#include "quasar/graph/load.hpp"
#include "wire.hpp"

namespace quasar::graph {
namespace {

size_t count_in(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) count++;
  return count;
}

TEST(RepeatedInitializers, OneOfEachNameStays) {
  using namespace wire;
  const std::string weight = number(1, 0) + number(2, static_cast<int>(DataType::int64)) + bytes(8, "twice");
  const std::string branch = wire::node({"Identity", {"twice"}, {"b"}}) + bytes(5, weight) + bytes(5, weight) + wire::output("b");
  const std::string branches =
      wire::attribute("then_branch", 5, bytes(6, branch)) + wire::attribute("else_branch", 5, bytes(6, branch));
  Model model =
      from_bytes(wire::model(wire::input("c") + wire::output("y") + wire::node({"If", {"c"}, {"y"}, branches}), 7, 13), "test");
  ASSERT_EQ(count_in(to_bytes(model), weight), 4U);
  drop_repeated_initializers(model);
  EXPECT_EQ(count_in(to_bytes(model), weight), 2U) << "one in each branch";
}

}  // namespace
}  // namespace quasar::graph
