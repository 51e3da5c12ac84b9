#include <unordered_set>

#include "quasar/base/error.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::graph {
namespace {

class Verifier {
 public:
  Verifier(const Model& model, std::string_view where) : model_(model), where_(where) {}

  void run() {
    for (const auto& input : model_.inputs) define(input.name, "graph input");
    for (const auto& [name, tensor] : model_.initializers) define(name, "initializer");
    for (const auto& node : model_.nodes) {
      for (const auto& output : node.outputs) produced_.insert(output);
    }
    for (const auto& node : model_.nodes) visit(node);
    std::unordered_set<std::string_view> outputs;
    for (const auto& output : model_.outputs) {
      if (!defined_.contains(output.name)) fail("graph output '" + output.name + "' is not produced by any node");
      if (!outputs.insert(output.name).second) fail("graph output '" + output.name + "' is listed twice");
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(std::string(where_) + ": " + what); }

  // ONNX Runtime takes names as C strings: two that differ behind such a byte would be one.
  void refuse_zero_byte(const std::string& name, const std::string& what) const {
    if (name.find('\0') != std::string::npos) fail(what + " '" + printable(name) + "' has a zero byte in its name");
  }

  void define(const std::string& value, const std::string& by) {
    if (value.empty()) fail(by + " without a name");
    refuse_zero_byte(value, "the value");
    if (!defined_.insert(value).second) fail("the value '" + value + "' is defined twice, the second time as " + by);
  }

  void visit(const Node& node) {
    const std::string label = "node '" + node.name + "' (" + node.op_type + ")";
    if (node.op_type.empty()) fail("node '" + node.name + "' has no operator");
    if (node.name.empty()) fail("a node of operator " + node.op_type + " has no name");
    refuse_zero_byte(node.name, "the node");
    if (!names_.insert(node.name).second) fail("two nodes have the name '" + node.name + "'");
    for (const auto* values : {&node.inputs, &node.captures}) {
      for (const auto& value : *values) {
        if (value.empty() || defined_.contains(value)) continue;
        if (produced_.contains(value)) fail(label + " reads '" + value + "', which is produced only after it");
        fail(label + " reads '" + value + "', which is neither an input, an initializer nor any node's output");
      }
    }
    for (const auto& output : node.outputs) {
      if (!output.empty()) define(output, "output of " + label);
    }
  }

  const Model& model_;
  std::string_view where_;
  std::unordered_set<std::string_view> defined_, produced_, names_;
};

}  // namespace

void verify(const Model& model, std::string_view where) {
  Verifier(model, where).run();
}

}  // namespace quasar::graph
