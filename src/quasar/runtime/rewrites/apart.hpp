// What a fused operator's nodes are written with.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quasar/graph/model.hpp"
#include "quasar/runtime/rewrites/idle_moves.hpp"

namespace quasar::runtime {

constexpr const char* contributed = "com.microsoft";  // the domain of ONNX Runtime's own operators

struct Apart {
  // `model`: new constants go into it. `types_of`: asked once, if at all, of the model as it came. Both outlive this.
  Apart(graph::Model& model, const TypesOf& types_of);

  size_t rank_of(const std::string& value);  // 0: nobody knows
  graph::Value type_of(const std::string& value);

  // A node behind `behind` that chain() puts into its place; `more`: its inputs from the second on.
  graph::Node step(const graph::Node& behind, const std::string& type, std::vector<std::string> more);
  // A node before `node`. -> what it gives
  std::string add(const graph::Node& node, const std::string& type, std::vector<std::string> inputs);
  std::string integers(const graph::Node& node, const std::vector<int64_t>& values);
  std::string constant(const graph::Node& node, float value);
  // The last one gives what the fused node gave.
  void chain(graph::Node first, std::vector<graph::Node> steps);

  graph::Model& model;
  const graph::Model before;
  graph::Names names;
  const TypesOf& types_of;
  std::optional<std::map<std::string, graph::Value>> types = {};
  std::vector<graph::Node> out = {};  // the model's nodes, as far as they are written
};

// Each of these writes one fused operator. -> whether it was written; otherwise nothing has changed.
bool write_fused_sum(Apart& to, const graph::Node& node);      // FusedConv, FusedGemm
bool write_fused_product(Apart& to, const graph::Node& node);  // FusedMatMul
bool write_attention(Apart& to, const graph::Node& node);
bool write_embedding(Apart& to, const graph::Node& node);  // EmbedLayerNormalization

}  // namespace quasar::runtime
