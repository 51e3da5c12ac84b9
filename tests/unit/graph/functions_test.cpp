// Functions that a model defines itself stand as their bodies once the model is loaded.
#include <gtest/gtest.h>

#include <set>

#include "quasar/base/error.hpp"
#include "quasar/graph/load.hpp"
#include "wire.hpp"

namespace quasar::graph {
namespace {

using wire::attribute;
using wire::bytes;
using wire::number;

std::string import(const std::string& domain, int64_t version) {
  return bytes(1, domain) + number(2, version);
}

// A node of a function's body.
std::string inner(const wire::Node& node) {
  std::string out = wire::node(node);
  out[0] = static_cast<char>(7 << 3 | 2);
  return out;
}

std::string call(const std::string& function, const std::string& more = {}) {
  return bytes(7, "my") + (function.empty() ? "" : wire::node_name(function)) + more;
}

std::string function(const std::string& name, const std::string& content, int64_t opset = 13) {
  return bytes(25, bytes(1, name) + bytes(10, "my") + bytes(9, import("", opset)) + bytes(9, import("my", 1)) + content);
}

Model loaded(const std::string& nodes, const std::string& functions) {
  return from_bytes(wire::model(wire::input("x") + wire::output("y") + nodes) + bytes(8, import("my", 1)) + functions, "test");
}

std::string error_of(const std::string& nodes, const std::string& functions) {
  try {
    loaded(nodes, functions);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

std::vector<std::string> operators(const Model& model) {
  std::vector<std::string> out;
  for (const auto& node : model.nodes) out.push_back(node.op_type);
  return out;
}

const std::string alpha_of_call = attribute("alpha", 1, bytes(21, "slope"));
const std::string default_slope = bytes(11, bytes(1, "slope") + wire::real(2, 2) + number(20, 1));

// o = Elu(a) · a, with a slope of 2 unless given.
const std::string gate = function("Gate", bytes(4, "a") + bytes(5, "o") + default_slope +
                                              inner({"Elu", {"a"}, {"t"}, alpha_of_call}) + inner({"Mul", {"t", "a"}, {"o"}}));

TEST(Functions, StandAsTheirBodies) {
  const std::string twice =
      function("Twice", bytes(4, "a") + bytes(5, "o") + inner({"Gate", {"a"}, {"t"}, call("first")}) +
                            inner({"Gate", {"t"}, {"o"}, call("", attribute("slope", 1, wire::real(2, 3)))}));
  const Model model = loaded(wire::node({"Relu", {"x"}, {"t"}}) + wire::node({"Twice", {"t"}, {"u"}, call("both")}) +
                                 wire::node({"Gate", {"u"}, {"y"}, call("")}),
                             gate + twice);
  EXPECT_EQ(operators(model), (std::vector<std::string>{"Relu", "Elu", "Mul", "Elu", "Mul", "Elu", "Mul"}));
  EXPECT_FALSE(model.opsets.contains("my"));
  EXPECT_EQ(obstacle(model), "");
  std::set<std::string> names;
  for (const auto& node : model.nodes) {
    EXPECT_TRUE(names.insert(node.name).second) << node.name;
    EXPECT_TRUE(names.insert("value " + node.outputs.front()).second) << node.outputs.front();
  }
  EXPECT_EQ(model.nodes[1].name, "both/first/Elu");
  EXPECT_EQ(model.nodes[1].inputs.front(), "t");
  EXPECT_EQ(model.nodes[4].outputs.front(), "u");
  EXPECT_EQ(model.nodes[6].outputs.front(), "y");
  EXPECT_EQ(model.nodes[6].inputs, (std::vector<std::string>{model.nodes[5].outputs.front(), "u"}));
  EXPECT_EQ(model.nodes[1].real("alpha", 0), 2);
  EXPECT_EQ(model.nodes[3].real("alpha", 0), 3);
  EXPECT_EQ(to_bytes(from_bytes(to_bytes(model), "test")), to_bytes(model));
}

TEST(Functions, SubgraphsOfTheirsReadTheCallsValues) {
  const auto branch = [](const char* name, const char* op) {
    return attribute(name, 5,
                     bytes(6, wire::node({op, {"a"}, {"b"}}) + wire::node({"Gate", {"b"}, {"r"}, call("")}) + wire::output("r")));
  };
  const std::string chosen =
      function("Chosen", bytes(4, "c") + bytes(4, "a") + bytes(5, "o") +
                             inner({"If", {"c"}, {"o"}, branch("then_branch", "Neg") + branch("else_branch", "Abs")}));
  const Model model = loaded(wire::node({"Cast", {"x"}, {"flag"}, attribute("to", 2, number(3, 9))}) +
                                 wire::node({"Chosen", {"flag", "x"}, {"y"}, call("")}),
                             gate + chosen);
  EXPECT_EQ(operators(model), (std::vector<std::string>{"Cast", "If"}));
  EXPECT_EQ(model.nodes[1].captures, (std::vector<std::string>{"x"}));
  EXPECT_EQ(obstacle(model), "");
}

TEST(Functions, MayHandOnWhatTheyRead) {
  const std::string through = function("Through", bytes(4, "a") + bytes(5, "a") + bytes(5, "n") + inner({"Neg", {"a"}, {"n"}}));
  const Model model =
      loaded(wire::node({"Through", {"x"}, {"p", "q"}, call("")}) + wire::node({"Add", {"p", "q"}, {"y"}}), through);
  EXPECT_EQ(operators(model), (std::vector<std::string>{"Neg", "Identity", "Add"}));
}

TEST(Functions, WhatCannotBeJoinedIsSaid) {
  const std::string one = wire::node({"Loop1", {"x"}, {"y"}, call("")});
  const std::string body = bytes(4, "a") + bytes(5, "o") + inner({"Loop1", {"a"}, {"o"}, call("")});
  EXPECT_NE(error_of(one, function("Loop1", body)).find("function Loop1 of the domain 'my' calls itself"), std::string::npos);
  const std::string old = bytes(4, "a") + bytes(5, "o") + inner({"Relu", {"a"}, {"o"}});
  const std::string text = error_of(one, function("Loop1", old, 11));
  EXPECT_NE(text.find("imports version 11 of the operator set 'ai.onnx', but the model imports version 13"), std::string::npos)
      << text;
}

// Functions that call the next one twice each would fill any memory with a few bytes.
TEST(Functions, CallsWithinCallsHaveLimits) {
  const auto functions = [](int count, bool twice) {
    std::string out;
    for (int i = 0; i < count; ++i) {
      const std::string next = "F" + std::to_string(i + 1), name = "F" + std::to_string(i);
      std::string body = inner({"Neg", {"a"}, {"o"}});
      if (i + 1 < count) body = inner({next, {twice ? "t" : "a"}, {"o"}, call("")});
      if (i + 1 < count && twice) body = inner({next, {"a"}, {"t"}, call("")}) + body;
      out += function(name, bytes(4, "a") + bytes(5, "o") + body);
    }
    return out;
  };
  const std::string first = wire::node({"F0", {"x"}, {"y"}, call("")});
  EXPECT_EQ(loaded(first, functions(50, false)).nodes.size(), 1U);
  EXPECT_NE(error_of(first, functions(51, false)).find("more than 50 deep within each other, at function F50"),
            std::string::npos);
  EXPECT_EQ(loaded(first, functions(8, true)).nodes.size(), 128U);
  EXPECT_NE(error_of(first, functions(40, true)).find("become more than 250000 nodes"), std::string::npos);
}

}  // namespace
}  // namespace quasar::graph
