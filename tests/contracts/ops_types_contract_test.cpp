// What every operator family must keep.
#include <gtest/gtest.h>

#include <set>

#include "quasar/ops/op.hpp"

namespace quasar::ops {
namespace {

TEST(OpsTypesContract, EachOperatorHasOneFamily) {
  std::set<std::string_view> seen;
  for (const auto& [name, entry] : types::table().items()) {
    const auto family = entry.make({});
    EXPECT_FALSE(entry.help.empty()) << name;
    EXPECT_FALSE(family->types().empty()) << name;
    for (const auto type : family->types()) EXPECT_TRUE(seen.insert(type).second) << type << " stands in two families";
  }
}

// A node without constants: the family either gives roles that fit it, or says why not.
TEST(OpsTypesContract, RolesFitTheNodeOrComeWithAReason) {
  graph::Model model;
  for (const auto& [name, entry] : types::table().items()) {
    const auto family = entry.make({});
    for (const auto type : family->types()) {
      const graph::Node node{
          .name = "node", .op_type = std::string(type), .domain = "", .inputs = {"a", "b", "c"}, .outputs = {"y"}};
      std::string why;
      const auto roles = family->roles(node, model, why);
      ASSERT_TRUE(roles || !why.empty()) << type;
      if (!roles) continue;
      EXPECT_FALSE(roles->activations.empty()) << type;
      for (const size_t input : roles->activations) EXPECT_LT(input, node.inputs.size()) << type;
      EXPECT_FALSE(roles->weight) << type << " takes weights that are not constant";
      EXPECT_EQ(roles->kind == Kind::activation, roles->bounds.has_value()) << type;
      EXPECT_TRUE(roles->kind != Kind::movement || roles->activations.size() == 1) << type;
    }
  }
}

}  // namespace
}  // namespace quasar::ops
