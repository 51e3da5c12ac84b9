#include "quasar/sensitivity/cheapest_float.hpp"

#include <gtest/gtest.h>

namespace quasar::tune {
namespace {

// x ─a─ u ─b─ v ─c─ w ─d─ y, and u ─e─ z: all could be quantized.
struct CheapestFloat : testing::Test {
  graph::Model model;
  quant::Plan plan;
  stats::Statistics seen;
  OperatorCosts costs;

  void SetUp() override {
    model.inputs = {{"x", DataType::float32, Shape{1, 100}}};
    model.outputs = {{"y", DataType::float32, Shape{1, 100}}, {"z", DataType::float32, Shape{1, 100}}};
    model.nodes = {{"a", "Relu", "", {"x"}, {"u"}},
                   {"b", "Relu", "", {"u"}, {"v"}},
                   {"c", "Relu", "", {"v"}, {"w"}},
                   {"d", "Relu", "", {"w"}, {"y"}},
                   {"e", "Relu", "", {"u"}, {"z"}}};
    for (const auto& node : model.nodes) {
      plan.nodes[node.name];
      costs.operators[node.name] = {.in_float = 100, .quantized = 10};
    }
  }

  std::set<std::string> found(double conversions = 1) const { return cheapest_float(model, plan, costs, seen, conversions); }
};

TEST_F(CheapestFloat, NothingWhereEverythingGains) {
  EXPECT_EQ(found(), std::set<std::string>());
}

// Leaving and entering codes costs 3 us each, of values whose size is not known.
TEST_F(CheapestFloat, ALossCountsWhenItIsMoreThanBothChangesOfForm) {
  costs.operators["c"] = {.in_float = 10, .quantized = 15};
  EXPECT_EQ(found(), std::set<std::string>());
  costs.operators["c"].quantized = 17;
  EXPECT_EQ(found(), std::set<std::string>{"c"});
  EXPECT_EQ(found(2), std::set<std::string>());
  costs.operators["c"].quantized = 23;
  EXPECT_EQ(found(2), std::set<std::string>{"c"});
}

// At the outputs there is one change of form less: the model gives floats anyway.
TEST_F(CheapestFloat, LossesAtTheEndNeedNoWayBack) {
  costs.operators["d"] = {.in_float = 10, .quantized = 10.5};
  EXPECT_EQ(found(), std::set<std::string>{"d"});
  costs.operators["d"].quantized = 9.5;
  EXPECT_EQ(found(), std::set<std::string>());
}

// A value that two read changes its form once: 3 us for both of them.
TEST_F(CheapestFloat, AValueChangesItsFormOnceHoweverManyReadIt) {
  costs.operators["a"] = {.in_float = 100, .quantized = 95.5};  // entering behind it saves the entering before it
  EXPECT_EQ(found(), std::set<std::string>());
  costs.operators["a"].quantized = 100.5;
  EXPECT_EQ(found(), std::set<std::string>{"a"});
}

TEST_F(CheapestFloat, NeighboursGoTogetherWhereOneAloneWouldNotPay) {
  for (const char* name : {"b", "c"}) costs.operators[name] = {.in_float = 10, .quantized = 14};
  EXPECT_EQ(found(), (std::set<std::string>{"b", "c"}));
  costs.operators["c"] = {.in_float = 10, .quantized = 10};
  EXPECT_EQ(found(), std::set<std::string>());
}

// What changing the form of large values takes is taken from where the model does it.
TEST_F(CheapestFloat, PricesAreThoseOfTheModel) {
  for (const char* value : {"x", "u", "v", "w", "y", "z"}) seen[value].shape = {1, 20000};
  costs.operators["c"] = {.in_float = 10, .quantized = 30};  // 2e-4 us an element: 7 us each way
  EXPECT_EQ(found(), std::set<std::string>{"c"});
  costs.entering["x"] = 23;  // 1e-3 us an element
  EXPECT_EQ(found(), std::set<std::string>());
}

TEST_F(CheapestFloat, WhatIsNotPlannedIsNotNamed) {
  plan.nodes.erase("c");
  EXPECT_EQ(found(), std::set<std::string>());
}

}  // namespace
}  // namespace quasar::tune
