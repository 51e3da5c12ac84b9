// What tests of rounding have in common: a small network with its samples, plans, and the error of what comes out.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "quasar/rounding/rounding.hpp"
#include "quasar/runtime/session.hpp"
#include "unit/rounding/random_tensor.hpp"
#include "unit/tune/generated_samples.hpp"

namespace quasar::tune {

// conv → Relu → depthwise → (+ the Relu's value) → pointwise with the same weights twice → Flatten → Gemm
inline graph::Model network() {
  graph::Model model;
  model.opsets[""] = 13;
  model.inputs = {{"x", DataType::float32, Shape{1, 3, 8, 8}}};
  model.outputs = {{"y", DataType::float32, Shape{1, 10}}};
  model.initializers["w1"] = random_tensor({8, 3, 3, 3}, 1, 0.3F);
  model.initializers["w2"] = random_tensor({8, 1, 3, 3}, 2, 0.3F);
  model.initializers["w3"] = random_tensor({8, 8, 1, 1}, 3, 0.3F);
  model.initializers["w4"] = random_tensor({512, 10}, 4, 0.05F);
  model.initializers["b"] = random_tensor({8}, 5, 0.1F);
  model.initializers["b4"] = random_tensor({10}, 6, 0.1F);
  using V = std::vector<int64_t>;
  const graph::Attribute pads{"pads", V{1, 1, 1, 1}};
  const auto add = [&](std::string name, std::string type, std::vector<std::string> inputs, std::string output,
                       std::vector<graph::Attribute> attributes = {}) {
    model.nodes.push_back({.name = std::move(name),
                           .op_type = std::move(type),
                           .domain = "",
                           .inputs = std::move(inputs),
                           .outputs = {std::move(output)},
                           .attributes = std::move(attributes)});
  };
  add("conv", "Conv", {"x", "w1", "b"}, "c1", {pads});
  add("relu", "Relu", {"c1"}, "r1");
  add("depthwise", "Conv", {"r1", "w2", "b"}, "c2", {pads, {"group", int64_t{8}}});
  add("add", "Add", {"c2", "r1"}, "a");
  add("pointwise", "Conv", {"a", "w3", "b"}, "c3");
  add("again", "Conv", {"c3", "w3"}, "c4");
  add("flatten", "Flatten", {"c4"}, "f");
  add("gemm", "Gemm", {"f", "w4", "b4"}, "y");
  return model;
}

// Smooth images: inputs of neighbouring pixels are correlated.
struct Samples final : GeneratedSamples {
  Samples()
      : GeneratedSamples(24, [](size_t index) {
          Rng rng(100 + index);
          const double a = rng.normal(), b = rng.normal(), c = rng.normal();
          std::vector<float> values;
          for (int i = 0; i < 192; i++)
            values.push_back(static_cast<float>(a * std::sin(i * 0.3 + b) + c * (i % 8) / 8.0 + 0.1 * rng.normal() + 1));
          return data::Sample{Tensor::of(Shape{1, 3, 8, 8}, values)};
        }) {}
};

inline quant::Plan plan_for(const graph::Model& model, const data::Dataset& samples, const std::string& method, Json params) {
  const quant::Config config =
      quant::parse_config({{"activation_params", {{"symmetric", false}, {"calibration_method", "MinMax"}}},
                           {"algorithms", method},
                           {method + "_params", std::move(params)}});
  const auto seen = stats::collect(model, samples, quant::observed_values(model), quant::needs_of(config)).at(samples.size());
  return quant::resolve(model, seen, config, *quant::targets::table().make("ort_cpu"));
}

// Mean squared error of the model's output over the samples.
inline double output_error(const graph::Model& model, const quant::Plan& plan, const data::Dataset& samples) {
  const runtime::Session reference(model), quantized(quant::apply(model, plan));
  double sum = 0;
  for (size_t i = 0; i < samples.size(); i++) {
    const Tensor a = reference.run(samples.at(i)).front(), b = quantized.run(samples.at(i)).front();
    for (size_t k = 0; k < a.count(); k++) sum += std::pow(double(a.as<float>()[k]) - double(b.as<float>()[k]), 2);
  }
  return sum / double(samples.size());
}

}  // namespace quasar::tune
