#include "quasar/graph/half_to_float.hpp"

#include <gtest/gtest.h>

#include "quasar/graph/load.hpp"
#include "wire.hpp"

namespace quasar::graph {
namespace {

using wire::attribute;
using wire::bytes;
using wire::number;

std::string typed(int field, const std::string& name, int type) {
  return bytes(field, bytes(1, name) + bytes(2, bytes(1, number(1, type))));
}

// Constants, casts and results of branches, nested ones too, become float32.
TEST(HalfToFloat, ConvertsSubgraphs) {
  constexpr int half = 10, floating = 1;
  const std::string ones = bytes(8, "k") + wire::tensor(half, {2}, bytes(9, std::string("\0\x3C\0\x3C", 4)));
  const std::string cast = wire::node({"Cast", {"x"}, {"c"}, attribute("to", 2, number(3, half))});
  const std::string deep = bytes(5, ones) + wire::node({"Mul", {"c", "k"}, {"m"}}) + typed(12, "m", half);
  const auto branch = [&](const std::string& name, const std::string& graph) { return attribute(name, 5, bytes(6, graph)); };
  const std::string nested = wire::node({"If", {"flag"}, {"r"}, branch("then_branch", deep) + branch("else_branch", deep)});
  const std::string outer = cast + nested + typed(12, "r", half);
  const std::string graph = typed(11, "x", half) + typed(11, "flag", 9) + typed(12, "y", half) +
                            wire::node({"If", {"flag"}, {"y"}, branch("then_branch", outer) + branch("else_branch", outer)});
  const Model model = half_to_float(from_bytes(wire::model(graph), "test"));
  EXPECT_EQ(model.inputs[0].type, DataType::float32);
  const std::string written = to_bytes(model);
  EXPECT_EQ(written.find(attribute("to", 2, number(3, half))), std::string::npos);
  EXPECT_NE(written.find(bytes(1, number(1, floating))), std::string::npos);
  EXPECT_EQ(written.find(bytes(1, number(1, half))), std::string::npos);
  EXPECT_NE(written.find(std::string("\0\0\x80\x3F\0\0\x80\x3F", 8)), std::string::npos);
}

// As of a model whose inputs and outputs stay float32: a Cast stands at both ends of each branch.
TEST(HalfToFloat, ConvertsConstantsThatStandInBranchesOnly) {
  constexpr int half = 10, floating = 1;
  const std::string ones = bytes(8, "k") + wire::tensor(half, {2}, bytes(9, std::string("\0\x3C\0\x3C", 4)));
  const std::string body = bytes(5, ones) + wire::node({"Cast", {"x"}, {"c"}, attribute("to", 2, number(3, half))}) +
                           wire::node({"Mul", {"c", "k"}, {"m"}}) +
                           wire::node({"Cast", {"m"}, {"r"}, attribute("to", 2, number(3, floating))}) + typed(12, "r", floating);
  const auto branch = [&](const std::string& name) { return attribute(name, 5, bytes(6, body)); };
  const std::string graph = typed(11, "x", floating) + typed(11, "flag", 9) + typed(12, "y", floating) +
                            wire::node({"If", {"flag"}, {"y"}, branch("then_branch") + branch("else_branch")});
  const std::string written = to_bytes(half_to_float(from_bytes(wire::model(graph), "test")));
  EXPECT_EQ(written.find(attribute("to", 2, number(3, half))), std::string::npos);
  EXPECT_NE(written.find(std::string("\0\0\x80\x3F\0\0\x80\x3F", 8)), std::string::npos);
}

}  // namespace
}  // namespace quasar::graph
