// What a target makes keeps the rules of its own checker.
#include <gtest/gtest.h>

#include "quant_target_models.hpp"
#include "quasar/ops/constants.hpp"
#include "quasar/quant/npu/npu.hpp"
#include "quasar/quant/pairs.hpp"
#include "quasar/quant/target.hpp"
#include "unit/error_of.hpp"

namespace quasar::quant {
namespace {

using test_models::broken;
using test_models::quantized;

bool can_check(const Target& target) {
  return target.checks_pairs() || target.is_told_by_onnxruntime();
}

Config scheme_of(const Target& target) {
  return parse_config(words_of_scheme(target.usual_scheme()));
}

// The nodes that a user may leave in float where others stand around them.
std::vector<std::string> excludable(const graph::Model& model) {
  std::vector<std::string> out;
  for (const auto& node : model.nodes) {
    if (node.is("Conv") || node.is("Add") || node.is("Mul") || node.is("Concat") || node.is("Gemm")) out.push_back(node.name);
  }
  return out;
}

// What it neither refuses nor remarks on runs there as it is meant: its own checker finds nothing.
TEST(QuantTargetRulesContract, WhatItTakesBreaksNoneOfItsRules) {
  const auto models = test_models::all();
  for (const auto& [name, entry] : targets::table().items()) {
    const auto target = entry.make({});
    if (!can_check(*target)) continue;
    size_t checked = 0;
    for (const auto& scheme : schemes::table().names()) {
      const Config config = parse_config(words_of_scheme(scheme));
      if (test::error_of([&] { check_taken(*target, config); }) != "no error" || !target->remark(config).empty()) continue;
      ++checked;
      for (const auto& [which, model] : models) {
        for (const auto& fault : broken(quantized(model, config, *target), *target))
          ADD_FAILURE() << name << " " << scheme << " " << which << ": " << fault;
      }
    }
    EXPECT_GE(checked, 1U) << name;
  }
}

// One operator in float leaves the others as they are meant.
TEST(QuantTargetRulesContract, NeitherDoesAModelWithOneOperatorInFloat) {
  const auto models = test_models::all();
  for (const auto& [name, entry] : targets::table().items()) {
    const auto target = entry.make({});
    if (!can_check(*target)) continue;
    for (const auto& [which, model] : models) {
      for (const auto& node : excludable(model)) {
        Config config = scheme_of(*target);
        config.exclude = {node};
        for (const auto& fault : broken(quantized(model, config, *target), *target, node))
          ADD_FAILURE() << name << " " << which << " without " << node << ": " << fault;
      }
    }
  }
}

TEST(QuantTargetRulesContract, TheRulesOfProcessorsThatShiftAreKept) {
  for (const auto& [name, entry] : targets::table().items()) {
    const auto target = entry.make({});
    if (!target->shifts()) continue;
    for (const auto& [which, model] : test_models::all()) {
      for (const auto& fault : violations(quantized(model, scheme_of(*target), *target)))
        ADD_FAILURE() << name << " " << which << ": " << fault.node << " " << fault.rule << ": " << fault.what;
    }
  }
}

bool has_scale_per_channel(const graph::Node& pair, const graph::Model& model) {
  const Tensor* const scale = ops::constant_input(pair, 1, model);
  return scale != nullptr && scale->count() > 1;
}

// Nothing that only ONNX Runtime's optimizer needs: values with a scale per channel, copies (Sum of one input), doubled inputs.
TEST(QuantTargetRulesContract, OtherRuntimesFilesHaveNothingForOnnxRuntime) {
  for (const auto& [name, entry] : targets::table().items()) {
    const auto target = entry.make({});
    if (target->float_guard() == FloatGuard::for_cpu || target->shifts()) continue;
    for (const auto& [which, model] : test_models::all()) {
      for (const auto& left : excludable(model)) {
        Config config = scheme_of(*target);
        config.exclude = {left};
        const graph::Model made = quantized(model, config, *target);
        const graph::Index index(made);
        for (const auto& node : made.nodes) {
          const bool on_values = dequantizes(&node) && quantizes(index.producer(node.inputs[0]));
          EXPECT_FALSE(on_values && has_scale_per_channel(node, made)) << name << " " << which << ": " << node.name;
          EXPECT_FALSE(node.is("Sum") && node.inputs.size() == 1) << name << " " << which << ": " << node.name;
        }
      }
    }
  }
}

// An error that names it, or a model that breaks no rule.
TEST(QuantTargetRulesContract, AnOverrideOfATensorIsRefusedOrBreaksNoRule) {
  const std::vector<Json> overrides{Json{{"quant_type", "QUInt8"}},  Json{{"quant_type", "QInt8"}},
                                    Json{{"quant_type", "QUInt16"}}, Json{{"quant_type", "QInt16"}},
                                    Json{{"quant_type", "QUInt4"}},  Json{{"symmetric", false}},
                                    Json{{"symmetric", true}},       Json{{"scale", 0.1}, {"zero_point", 3}}};
  const auto model = test_models::joined_branches();
  const std::string weights = model.nodes.front().inputs.at(1);
  for (const auto& [name, entry] : targets::table().items()) {
    const auto target = entry.make({});
    if (!can_check(*target)) continue;
    for (const auto& tensor : {std::string("x"), std::string("Conv_0_out"), std::string("Relu_0_out"), weights}) {
      for (const auto& words : overrides) {
        Config config = scheme_of(*target);
        config.tensors = parse_tensor_overrides({{tensor, words}});
        const std::string told = "TensorQuantOverrides." + tensor;
        std::vector<std::string> faults;
        bool remarked = false;
        const std::string error = test::error_of([&] {
          const stats::Statistics seen = made_up_statistics(model);
          const Plan plan = resolve(model, seen, config, *target);
          remarked = std::ranges::any_of(plan.notes, [&](const auto& note) { return note.find(told) != std::string::npos; });
          faults = broken(written(model, plan), *target);
        });
        if (error != "no error") {
          EXPECT_NE(error.find(told), std::string::npos) << name << " " << words << ": " << error;
        } else if (!remarked && !faults.empty()) {
          ADD_FAILURE() << name << " " << tensor << " " << words << ": " << faults.front();
        }
      }
    }
  }
}

TEST(QuantTargetRulesContract, AlignConcatIsRefusedOrBreaksNoRule) {
  Builder b;
  const auto stem = b.conv(b.input("x", {1, 16, 8, 8}), 16, 16, 3);
  const auto both = b.node("Concat", {b.node("Sigmoid", {stem}), b.clip(b.conv(stem, 16, 16, 3), 0, 6)}, {{"axis", int64_t{1}}});
  const auto models = std::map<std::string, graph::Model>{{"Sigmoid and Clip", b.finish({b.conv(both, 32, 16, 3)})},
                                                          {"branches", branches()},
                                                          {"joined branches", test_models::joined_branches()}};
  for (const auto& [name, entry] : targets::table().items()) {
    const auto target = entry.make({});
    if (!can_check(*target)) continue;
    for (const auto& [which, model] : models) {
      Config config = scheme_of(*target);
      config.switches["AlignConcat"] = true;
      std::vector<std::string> faults;
      const std::string error = test::error_of([&] { faults = broken(quantized(model, config, *target), *target); });
      if (error != "no error") {
        EXPECT_NE(error.find("AlignConcat"), std::string::npos) << name << ": " << error;
      } else if (!faults.empty()) {
        ADD_FAILURE() << name << " " << which << ": " << faults.front();
      }
    }
  }
}

}  // namespace
}  // namespace quasar::quant
