#include "quasar/runtime/observed_session.hpp"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "models.hpp"
#include "quasar/base/error.hpp"
#include "quasar/runtime/prepare.hpp"

namespace quasar::runtime {
namespace {
using namespace quasar::test;

// x [n, 8] -> product -> rectified -> y; sizes = Shape(x).
graph::Model chain() {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {float_value("x", {-1, 8}, {"n", ""})};
  model.outputs = {float_value("y", {-1, 8}, {"n", ""})};
  model.initializers["w"] = random_tensor({8, 8}, 1);
  model.nodes = {node("MatMul", "multiply", {"x", "w"}, {"product"}), node("Relu", "rectify", {"product"}, {"rectified"}),
                 node("Mul", "square", {"rectified", "rectified"}, {"y"}), node("Shape", "measure", {"x"}, {"sizes"})};
  return model;
}

std::map<size_t, Tensor> seen_in(const ObservedSession& session, const Tensor& x) {
  std::map<size_t, Tensor> seen;
  session.run(std::vector{x}, [&](size_t number, const Tensor& value) {
    const bool is_new =
        seen.emplace(number, Tensor::copy(value.type(), value.shape(), value.bytes().data(), value.bytes().size())).second;
    EXPECT_TRUE(is_new) << number;
  });
  return seen;
}

TEST(ObservedSession, ShowsWhatASessionWouldGive) {
  const std::vector<std::string> values{"rectified", "y", "sizes", "product"};
  const ObservedSession observed(chain(), values);
  ASSERT_EQ(observed.inputs().size(), 1U);
  EXPECT_EQ(observed.inputs()[0].name, "x");
  const Session session(tapped(chain(), values));
  for (const int64_t rows : {1, 5}) {
    const Tensor x = random_tensor({rows, 8}, static_cast<uint64_t>(rows));
    const auto expected = session.run(std::vector{x});
    const auto seen = seen_in(observed, x);
    ASSERT_EQ(seen.size(), values.size());
    for (size_t i = 0; i < values.size(); i++) EXPECT_EQ(seen.at(i), expected[i]) << values[i];
  }
}

TEST(ObservedSession, ShowsManyValues) {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {float_value("v0", {2})};
  std::vector<std::string> values;
  for (int i = 0; i < 2100; i++) {
    const std::string from = "v" + std::to_string(i), to = "v" + std::to_string(i + 1);
    model.nodes.push_back(node(i % 2 == 0 ? "Neg" : "Relu", "n" + std::to_string(i), {from}, {to}));
    values.push_back(to);
  }
  model.outputs = {float_value("v2100", {2})};
  const Tensor x = Tensor::of<float>({2}, {1, -2});
  const auto seen = seen_in(ObservedSession(model, values), x);
  const auto expected = Session(tapped(model, values)).run(std::vector{x});
  ASSERT_EQ(seen.size(), values.size());
  for (size_t i = 0; i < values.size(); i++) EXPECT_EQ(seen.at(i), expected[i]) << values[i];
  EXPECT_EQ(seen.at(1).as<float>()[1], 2);
}

// What is observed there looks at another session meanwhile.
TEST(ObservedSession, RunsWithinARun) {
  const ObservedSession outer(chain(), {"product", "y"}), inner(chain(), {"rectified"});
  const Tensor x = random_tensor({1, 8}, 4);
  std::vector<size_t> order;
  outer.run(std::vector{x}, [&](size_t number, const Tensor&) {
    inner.run(std::vector{x}, [&](size_t, const Tensor&) { order.push_back(9); });
    order.push_back(number);
  });
  EXPECT_EQ(order, (std::vector<size_t>{9, 0, 9, 1}));
}

TEST(ObservedSession, ShowsConstantsInEveryRun) {
  graph::Model model = chain();
  model.nodes.push_back(node("Neg", "turn", {"w"}, {"turned"}));
  const ObservedSession observed(model, {"w", "turned", "y"});
  for (int run = 0; run < 2; run++) {
    const auto seen = seen_in(observed, random_tensor({1, 8}, 3));
    ASSERT_EQ(seen.size(), 3U);
    EXPECT_EQ(seen.at(0), model.initializers.at("w"));
    EXPECT_EQ(seen.at(1).as<float>()[5], -model.initializers.at("w").as<float>()[5]);
  }
}

TEST(ObservedSession, WhatTheObserverThrowsArrives) {
  const ObservedSession observed(chain(), {"product", "y"});
  const std::vector x{random_tensor({1, 8}, 3)};
  int calls = 0;
  const auto stops = [&](size_t, const Tensor&) {
    calls++;
    throw std::out_of_range("enough");
  };
  EXPECT_THROW(observed.run(x, stops), std::out_of_range);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(seen_in(observed, x[0]).size(), 2U);
}

TEST(ObservedSession, UnknownValuesAreNamed) {
  EXPECT_THROW(ObservedSession(chain(), {"nowhere"}), Error);
}

TEST(ObservedSession, ThreadsShareIt) {
  const ObservedSession observed(chain(), {"y"});
  std::vector<std::jthread> threads;
  for (uint64_t t = 0; t < 4; t++) {
    threads.emplace_back([&observed, t] {
      const Tensor x = random_tensor({3, 8}, t);
      const auto first = seen_in(observed, x);
      for (int i = 0; i < 50; i++) EXPECT_EQ(seen_in(observed, x), first);
    });
  }
}

}  // namespace
}  // namespace quasar::runtime
