#include <algorithm>
#include <cctype>
#include <set>
#include <unordered_set>

#include "quasar/base/error.hpp"
#include "quasar/graph/bodies.hpp"
#include "quasar/graph/pipeline/layout.hpp"
#include "quasar/graph/pipeline/renamed.hpp"

namespace quasar::graph {
namespace {

bool quantizes_codes(const Node* node) {
  return node != nullptr && node->op_type == "QuantizeLinear";
}

bool gives_codes(const Node* node) {
  return node != nullptr && node->op_type == "DequantizeLinear";
}

// Some file systems hold names that differ in case for one.
std::string lower(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return name;
}

// One part, cut out of the joined model.
class Cut {
 public:
  Cut(const Model& joined, const Index& index, const Part& part) : joined_(joined), index_(index), part_(part), names_(joined) {
    for (const auto& port : part.inputs) inputs_.insert(port.value);
    for (const auto& port : part.inputs) find_stand_ins(port.value);
  }

  Model run() {
    out_.ir_version = joined_.ir_version;
    out_.opsets = joined_.opsets;
    out_.metadata = joined_.metadata;
    out_.rest = joined_.rest;
    for (const auto& port : part_.outputs) visit(port.value);
    // In the joined model's order, which is topological.
    for (const auto& node : joined_.nodes) {
      if (taken_.contains(&node)) out_.nodes.push_back(node);
    }
    for (auto& node : out_.nodes) {
      for (auto* list : {&node.inputs, &node.captures}) {
        for (auto& value : *list) value = instead_of(value);
      }
    }
    give_codes();
    out_.nodes.insert(out_.nodes.begin(), codes_.begin(), codes_.end());
    for (const auto& port : part_.inputs) out_.inputs.push_back(with_name(port));
    for (const auto& port : part_.outputs) out_.outputs.push_back(with_name(port));
    forget_layout(out_);
    for (const auto& [key, value] : part_.metadata) out_.metadata.try_emplace(key, value);
    sort_nodes(out_);
    return std::move(out_);
  }

 private:
  // As the model had it, with the type that the value has now, as models of 16-bit floats become such of 32 bits, and with the
  // sizes that were fixed since.
  Value with_name(const Port& port) const {
    Value out = port.own;
    out.name = port.value;
    for (const auto* values : {&joined_.inputs, &joined_.outputs}) {
      const auto now = std::ranges::find(*values, port.value, &Value::name);
      if (now == values->end()) continue;
      out.type = now->type;
      if (!now->shape || !out.shape || now->shape->size() != out.shape->size()) continue;
      for (size_t i = 0; i < out.shape->size(); ++i) {
        if ((*out.shape)[i] >= 0 || (*now->shape)[i] < 0) continue;
        (*out.shape)[i] = (*now->shape)[i];
        if (i < out.symbols.size()) out.symbols[i].clear();
      }
    }
    return out;
  }

  // Values that hold what the input holds: its codes, or itself before an Identity.
  void find_stand_ins(const std::string& input) {
    const Node* writer = index_.producer(input);
    for (; writer != nullptr && writer->is("Identity"); writer = index_.producer(writer->inputs[0])) {
      same_.try_emplace(writer->inputs[0], input);
    }
    if (gives_codes(writer) && joined_.initializer(writer->inputs[0]) == nullptr)
      codes_of_.try_emplace(writer->inputs[0], std::pair(input, writer));
  }

  void visit(const std::string& start) {
    std::vector<std::string> open{start};
    while (!open.empty()) {
      const std::string value = open.back();
      open.pop_back();
      if (value.empty() || inputs_.contains(value)) continue;
      if (const Tensor* tensor = joined_.initializer(value)) {
        out_.initializers.emplace(value, *tensor);
        continue;
      }
      const Node* writer = index_.producer(value);
      if (same_.contains(value) || codes_of_.contains(value)) continue;  // instead_of() says what is read
      if (writer == nullptr) refuse(value);
      if (!taken_.insert(writer).second) continue;
      for (const auto* list : {&writer->inputs, &writer->captures}) open.insert(open.end(), list->begin(), list->end());
    }
  }

  [[noreturn]] void refuse(const std::string& value) const {
    throw Error("the pipeline cannot be split: model '" + part_.name + "' needs '" + value +
                "', which no earlier model gives out; 'OptimizeModel: false' keeps what crosses as it came");
  }

  std::string instead_of(const std::string& value) {
    if (value.empty() || inputs_.contains(value)) return value;
    if (const auto same = same_.find(value); same != same_.end()) return same->second;
    const auto codes = codes_of_.find(value);
    return codes == codes_of_.end() ? value : codes_of(codes->second.first, *codes->second.second);
  }

  // The codes of an input, by the grid of the DequantizeLinear that wrote it.
  std::string codes_of(const std::string& input, const Node& writer) {
    const auto [place, fresh] = own_codes_.try_emplace(input);
    if (!fresh) return place->second;
    place->second = names_.fresh(input + "_codes");
    Node node = writer;
    node.name = names_.fresh(part_.name + "/" + input + "_QuantizeLinear");
    node.op_type = "QuantizeLinear";
    node.inputs[0] = input;
    node.outputs = {place->second};
    node.inside.clear();
    node.stays = false;
    keep_constants(node);
    codes_.push_back(std::move(node));
    return place->second;
  }

  void keep_constants(const Node& node) {
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      if (const Tensor* tensor = joined_.initializer(node.inputs[i])) out_.initializers.emplace(node.inputs[i], *tensor);
    }
  }

  // Operators between pairs find codes before the value, as in the joined model: else they would run in float here.
  void give_codes() {
    const Index index(out_);
    std::map<std::string, std::string> pairs;
    std::vector<Node> written;
    for (const auto& port : part_.inputs) {
      const Node* writer = index_.producer(port.value);
      if (!gives_codes(writer) || !has_one_grid(*writer)) continue;
      std::unordered_set<std::string> readers;
      for (const Node* reader : index.consumers(port.value)) {
        if (in_codes(*reader, index)) readers.insert(reader->name);
      }
      if (readers.empty()) continue;
      Node back = *writer;
      back.name = names_.fresh(part_.name + "/" + port.value + "_DequantizeLinear");
      back.inputs[0] = codes_of(port.value, *writer);
      back.inside.clear();
      back.stays = false;
      back.outputs = {names_.fresh(port.value + "_dequantized")};
      keep_constants(back);
      for (auto& node : out_.nodes) {
        if (readers.contains(node.name)) std::ranges::replace(node.inputs, port.value, back.outputs[0]);
      }
      codes_.push_back(std::move(back));
    }
  }

  bool has_one_grid(const Node& node) const {
    const Tensor* scale = joined_.initializer(node.inputs[1]);
    return scale != nullptr && scale->count() == 1;
  }

  // Another input comes from codes, or its result goes into codes.
  static bool in_codes(const Node& node, const Index& index) {
    if (quantizes_codes(&node)) return false;  // it has a grid of its own
    const auto from_codes = [&](const std::string& input) { return gives_codes(index.producer(input)); };
    if (std::ranges::any_of(node.inputs, from_codes)) return true;
    return std::ranges::any_of(
        node.outputs, [&](const std::string& output) { return std::ranges::any_of(index.consumers(output), quantizes_codes); });
  }

  const Model& joined_;
  const Index& index_;
  const Part& part_;
  Names names_;
  std::unordered_set<std::string> inputs_;
  std::map<std::string, std::string> same_;                              // value -> the input that it is
  std::map<std::string, std::pair<std::string, const Node*>> codes_of_;  // codes -> the input, and who made it of them
  std::map<std::string, std::string> own_codes_;
  std::unordered_set<const Node*> taken_;
  std::vector<Node> codes_;  // at the beginning
  Model out_;
};

// Names without the model's own prefix, where that leaves no two alike: what models share keeps the name that it has.
class BareNames {
 public:
  BareNames(std::string prefix, std::set<std::string> taken) : prefix_(std::move(prefix)), taken_(std::move(taken)) {}

  // In any order; names without the prefix first.
  void add(const std::string& name) {
    if (name.empty() || name.starts_with(prefix_)) return;
    taken_.insert(name);
  }
  std::string of(const std::string& name) {
    if (!name.starts_with(prefix_)) return name;
    const auto [place, fresh] = bare_.try_emplace(name, name.substr(prefix_.size()));
    if (fresh && !taken_.insert(place->second).second) place->second = name;
    return place->second;
  }

 private:
  std::string prefix_;
  std::set<std::string> taken_;
  std::map<std::string, std::string> bare_;
};

// With the names that the model had before it was joined.
Model with_own_names(Model model, const Part& part) {
  std::map<std::string, std::string> known;
  std::set<std::string> ports;
  for (const auto* list : {&part.inputs, &part.outputs}) {
    for (const auto& port : *list) {
      known.try_emplace(port.value, port.own.name);
      ports.insert(port.own.name);
    }
  }
  BareNames values(part.name + "/", ports), nodes(part.name + "/", {});
  for (const auto& [name, tensor] : model.initializers) values.add(name);
  for (const auto& node : model.nodes) {
    nodes.add(node.name);
    for (const auto* list : {&node.inputs, &node.outputs, &node.captures}) {
      for (const auto& name : *list) values.add(name);
    }
  }
  const auto value = [&](const std::string& name) {
    const auto found = known.find(name);
    return found == known.end() ? values.of(name) : found->second;
  };
  return renamed(std::move(model), {.value = value,
                                    .node = [&](const std::string& name) { return nodes.of(name); },
                                    .symbol = [](const std::string& symbol) { return symbol; }});
}

}  // namespace

std::vector<std::string> files_of(const std::vector<Part>& parts) {
  std::map<std::string, size_t> count;
  for (const auto& part : parts) count[lower(part.file)]++;
  std::vector<std::string> out;
  std::set<std::string> taken;
  for (const auto& part : parts) {
    out.push_back(count[lower(part.file)] == 1 ? part.file : part.name + ".onnx");
    taken.insert(lower(out.back()));
  }
  if (taken.size() == parts.size()) return out;
  for (size_t i = 0; i < parts.size(); ++i) out[i] = parts[i].name + ".onnx";
  return out;
}

std::vector<Piece> split(const Model& given) {
  const auto pipeline = pipeline_of(given);
  if (!pipeline) throw Error("the model cannot be split: it is not one that was joined of several");
  const Model joined = opened(given);  // nodes of bodies read what crosses, too
  const Index index(joined);
  const auto files = files_of(pipeline->parts);
  std::vector<Piece> out;
  for (size_t i = 0; i < pipeline->parts.size(); ++i) {
    const Part& part = pipeline->parts[i];
    Model model = with_own_names(closed(Cut(joined, index, part).run()), part);
    verify(model, "splitting a pipeline, model '" + part.name + "'");
    out.push_back({part.name, files[i], std::move(model)});
  }
  return out;
}

}  // namespace quasar::graph
