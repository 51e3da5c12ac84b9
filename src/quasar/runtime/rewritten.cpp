#include "quasar/runtime/rewritten.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/temporary_space.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/graph/page_out.hpp"
#include "quasar/graph/repeated_initializers.hpp"
#include "quasar/graph/share_equal.hpp"

namespace quasar::runtime {
namespace {

namespace fs = std::filesystem;

// Whether these are the model's nodes and weights, in whatever order, with or without attributes that say what holds anyway.
bool has_same_graph(const graph::Model& written, const graph::Model& model) {
  const auto has_same_weights = std::ranges::equal(written.initializers, model.initializers,
                                                   [](const auto& one, const auto& other) { return one.first == other.first; });
  const graph::Index index(model);
  return has_same_weights && written.nodes.size() == model.nodes.size() &&
         std::ranges::all_of(written.nodes, [&](const graph::Node& node) {
           const graph::Node* known = index.node(node.name);
           return known != nullptr && known->op_type == node.op_type && known->domain == node.domain &&
                  known->inputs == node.inputs && known->outputs == node.outputs;
         });
}

graph::Model read_back(const fs::path& file, const graph::Model& model) {
  graph::Model out = graph::load(file);
  graph::drop_repeated_initializers(out);
  const fs::path data = file.string() + ".data";
  const bool beside = fs::exists(data);
  // Large models are mapped from files before and after: in memory they would meet only to be compared.
  if (beside && fs::file_size(data) > graph::large_weights) return out;
  graph::share_equal(out, model, beside);
  // With the weights in a file beside it, ONNX Runtime writes a graph in an order of its own even where it changed nothing.
  if (beside && has_same_graph(out, model)) out.nodes = model.nodes;
  return out;
}

}  // namespace

graph::Model rewritten(const graph::Model& model, SessionOptions options) try {
  const TemporaryFolder folder;
  options.save_optimized = folder.path() / "rewritten.onnx";
  options.runs = false;
  try {
    const Session session(model, options);
  } catch (const Error&) {
    require_temporary_space();  // while what was begun still takes its room: ONNX Runtime does not say that there is none
    throw;
  }
  return read_back(options.save_optimized, model);
} catch (const fs::filesystem_error&) {
  require_temporary_space();
  throw;
}

}  // namespace quasar::runtime
