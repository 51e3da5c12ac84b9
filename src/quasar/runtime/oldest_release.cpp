// Found with the last patch of each release, x86-64 Linux, CPU provider (bench/oldest_runtime.py): the first that opened a
// session. An operator set of ONNX may hold single operators without a kernel in the first release that takes it; of these only
// what Quasar writes was tried.
#include "quasar/runtime/oldest_release.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

namespace quasar::runtime {
namespace {

// All releases are 1.x; models were tried in 1.7 and newer.
constexpr int oldest_tried = 7;

struct Row {
  int64_t version;
  int release;
};

constexpr std::array<Row, 14> onnx_sets{{{13, 7},
                                         {14, 8},
                                         {15, 9},
                                         {16, 11},
                                         {17, 12},
                                         {18, 14},
                                         {19, 15},
                                         {20, 17},
                                         {21, 18},
                                         {22, 21},
                                         {23, 23},
                                         {25, 24},
                                         {26, 25},
                                         {27, 32}}};
constexpr std::array<Row, 7> ir_versions{{{7, 7}, {8, 9}, {9, 15}, {10, 18}, {11, 23}, {13, 24}, {14, 32}}};
constexpr std::array<Row, 4> ml_sets{{{2, 7}, {3, 11}, {4, 17}, {5, 18}}};

struct Operator {
  std::string_view type;
  int release;
};

// Of com.microsoft. Those of release 7 may be older.
constexpr std::array<Operator, 22> own_operators{{{"QuantizeLinear", 7},
                                                  {"DequantizeLinear", 7},
                                                  {"QLinearAdd", 7},
                                                  {"QLinearMul", 7},
                                                  {"QLinearSigmoid", 7},
                                                  {"QLinearLeakyRelu", 7},
                                                  {"QLinearAveragePool", 8},
                                                  {"QLinearGlobalAveragePool", 7},
                                                  {"QLinearConcat", 8},
                                                  {"QLinearSoftmax", 13},
                                                  {"QLinearWhere", 14},
                                                  {"QGemm", 9},
                                                  {"MatMulIntegerToFloat", 7},
                                                  {"DynamicQuantizeMatMul", 7},
                                                  {"DynamicQuantizeLSTM", 7},
                                                  {"MatMulNBits", 16},
                                                  {"GatherBlockQuantized", 20},
                                                  {"Gelu", 7},
                                                  {"FastGelu", 7},
                                                  {"BiasGelu", 7},
                                                  {"QuickGelu", 14},
                                                  {"FusedMatMul", 7}}};

// What was asked for so far; the first of several with the same release is told.
class Needs {
 public:
  void add(int release, const std::string& why) {
    if (release <= release_ && !because_.empty()) return;
    release_ = std::max(release, oldest_tried);
    because_ = why;
  }

  void add_unknown(const std::string& what) { unknown_.insert(what); }

  template <size_t n>
  void add_version(const std::array<Row, n>& rows, int64_t version, const std::string& name) {
    const auto row = std::ranges::find_if(rows, [&](const Row& one) { return version <= one.version; });
    const std::string what = name + " " + std::to_string(version);
    if (row != rows.end()) return add(row->release, what);
    add(rows.back().release, what);
    add_unknown(what);
  }

  OldestRelease told() const { return {"1." + std::to_string(release_), because_, {unknown_.begin(), unknown_.end()}}; }

 private:
  int release_ = 0;
  std::string because_;
  std::set<std::string> unknown_;
};

bool reads(const graph::Model& model, const graph::Node& node, int bits) {
  return std::ranges::any_of(node.inputs, [&](const auto& input) {
    const Tensor* const constant = model.initializer(input);
    if (constant == nullptr) return false;
    const DataType type = constant->type();
    return bits == 4 ? type == DataType::int4 || type == DataType::uint4 : type == DataType::int16 || type == DataType::uint16;
  });
}

bool has_half_scale(const graph::Model& model, const graph::Node& node) {
  const Tensor* const scale = node.inputs.size() < 2 ? nullptr : model.initializer(node.inputs[1]);
  return scale != nullptr && scale->type() == DataType::float16;
}

void add_block_product(const graph::Node& node, Needs& needs) {
  const int64_t bits = node.integer("bits", 4);
  if (bits == 8) needs.add(22, "com.microsoft MatMulNBits of 8 bits");
  if (bits == 2) needs.add(24, "com.microsoft MatMulNBits of 2 bits");
  if (bits != 2 && bits != 4 && bits != 8) needs.add_unknown("com.microsoft MatMulNBits of " + std::to_string(bits) + " bits");
  if (node.inputs.size() > 5) needs.add(19, "com.microsoft MatMulNBits with a bias");
  if (node.find("accuracy_level") != nullptr) needs.add(17, "com.microsoft MatMulNBits with accuracy_level");
}

// With `bits` codes are packed into bytes; without, their type has 4 bits.
void add_block_table(const graph::Node& node, Needs& needs) {
  if (node.find("bits") == nullptr) return;
  const int64_t bits = node.integer("bits", 4);
  if (bits == 4 || bits == 8) needs.add(23, "com.microsoft GatherBlockQuantized of bytes");
  if (bits == 2) needs.add(27, "com.microsoft GatherBlockQuantized of 2 bits");
  if (bits != 2 && bits != 4 && bits != 8)
    needs.add_unknown("com.microsoft GatherBlockQuantized of " + std::to_string(bits) + " bits");
}

void add_node(const graph::Model& model, const graph::Node& node, Needs& needs) {
  const bool pairs = node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear";
  if (pairs && reads(model, node, 4)) needs.add(19, node.op_type + " of 4 bits");
  if (node.domain.empty() || node.domain == "ai.onnx.ml") {
    if (pairs && has_half_scale(model, node)) needs.add(16, node.op_type + " with scales of float16");
    return;
  }
  const std::string name = node.domain + " " + node.op_type;
  const auto known = std::ranges::find(own_operators, node.op_type, &Operator::type);
  if (node.domain != "com.microsoft" || known == own_operators.end()) return needs.add_unknown(name);
  if (node.op_type == "MatMulNBits") add_block_product(node, needs);
  if (node.op_type == "GatherBlockQuantized") add_block_table(node, needs);
  if (pairs && reads(model, node, 16)) needs.add(17, name + " of 16 bits");
  needs.add(known->release, name);
}

}  // namespace

OldestRelease oldest_release(const graph::Model& model) {
  Needs needs;
  needs.add_version(onnx_sets, model.opset(), "opset");
  needs.add_version(ir_versions, model.ir_version, "IR version");
  if (const auto ml = model.opsets.find("ai.onnx.ml"); ml != model.opsets.end())
    needs.add_version(ml_sets, ml->second, "ai.onnx.ml opset");
  for (const auto& node : model.nodes) add_node(model, node, needs);
  return needs.told();
}

Json needs_json(const graph::Model& model) {
  const OldestRelease oldest = oldest_release(model);
  Json out{
      {"onnxruntime", oldest.release}, {"because", oldest.because}, {"opset", model.opset()}, {"ir_version", model.ir_version}};
  if (!oldest.unknown.empty()) out["unknown"] = oldest.unknown;
  // ONNX Runtime's rewriting of pairs knows no float16 (1.32): it refuses the model, or gives wrong answers.
  const auto has_half = [&](const graph::Node& node) {
    return (node.is("QuantizeLinear") || node.is("DequantizeLinear")) && has_half_scale(model, node);
  };
  if (std::ranges::any_of(model.nodes, has_half)) out["session_options"] = {{"session.disable_quant_qdq", "1"}};
  return out;
}

std::string needs_in_words(const Json& needs) {
  const std::string opset = "opset " + needs["opset"].dump(), because = needs["because"].get<std::string>();
  std::string out = "ONNX Runtime " + needs["onnxruntime"].get<std::string>() + " or newer (" + opset;
  if (because != opset) out += "; " + because;
  out += ")";
  const Json options = needs.value("session_options", Json::object());
  for (const auto& [key, value] : options.items()) out += ", opened with " + key + " = " + value.get<std::string>();
  if (!needs.contains("unknown")) return out;
  out += ", or a newer one for ";
  for (const auto& one : needs["unknown"]) out += (&one == &needs["unknown"].front() ? "" : ", ") + one.get<std::string>();
  return out;
}

}  // namespace quasar::runtime
