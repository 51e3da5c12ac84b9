#include "quasar/quant/write/every_axis.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "executed.hpp"
#include "made_up_statistics.hpp"
#include "no_overflow.hpp"
#include "quasar/runtime/session.hpp"
#include "sample_models.hpp"

namespace quasar::quant {
namespace {

// Conv, an operator of opset 18, Conv. `batch`: negative where it is open.
graph::Model between(const graph::Node& node, Builder b, int64_t batch = 1) {
  const auto first = b.conv(b.input("x", {batch, 3, 6, 7}), 3, 4, 3);
  std::vector<std::string> inputs = node.inputs;
  inputs.front() = first;
  graph::Model model = b.finish({b.conv(b.node(node.op_type, inputs, node.attributes), 4, 5, 1)});
  model.opsets[""] = 18;
  return without_overflow(model);
}

graph::Attribute axes(std::vector<int64_t> values) {
  return {"axes", std::move(values)};
}

std::string whole(Builder& b, std::vector<int64_t> values) {
  return b.constant(Tensor::of<int64_t>({static_cast<int64_t>(values.size())}, values));
}

graph::Node node_of(const std::string& type, std::vector<std::string> inputs, std::vector<graph::Attribute> attributes = {}) {
  graph::Node node{.name = "", .op_type = type, .domain = "", .inputs = std::move(inputs), .outputs = {}};
  node.attributes = std::move(attributes);
  return node;
}

std::vector<std::pair<std::string, graph::Model>> models() {
  std::vector<std::pair<std::string, graph::Model>> out;
  const graph::Attribute nearest{"mode", std::string("nearest")}, linear{"mode", std::string("linear")};
  for (const int64_t batch : {1, -1}) {
    const std::string open = batch < 0 ? ", open batch" : "";
    const auto add = [&](const std::string& what, const graph::Node& node, const Builder& b) {
      out.emplace_back(what + open, between(node, b, batch));
    };
    {
      Builder b;
      const auto pads = whole(b, {1, 0, 2, 1});
      add("Pad", node_of("Pad", {"", pads, "", whole(b, {-1, 2})}), b);
      add("Pad with zero", node_of("Pad", {"", pads, b.constant(Tensor::scalar(0.0F)), whole(b, {3, 2})}), b);
      add("Pad, reflected", node_of("Pad", {"", pads, "", whole(b, {2, -1})}, {{"mode", std::string("reflect")}}), b);
    }
    for (const auto& mode : {nearest, linear}) {
      Builder b;
      add("scales", node_of("Resize", {"", "", b.constant(Tensor::of<float>({2}, {2, 1.5F}))}, {axes({-2, 3}), mode}), b);
      add("sizes", node_of("Resize", {"", "", "", whole(b, {9, 5})}, {axes({3, 2}), mode}), b);
      const graph::Attribute least{"keep_aspect_ratio_policy", std::string("not_larger")};
      const graph::Attribute most{"keep_aspect_ratio_policy", std::string("not_smaller")};
      add("not larger", node_of("Resize", {"", "", "", whole(b, {12, 21})}, {axes({2, 3}), mode, least}), b);
      add("not smaller", node_of("Resize", {"", "", "", whole(b, {12, 21})}, {axes({2, 3}), mode, most}), b);
      add("no scales", node_of("Resize", {"", "", "", whole(b, {10, 21})}, {axes({2, 3}), mode, least}), b);
    }
  }
  return out;
}

const runtime::SessionOptions unchanged{.optimization = runtime::Optimization::none};  // its fusions round in other places

bool names_axes(const graph::Model& model) {
  return std::ranges::any_of(model.nodes, [](const graph::Node& node) {
    return (node.is("Pad") && node.inputs.size() > 3) || (node.is("Resize") && node.find("axes") != nullptr);
  });
}

TEST(EveryAxis, GivesTheSameResults) {
  for (const auto& [what, model] : models()) {
    graph::Model written = model;
    write_every_axis(written, model);
    EXPECT_EQ(names_axes(written), what.starts_with("no scales")) << what;
    EXPECT_NO_THROW(graph::verify(written, "the test")) << what;
    const runtime::Session before(model, unchanged), after(written, unchanged);
    for (const auto& sample : random_samples(model, 2)) EXPECT_EQ(before.run(sample)[0], after.run(sample)[0]) << what;
  }
}

TEST(EveryAxis, QuantizedModelsRun) {
  for (const auto& [what, model] : models()) {
    const Samples samples = random_samples(model, 2);
    for (const char* target : {"ort_cpu", "generic"}) {
      for (const auto format : {Format::qdq, Format::qoperator}) {
        Config config = config_of(DataType::uint8, false);
        config.format = format;
        const Plan plan = resolve(model, observe(model, samples), config, *targets::table().make(target));
        const graph::Model quantized = written(model, plan);
        const runtime::Session fast(quantized),
            plain(quantized, {.optimization = runtime::Optimization::none, .integer_kernels = false});
        const float step = plan.values.at(model.outputs[0].name).scales[0];
        for (const auto& sample : samples) {
          const auto a = fast.run(sample), b = plain.run(sample);
          ASSERT_EQ(a[0].shape(), b[0].shape()) << what;
          for (size_t i = 0; i < a[0].count(); i++)
            ASSERT_LT(std::abs(a[0].as<float>()[i] - b[0].as<float>()[i]), 2.01F * step) << what << " " << target;
        }
      }
    }
  }
}

TEST(EveryAxis, ModelsForProcessorsThatShiftRunToo) {
  for (const auto& [what, model] : models()) {
    if (what.starts_with("no scales")) continue;
    const Samples samples = random_samples(model, 2);
    const Config config = parse_config({{"scheme", "XINT8"}});
    const Plan plan = resolve(model, observe(model, samples), config, *targets::table().make("xint8"));
    EXPECT_NO_THROW(runtime::Session(apply(model, plan)).run(samples[0])) << what;
  }
}

// Values that are known at run time only.
TEST(EveryAxis, ComputedPadsAndSizes) {
  for (const bool pad : {false, true}) {
    Builder b;
    const auto x = b.input("x", {-1, 3, 6, 7});
    const auto first = b.conv(x, 3, 4, 3);
    const auto shape = b.node("Shape", {x}, {{"start", int64_t{2}}});
    const auto changed =
        pad ? b.node("Pad", {first, b.node("Concat", {shape, shape}, {{"axis", int64_t{0}}}), "", whole(b, {2, 3})})
            : b.node("Resize", {first, "", "", b.node("Add", {shape, shape})}, {axes({2, 3})});
    graph::Model model = b.finish({b.conv(changed, 4, 5, 1)});
    model.opsets[""] = 18;
    graph::Model written = model;
    write_every_axis(written, model);
    EXPECT_FALSE(names_axes(written));
    const runtime::Session before(model, unchanged), after(written, unchanged);
    for (const auto& sample : random_samples(model, 2)) EXPECT_EQ(before.run(sample)[0], after.run(sample)[0]);
  }
}

TEST(EveryAxis, CastsAndOtherModelsStayAsTheyAre) {
  Builder b;
  const auto node = node_of("Pad", {"", whole(b, {1, 0, 2, 1}), "", whole(b, {-1, 2})});
  const graph::Model model = between(node, b);
  EXPECT_TRUE(
      names_axes(apply(model, plan_of(model, config_of(DataType::bfloat16, true, Granularity::tensor, DataType::bfloat16)))));
  graph::Model other = separable();
  const size_t nodes = other.nodes.size(), constants = other.initializers.size();
  write_every_axis(other, separable());
  EXPECT_EQ(other.nodes.size(), nodes);
  EXPECT_EQ(other.initializers.size(), constants);
}

}  // namespace
}  // namespace quasar::quant
