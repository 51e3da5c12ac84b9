// The bytes as an .onnx file, with a file of weights beside it: what load() takes must survive being written and read again.
#include "fuzz/target.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/runtime/prepare.hpp"

namespace quasar::fuzz {
namespace {

void use(graph::Model model) {
  graph::obstacle(model);
  graph::remove_unused(model);
  graph::verify(model, "after remove_unused");
  graph::Names(model).fresh("conv");
  const graph::Index index(model);
  for (const auto& node : model.nodes) expect(index.node(node.name) == &node, "a node is found by its name");
  const std::string bytes = graph::to_bytes(model);
  const graph::Model back = graph::from_bytes(bytes, "what was written");
  expect(graph::to_bytes(back) == bytes, "a model that was written is read as it was");
}

}  // namespace
}  // namespace quasar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quasar;
  static const auto weights = fuzz::file("weights.bin", std::string(256, '\x3f'));
  const auto path = fuzz::file("model.onnx", fuzz::text_of(data, size));
  graph::Model model;
  if (!fuzz::refusal([&] { model = graph::load(path); }).empty()) return 0;
  fuzz::refusal([&] { runtime::unoptimized(model); });  // float16 to float32, older operator sets to newer ones
  const std::string after = fuzz::refusal([&] { fuzz::use(std::move(model)); });
  if (!after.empty()) std::fprintf(stderr, "%s\n", after.c_str());
  fuzz::expect(after.empty(), "what was loaded is not refused later");
  return 0;
}
