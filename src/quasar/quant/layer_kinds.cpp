#include "quasar/quant/layer_kinds.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <unordered_map>
#include <utility>

#include "quasar/ops/movers.hpp"
#include "quasar/quant/dynamic_nodes.hpp"

namespace quasar::quant {
namespace {

using Nodes = std::set<const graph::Node*>;

bool is_one_of(const graph::Node& node, std::initializer_list<const char*> types) {
  return std::ranges::any_of(types, [&](const char* type) { return node.op_type == type; });
}

// Sizes say nothing of where values come from.
bool asks_for_sizes(const graph::Node& node) {
  return is_one_of(node, {"Shape", "Size"});
}

bool hands_on(const graph::Node& node) {
  return ops::keeps_all(node) || is_one_of(node, {"Cast", "Dropout"});
}

class Kinds {
 public:
  explicit Kinds(const graph::Index& index) : index_(index), model_(index.model()) {}

  LayerKinds found() {
    find_attentions();
    measure_depths();
    for (const auto& attention : attentions_) {
      for (const graph::Node* product : attention.inputs) place(product, LayerKind::query_key_value, attention.depth);
      for (const graph::Node* product : attention.outputs) place(product, LayerKind::attention_output, attention.depth);
    }
    place_products();
    for (const auto& node : model_.nodes) {
      if (node.is("Gather") && node.integer("axis", 0) == 0 && is_table(node, model_) && !is_only_multiplied(node))
        places_[&node] = {LayerKind::table, 0};
    }
    return numbered();
  }

 private:
  struct Attention {
    Nodes inputs, outputs;    // products with constant matrices before and behind it
    const graph::Node* last;  // the node that writes its result
    size_t depth = 0;         // attentions before it
  };

  bool has_matrix(const graph::Node& node) const {
    if ((!node.is("MatMul") && !node.is("Gemm")) || node.inputs.size() < 2) return false;
    const Tensor* weights = model_.initializer(node.inputs[1]);
    return weights != nullptr && weights->shape().size() == 2;
  }

  // Of two computed values.
  bool joins(const graph::Node& node) const {
    return node.is("MatMul") && model_.initializer(node.inputs[0]) == nullptr && model_.initializer(node.inputs[1]) == nullptr;
  }

  static bool is_whole_attention(const graph::Node& node) {
    return is_one_of(node, {"Attention", "MultiHeadAttention", "GroupQueryAttention"});
  }

  // The first nodes of which `stops` holds, on each way up from a value or down from a node.
  template <class Stops>
  Nodes above(const std::vector<std::string>& values, const Stops& stops) const {
    Nodes out, seen;
    std::deque<std::string> open(values.begin(), values.end());
    for (; !open.empty(); open.pop_front()) {
      const graph::Node* node = open.front().empty() ? nullptr : index_.producer(open.front());
      if (node == nullptr || !seen.insert(node).second || asks_for_sizes(*node)) continue;
      if (stops(*node)) {
        out.insert(node);
        continue;
      }
      open.insert(open.end(), node->inputs.begin(), node->inputs.end());
      open.insert(open.end(), node->captures.begin(), node->captures.end());
    }
    return out;
  }

  template <class Stops>
  Nodes below(const graph::Node& from, const Stops& stops) const {
    Nodes out, seen{&from};
    std::deque<const graph::Node*> open{&from};
    for (; !open.empty(); open.pop_front()) {
      for (const auto& value : open.front()->outputs) {
        for (const graph::Node* reader : index_.consumers(value)) {
          if (!seen.insert(reader).second || asks_for_sizes(*reader)) continue;
          if (stops(*reader)) {
            out.insert(reader);
          } else {
            open.push_back(reader);
          }
        }
      }
    }
    return out;
  }

  void find_attentions() {
    const auto matrix = [this](const graph::Node& node) { return has_matrix(node); };
    const auto product = [this](const graph::Node& node) { return has_matrix(node) || joins(node); };
    for (const auto& node : model_.nodes) {
      if (is_whole_attention(node)) {
        const auto first = node.inputs.begin();
        const std::vector<std::string> read(first, first + std::min<ptrdiff_t>(3, std::ssize(node.inputs)));
        attentions_.push_back({above(read, matrix), below(node, matrix), &node});
      }
      if (!node.is("Softmax")) continue;
      Nodes scores = above({node.inputs.front()}, product), results = below(node, product);
      const auto is_layer = [this](const graph::Node* one) { return has_matrix(*one); };
      std::erase_if(scores, is_layer), std::erase_if(results, is_layer);
      if (scores.empty() || results.empty()) continue;
      for (const graph::Node* result : results) add_attention(node, scores, *result);
    }
  }

  // The result multiplies what Softmax wrote with values from elsewhere.
  void add_attention(const graph::Node& softmax, const Nodes& scores, const graph::Node& result) {
    const auto matrix = [this](const graph::Node& node) { return has_matrix(node); };
    const auto ends = [&](const graph::Node& node) { return has_matrix(node) || &node == &softmax; };
    Attention one{above(result.inputs, ends), below(result, matrix), &result};
    one.inputs.erase(&softmax);
    for (const graph::Node* product : scores) one.inputs.merge(above(product->inputs, matrix));
    attentions_.push_back(std::move(one));
  }

  // Of each value: the most attentions on a way to it.
  void measure_depths() {
    for (const auto& node : model_.nodes) {
      size_t depth = 0;
      for (const auto* read : {&node.inputs, &node.captures}) {
        for (const auto& value : *read) depth = std::max(depth, depth_of(value));
      }
      for (auto& attention : attentions_) {
        if (attention.last != &node) continue;
        attention.depth = depth;
        ++depth;
        break;
      }
      for (const auto& value : node.outputs) depths_[value] = depth;
    }
  }

  size_t depth_of(const std::string& value) const {
    const auto found = depths_.find(value);
    return found == depths_.end() ? 0 : found->second;
  }

  void place(const graph::Node* node, LayerKind kind, size_t depth) { places_.emplace(node, LayerPlace{kind, depth}); }

  // Those that belong to no attention. A layer's other products are counted with its last.
  void place_products() {
    const auto matrix = [this](const graph::Node& node) { return has_matrix(node); };
    for (auto node = model_.nodes.rbegin(); node != model_.nodes.rend(); ++node) {
      if (!has_matrix(*node) || places_.contains(&*node)) continue;
      if (const graph::Node* sum = sum_behind(*node)) {
        const size_t depth = depth_of(sum->outputs.front());
        place(&*node, LayerKind::down, depth == 0 ? 0 : depth - 1);
        ends_.insert(places_.at(&*node).layer);
        continue;
      }
      const Nodes next = below(*node, matrix);
      if (next.empty()) {
        place(&*node, LayerKind::last, 0);
        continue;
      }
      const auto end = std::ranges::find_if(
          next, [this](const graph::Node* one) { return places_.contains(one) && places_.at(one).kind == LayerKind::down; });
      const size_t depth = depth_of(node->outputs.front());
      place(&*node, LayerKind::feed_forward, end != next.end() ? places_.at(*end).layer : depth == 0 ? 0 : depth - 1);
    }
  }

  // The sum by which a product's result, with a bias perhaps, is added to other computed values; nullptr: none.
  const graph::Node* sum_behind(const graph::Node& product) const {
    const graph::Node* node = &product;
    while (true) {
      const auto& readers = index_.consumers(node->outputs.front());
      if (readers.size() != 1 || index_.is_output(node->outputs.front())) return nullptr;
      const std::string& value = node->outputs.front();
      node = readers.front();
      if (is_one_of(*node, {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"})) return node;
      if (hands_on(*node)) continue;
      if (node->inputs.size() != 2 || (!node->is("Add") && !node->is("Mul"))) return nullptr;
      const std::string& other = node->inputs[node->inputs[0] == value ? 1 : 0];
      if (model_.initializer(other) != nullptr) continue;
      return node->is("Add") ? node : nullptr;
    }
  }

  bool is_only_multiplied(const graph::Node& table) const {
    const auto moves = [](const graph::Node& node) { return !hands_on(node) && !is_one_of(node, {"Slice", "Concat", "Expand"}); };
    const auto multiplies = [](const graph::Node* node) {
      return is_one_of(*node, {"Mul", "RotaryEmbedding", "GroupQueryAttention"});
    };
    const Nodes readers = below(table, moves);
    return !readers.empty() && std::ranges::all_of(readers, multiplies);
  }

  // By the ends of layers that were found; without any, by attentions.
  LayerKinds numbered() const {
    LayerKinds out;
    const std::vector<size_t> ends(ends_.begin(), ends_.end());
    size_t attentions = 0;
    for (const auto& attention : attentions_) attentions = std::max(attentions, attention.depth + 1);
    out.layers = ends.empty() ? attentions : ends.size();
    for (const auto& [node, place] : places_) {
      LayerPlace& own = out.nodes[node->name] = place;
      if (place.kind == LayerKind::last || place.kind == LayerKind::table || ends.empty()) continue;
      const auto at = static_cast<size_t>(std::ranges::lower_bound(ends, place.layer) - ends.begin());
      own.layer = std::min(at, ends.size() - 1);
    }
    return out;
  }

  const graph::Index& index_;
  const graph::Model& model_;
  std::vector<Attention> attentions_;
  std::unordered_map<std::string, size_t> depths_;
  std::map<const graph::Node*, LayerPlace> places_;
  std::set<size_t> ends_;  // depths at which a feed-forward part is added to the stream
};

bool is_for(const KindRule& rule, const LayerPlace& place, size_t layers) {
  return rule.kind == place.kind && (!rule.some || has_more_bits(place.layer, layers));
}

const LayerRule* model_rule_for(const std::string& node, const std::vector<LayerRule>& rules) {
  for (const auto& rule : rules) {
    if (!rule.model.empty() && std::ranges::find(rule.nodes, node) != rule.nodes.end()) return &rule;
  }
  return nullptr;
}

// What the rule leaves open is as for the model.
LayerRule within(const KindRule& rule, const LayerRule& model) {
  return parse_kind_rules({{name_of(rule.kind), rule.words}}, model.activation, model.weight).front().rule;
}

}  // namespace

LayerKinds find_layer_kinds(const graph::Index& index) {
  return Kinds(index).found();
}

Config with_kinds(Config config, const LayerKinds& kinds) {
  std::vector<LayerRule> made;
  for (const auto& rule : std::exchange(config.kinds, {})) {
    std::map<const LayerRule*, std::vector<std::string>> nodes;  // by the rule of their model; nullptr: they have none
    for (const auto& [name, place] : kinds.nodes) {
      if (is_for(rule, place, kinds.layers)) nodes[model_rule_for(name, config.layers)].push_back(name);
    }
    for (auto& [model, names] : nodes) {
      if (model != nullptr && model->in_float) continue;
      LayerRule own = model == nullptr ? rule.rule : within(rule, *model);
      own.nodes = std::move(names);
      own.words["nodes"] = own.nodes;
      made.push_back(std::move(own));
    }
  }
  const auto first = std::ranges::find_if(config.layers, [](const LayerRule& rule) { return !rule.model.empty(); });
  config.layers.insert(first, made.begin(), made.end());
  return config;
}

std::vector<std::string> notes_on_kinds(const Config& config, const LayerKinds& kinds) {
  std::vector<std::string> out;
  for (const auto& rule : config.kinds) {
    const auto fits = [&](const auto& node) { return is_for(rule, node.second, kinds.layers); };
    if (std::ranges::none_of(kinds.nodes, fits))
      out.push_back("layer_kinds." + name_of(rule.kind) + " has no effect: the model has no such layer");
  }
  return out;
}

}  // namespace quasar::quant
