#include "quasar/runtime/oldest_release.hpp"

#include <gtest/gtest.h>

#include "models.hpp"

namespace quasar::runtime {
namespace {
using namespace quasar::test;

graph::Model of_opset(int64_t opset, int64_t ir = 7) {
  graph::Model model = relu_times_two();
  model.opsets[""] = opset;
  model.ir_version = ir;
  return model;
}

graph::Node own(const std::string& type, std::vector<std::string> inputs, std::vector<graph::Attribute> attributes = {}) {
  graph::Node out = node(type, type, std::move(inputs), {type + "_out"}, std::move(attributes));
  out.domain = "com.microsoft";
  return out;
}

std::string release_with(const graph::Node& added, int64_t ir = 7) {
  graph::Model model = of_opset(13, ir);
  model.initializers["wide"] = Tensor::scalar<uint16_t>(0);
  model.initializers["byte"] = Tensor::scalar<uint8_t>(0);
  model.nodes.push_back(added);
  return oldest_release(model).release;
}

TEST(OldestRelease, OperatorSetDecides) {
  EXPECT_EQ(oldest_release(of_opset(11)).release, "1.7");
  EXPECT_EQ(oldest_release(of_opset(17)).release, "1.12");
  EXPECT_EQ(oldest_release(of_opset(20)).release, "1.17");
  EXPECT_EQ(oldest_release(of_opset(24)).release, "1.24");
  EXPECT_EQ(oldest_release(of_opset(17)).because, "opset 17");
}

TEST(OldestRelease, IrVersionDecides) {
  const OldestRelease found = oldest_release(of_opset(17, 10));
  EXPECT_EQ(found.release, "1.18");
  EXPECT_EQ(found.because, "IR version 10");
}

TEST(OldestRelease, OwnOperatorsDecide) {
  EXPECT_EQ(release_with(own("QLinearSoftmax", {"x"})), "1.13");
  EXPECT_EQ(release_with(own("QuantizeLinear", {"x", "two", "byte"})), "1.7");
  EXPECT_EQ(release_with(own("QuantizeLinear", {"x", "two", "wide"})), "1.17");
  EXPECT_EQ(release_with(own("MatMulNBits", {"x", "b", "s"})), "1.16");
  EXPECT_EQ(release_with(own("MatMulNBits", {"x", "b", "s", "", "", "bias"})), "1.19");
  EXPECT_EQ(release_with(own("MatMulNBits", {"x", "b", "s"}, {{"bits", int64_t{8}}})), "1.22");
  EXPECT_EQ(release_with(own("MatMulNBits", {"x", "b", "s"}, {{"bits", int64_t{2}}})), "1.24");
  EXPECT_EQ(release_with(own("GatherBlockQuantized", {"t", "x", "s"})), "1.20");
  EXPECT_EQ(release_with(own("GatherBlockQuantized", {"t", "x", "s"}, {{"bits", int64_t{8}}})), "1.23");
  EXPECT_EQ(release_with(own("GatherBlockQuantized", {"t", "x", "s"}, {{"bits", int64_t{2}}})), "1.27");
}

TEST(OldestRelease, HalfScalesDecide) {
  graph::Model model = of_opset(19, 9);
  model.initializers["half"] = Tensor::copy(DataType::float16, {}, "\0", 2);
  model.nodes.push_back(node("QuantizeLinear", "q", {"x", "half"}, {"codes"}));
  EXPECT_EQ(oldest_release(model).release, "1.16");
  EXPECT_EQ(needs_json(model)["session_options"], (Json{{"session.disable_quant_qdq", "1"}}));
  EXPECT_EQ(
      needs_in_words(needs_json(model)),
      "ONNX Runtime 1.16 or newer (opset 19; QuantizeLinear with scales of float16), opened with session.disable_quant_qdq = 1");
}

TEST(OldestRelease, WhatIsUnknownIsSaid) {
  graph::Model model = of_opset(40);
  model.nodes.push_back(own("Invented", {"x"}));
  const OldestRelease found = oldest_release(model);
  EXPECT_EQ(found.release, "1.32");
  EXPECT_EQ(found.unknown, (std::vector<std::string>{"com.microsoft Invented", "opset 40"}));
  EXPECT_EQ(needs_in_words(needs_json(model)),
            "ONNX Runtime 1.32 or newer (opset 40), or a newer one for com.microsoft Invented, opset 40");
}

TEST(OldestRelease, InWords) {
  graph::Model model = of_opset(17, 8);
  EXPECT_EQ(needs_in_words(needs_json(model)), "ONNX Runtime 1.12 or newer (opset 17)");
  model.initializers["wide"] = Tensor::scalar<uint16_t>(0);
  model.nodes.push_back(own("QuantizeLinear", {"x", "two", "wide"}));
  EXPECT_EQ(needs_in_words(needs_json(model)), "ONNX Runtime 1.17 or newer (opset 17; com.microsoft QuantizeLinear of 16 bits)");
}

}  // namespace
}  // namespace quasar::runtime
