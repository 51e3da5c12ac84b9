#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>
#include <functional>

#include "quasar/graph/load.hpp"
#include "quasar/graph/lookup.hpp"
#include "quasar/graph/node_proto.hpp"
#include "quasar/graph/subgraph.hpp"

namespace quasar::graph {
namespace {

constexpr std::array<std::string_view, 3> known_domains{"", "ai.onnx.ml", "com.microsoft"};
constexpr std::array<std::string_view, 4> pair_types{"QuantizeLinear", "DequantizeLinear", "QuantizeBFP", "DequantizeBFP"};

bool is_quantized(const std::string& domain, const std::string& op) {
  if (domain != "" && domain != "com.microsoft") return false;
  return has_own_codes(op) || std::any_of(pair_types.begin(), pair_types.end(), [&](auto type) { return op.starts_with(type); });
}

// Whether the operator's weights, one of its inputs, are what quantization is about.
bool has_weights(std::string_view op) {
  constexpr std::array<std::string_view, 7> all{"Conv", "ConvTranspose", "MatMul", "Gemm", "LSTM", "GRU", "RNN"};
  return std::find(all.begin(), all.end(), op) != all.end();
}

bool is_float_matrix(const Tensor* tensor) {
  if (tensor == nullptr || tensor->shape().size() < 2) return false;
  return tensor->type() == DataType::float32 || tensor->type() == DataType::float16 || tensor->type() == DataType::bfloat16;
}

// Whether some operator, in the model's bodies too, still has weights in float.
bool has_float_weights(const Model& model) {
  const auto fed = [&](const auto& inputs) {
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const std::string& input) { return is_float_matrix(model.initializer(input)); });
  };
  bool found = false;
  for (const auto& node : model.nodes) {
    found = found || (node.domain.empty() && has_weights(node.op_type) && fed(node.inputs));
    visit_subgraphs(node, [&](const onnx::GraphProto& graph) {
      for (const auto& inner : graph.node()) {
        const auto is_own = [&](const onnx::TensorProto& own) {
          return own.dims_size() > 1 && own.data_type() == onnx::TensorProto::FLOAT &&
                 std::find(inner.input().begin(), inner.input().end(), own.name()) != inner.input().end();
        };
        const bool own = std::any_of(graph.initializer().begin(), graph.initializer().end(), is_own);
        found = found || (has_weights(inner.op_type()) && (own || fed(inner.input())));
      }
    });
  }
  return found;
}

bool is_only_for_codes(DataType type) {
  switch (type) {
    case DataType::float8e4m3fn:
    case DataType::float8e4m3fnuz:
    case DataType::float8e5m2:
    case DataType::float8e5m2fnuz:
    case DataType::float8e8m0:
    case DataType::float4e2m1:
    case DataType::uint4:
    case DataType::int4:
    case DataType::uint2:
    case DataType::int2:
      return true;
    default:
      return false;
  }
}

std::string quantized_already(const std::string& label) {
  return label + ", which shows that the model is already quantized, and no Conv, MatMul or Gemm has weights in float; Quasar " +
         "starts from the float model";
}

std::string obstacle_of(const std::string& label, const std::string& domain, const std::string& op) {
  if (domain == "com.microsoft.nchwc") {
    return label + " has the operator " + op + " of the domain '" + domain +
           "': ONNX Runtime saved this model with all its optimizations, which hold for this kind of " +
           "processor only; give the model from which it was made, or one saved with ORT_ENABLE_EXTENDED or less";
  }
  if (std::find(known_domains.begin(), known_domains.end(), domain) == known_domains.end()) {
    return label + " has the operator " + op + " of the domain '" + domain +
           "', which ONNX Runtime does not have; 'custom_op_library' (--custom-op-library) names the library that has it";
  }
  return "";
}

// The first node, or node of a body, of which `why` says something.
std::string first_in_nodes(
    const Model& model,
    const std::function<std::string(const std::string& label, const std::string& domain, const std::string& op)>& why) {
  std::string found;
  for (const auto& node : model.nodes) {
    if (found.empty()) found = why("node '" + node.name + "'", node.domain, node.op_type);
    visit_subgraphs(node, [&](const onnx::GraphProto& graph) {
      for (const auto& inner : graph.node()) {
        const std::string label = "node '" + inner.name() + "' in a subgraph of '" + node.name + "'";
        if (found.empty()) found = why(label, domain_of(inner.domain()), inner.op_type());
      }
    });
  }
  return found;
}

std::string first_quantized(const Model& model) {
  const std::string found = first_in_nodes(model, [](const std::string& label, const std::string& domain, const std::string& op) {
    return is_quantized(domain, op) ? label + " is " + op : "";
  });
  if (!found.empty()) return found;
  for (const auto& [name, tensor] : model.initializers) {
    if (is_only_for_codes(tensor.type())) return "the weight '" + name + "' is " + std::string(name_of(tensor.type()));
  }
  return "";
}

}  // namespace

// What is quantized in part keeps what it has, and the rest can be done.
std::string obstacle(const Model& model, bool custom_operators) {
  if (!custom_operators) {
    if (std::string found = first_in_nodes(model, obstacle_of); !found.empty()) return found;
  }
  const std::string quantized = first_quantized(model);
  return quantized.empty() || has_float_weights(model) ? "" : quantized_already(quantized);
}

}  // namespace quasar::graph
