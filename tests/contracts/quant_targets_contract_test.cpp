// What every target must keep.
#include <gtest/gtest.h>

#include "quasar/job/preset.hpp"
#include "quasar/quant/target.hpp"
#include "unit/error_of.hpp"

namespace quasar::quant {
namespace {

TEST(QuantTargetsContract, TypesKeepTheirWidth) {
  for (const auto& [name, entry] : targets::table().items()) {
    const auto target = entry.make({});
    EXPECT_FALSE(entry.help.empty()) << name;
    for (const DataType type : {DataType::int8, DataType::uint8, DataType::int16, DataType::uint16}) {
      EXPECT_EQ(bits_of(target->constant_type(type)), bits_of(type)) << name;
      for (const size_t readers : {1, 2, 3})
        for (const int64_t opset : {13, 21}) {
          EXPECT_EQ(bits_of(target->activation_type(type, readers, opset)), bits_of(type)) << name;
        }
    }
  }
}

TEST(QuantTargetsContract, ReasonsAreGiven) {
  for (const auto& [name, entry] : targets::table().items()) {
    const auto target = entry.make({});
    for (const char* type : {"Conv", "ConvTranspose", "Tanh", "Reshape"}) {
      const graph::Node node{.name = "node", .op_type = type, .domain = "", .inputs = {"x"}, .outputs = {"y"}};
      std::string why;
      EXPECT_TRUE(target->runs(node, {.activations = {0}}, {}, why) || !why.empty()) << name << " " << type;
    }
  }
}

// One text may take the reasons of node after node.
TEST(QuantTargetsContract, AReasonOfAnotherNodeChangesNothing) {
  for (const auto& [name, entry] : targets::table().items()) {
    const auto target = entry.make({});
    for (const char* type : {"Conv", "Gemm", "Add", "Tanh", "Reshape"}) {
      const graph::Node node{.name = "node", .op_type = type, .domain = "", .inputs = {"x"}, .outputs = {"y"}};
      std::string none, other = "another node's";
      EXPECT_EQ(target->runs(node, {.activations = {0}}, {}, none), target->runs(node, {.activations = {0}}, {}, other))
          << name << " " << type;
    }
  }
}

// What was asked for in 8 bits is nothing to remark on; whatever a target does with 16 bits, it says when it only simulates.
TEST(QuantTargetsContract, RemarksAreSentences) {
  for (const auto& [name, entry] : targets::table().items()) {
    const auto target = entry.make({});
    EXPECT_EQ(target->remark({}), "") << name;
    Config wide;
    wide.activation.type = DataType::int16;
    const std::string remark = target->remark(wide);
    EXPECT_TRUE(remark.empty() || remark.size() > 20) << name;
  }
}

// Whatever the target, a grid that holds nothing beyond the bounds can be absorbed.
TEST(QuantTargetsContract, AGridWithinTheBoundsIsAbsorbed) {
  for (const auto& [name, entry] : targets::table().items()) {
    const QuantParams params{.type = DataType::uint8, .scales = {0.01F}, .zero_points = {0}};
    EXPECT_TRUE(entry.make({})->absorbs({.low = 0, .high = 6}, params)) << name;
  }
}

TEST(QuantTargetsContract, ItsSchemeAndItsPresetAreThereAndAreForIt) {
  for (const auto& [name, entry] : targets::table().items()) {
    const auto target = entry.make({});
    check_taken(*target, parse_config(words_of_scheme(target->usual_scheme())));
    const Json words = tune::presets::table().make(target->usual_preset())->words();
    EXPECT_TRUE(words.contains("search_space")) << name;
    const std::string own = words.value("target", std::string(target->shifts() ? name : "ort_cpu"));
    EXPECT_TRUE(own == name || (name == "generic" && own == "ort_cpu")) << name << " " << own;
  }
}

// Who is told before calibration that a scheme does not run there is told of one that does.
TEST(QuantTargetsContract, ARefusalNamesASchemeThatIsTaken) {
  for (const auto& [name, entry] : targets::table().items()) {
    const auto target = entry.make({});
    const auto refusal = [&](const std::string& scheme) {
      return test::error_of([&] { check_taken(*target, parse_config(words_of_scheme(scheme))); });
    };
    for (const auto& scheme : schemes::table().names()) {
      const std::string said = refusal(scheme);
      if (said == "no error") continue;
      const auto is_nearest = [&](const std::string& other) {
        return normalized(said).find(normalized(other)) != std::string::npos && refusal(other) == "no error";
      };
      EXPECT_TRUE(std::ranges::any_of(schemes::table().spellings(), is_nearest)) << name << " " << scheme << ": " << said;
    }
  }
}

}  // namespace
}  // namespace quasar::quant
