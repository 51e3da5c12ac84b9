// A model with branches, and samples that take them.
#pragma once

#include <functional>
#include <memory>

#include "quasar/runtime/prepare.hpp"
#include "unit/rounding/rounding_models.hpp"
#include "unit/runtime/models.hpp"

namespace quasar::tune {

// x ─▶ Gemm ─▶ If chooses: MatMul, else MatMul ─▶ Relu ─▶ MatMul; then Gemm. Half of the samples take either branch.
inline graph::Model two_ways() {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{"x", DataType::float32, Shape{4, 8}, {"", ""}}, {"chooses", DataType::boolean, Shape{}}};
  model.outputs = {{"y", DataType::float32, Shape{4, 8}, {"", ""}}};
  for (const char* name : {"first", "one", "two", "three", "last"})
    model.initializers[name] = random_tensor({8, 8}, static_cast<unsigned>(model.initializers.size()) + 1, 0.4F);
  const std::string out = test::value_bytes("o", DataType::float32, {4, 8});
  graph::Node choice = test::node("If", "choice", {"chooses"}, {"c"});
  choice.captures = {"g", "one", "two", "three"};
  choice.attributes = {test::subgraph("then_branch", {test::node_bytes("MatMul", {"g", "one"}, "o")}, {}, {out}),
                       test::subgraph("else_branch",
                                      {test::node_bytes("MatMul", {"g", "two"}, "m"), test::node_bytes("Relu", {"m"}, "r"),
                                       test::node_bytes("MatMul", {"r", "three"}, "o")},
                                      {}, {out})};
  model.nodes = {test::node("MatMul", "gemm1", {"x", "first"}, {"g"}), choice,
                 test::node("MatMul", "gemm2", {"c", "last"}, {"y"})};
  return runtime::prepare(model);
}

inline std::shared_ptr<GeneratedSamples> chosen_by(const std::function<bool(size_t)>& choice) {
  return std::make_shared<GeneratedSamples>(24, [choice](size_t index) {
    return data::Sample{random_tensor({4, 8}, static_cast<unsigned>(index) + 1, 1), Tensor::scalar(choice(index))};
  });
}

}  // namespace quasar::tune
