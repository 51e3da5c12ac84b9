#include "quasar/graph/rewrites/fold_scalars.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/graph/lookup.hpp"

namespace quasar::graph {
namespace {

bool is_convolution(const Node& node) {
  return node.is("Conv") || node.is("ConvTranspose");
}

const Tensor* constant(const Model& model, const std::string& value) {
  const Tensor* tensor = model.initializer(value);
  return tensor != nullptr && tensor->type() == DataType::float32 ? tensor : nullptr;
}

// The weights of a convolution, which it alone reads; nullptr: it has none.
const Tensor* weights_of(const Node& node, const Index& index) {
  if (!is_convolution(node) || node.inputs.size() < 2 || index.consumers(node.inputs[1]).size() != 1) return nullptr;
  const Model& model = index.model();
  const Tensor* weights = constant(model, node.inputs[1]);
  const bool bias = node.inputs.size() < 3 || node.inputs[2].empty() || constant(model, node.inputs[2]) != nullptr;
  return weights != nullptr && bias && weights->shape().size() > 2 ? weights : nullptr;
}

size_t outputs_of(const Node& node, const Tensor& weights) {
  const auto groups = static_cast<size_t>(node.integer("group", 1));
  return node.is("Conv") ? static_cast<size_t>(weights.shape()[0]) : static_cast<size_t>(weights.shape()[1]) * groups;
}

bool pads(const Node& node) {
  const std::string automatic = node.text("auto_pad", "NOTSET");
  if (automatic == "VALID") return false;
  return automatic != "NOTSET" || std::ranges::any_of(node.integers("pads"), [](int64_t pad) { return pad != 0; });
}

// A Mul or Add with one value, of no higher rank than what it is computed with.
struct Scalar {
  const Node* node;
  std::string value;
  float constant;
};

std::optional<Scalar> scalar(const Node& node, std::string_view type, size_t rank, const Model& model) {
  if (!node.is(type) || node.inputs.size() != 2) return std::nullopt;
  for (const size_t side : {0, 1}) {
    const auto found = single_value(node.inputs[1 - side], model);
    if (!found || !std::isfinite(*found) || model.initializer(node.inputs[1 - side])->shape().size() > rank) continue;
    return Scalar{&node, node.inputs[side], *found};
  }
  return std::nullopt;
}

// One pass over the model: what is beside a convolution that has not been changed yet.
class Pass {
 public:
  Pass(Model& model, const std::set<std::string>& kept)
      : model_(model), kept_(kept), before_(model), index_(before_), names_(before_) {}

  // Whether anything changed.
  bool run() {
    for (const Node& node : before_.nodes) {
      if (is_convolution(node)) fold_behind(node);
    }
    for (const Node& node : before_.nodes) {
      if (node.is("Mul")) fold_before(node);
    }
    if (gone_.empty()) return false;
    std::erase_if(model_.nodes, [this](const Node& node) { return gone_.contains(node.name); });
    for (Node& node : model_.nodes) {
      if (const auto found = changed_.find(node.name); found != changed_.end()) node = found->second;
    }
    remove_unused(model_);
    return true;
  }

 private:
  bool is_free(const Node& node) const {
    return !changed_.contains(node.name) && !gone_.contains(node.name) && !kept_.contains(node.name);
  }

  // The convolution's result becomes that of the product or sum which alone reads it.
  void fold_behind(const Node& conv) {
    const Tensor* weights = weights_of(conv, index_);
    const Node* reader = sole_reader(conv.outputs[0], index_);
    if (weights == nullptr || reader == nullptr || !is_free(conv) || !is_free(*reader) || reader->inside != conv.inside) return;
    const size_t rank = weights->shape().size();
    const auto product = scalar(*reader, "Mul", rank, before_), sum = scalar(*reader, "Add", rank, before_);
    if (!product && !sum) return;
    Node own = conv;
    change(own, product ? product->constant : 1, sum ? sum->constant : 0, product ? product->constant : 1);
    own.outputs = reader->outputs;
    changed_[conv.name] = std::move(own);
    gone_.insert(reader->name);
  }

  // The readers, if all are convolutions that may change; none else.
  std::vector<const Node*> convolutions_behind(const Node& node) const {
    std::vector<const Node*> readers = index_.consumers(node.outputs[0]);
    const bool all = !index_.is_output(node.outputs[0]) && std::ranges::all_of(readers, [&](const Node* reader) {
      return weights_of(*reader, index_) != nullptr && reader->inputs[0] == node.outputs[0] && is_free(*reader) &&
             reader->inside == node.inside;
    });
    return all ? readers : std::vector<const Node*>{};
  }

  void fold_before(const Node& node) {
    constexpr size_t least_rank = 3;  // of what a convolution reads
    const auto product = scalar(node, "Mul", least_rank, before_);
    if (!product || product->constant == 0 || !is_free(node) || index_.is_output(node.outputs[0])) return;
    const Node* reader = sole_reader(node.outputs[0], index_);
    const auto sum = reader != nullptr && is_free(*reader) && reader->inside == node.inside
                         ? scalar(*reader, "Add", least_rank, before_)
                         : std::nullopt;
    const auto convolutions = convolutions_behind(sum ? *sum->node : node);
    if (convolutions.empty() || (sum && !std::isfinite(sum->constant / product->constant))) return;
    const bool whole =
        sum && std::ranges::none_of(convolutions, [](const Node* conv) { return pads(*conv) || !conv->is("Conv"); });
    for (const Node* conv : convolutions) {
      Node own = *conv;
      if (whole) add_to_bias(own, sum->constant);
      change(own, product->constant, 0, 1);
      if (whole || !sum) own.inputs[0] = product->value;
      changed_[conv->name] = std::move(own);
    }
    if (sum && !whole) {
      Node own = *sum->node;
      own.inputs = {product->value, add(own.name + "_term", Tensor::scalar(sum->constant / product->constant))};
      changed_[own.name] = std::move(own);
    } else if (sum) {
      gone_.insert(sum->node->name);
    }
    gone_.insert(node.name);
  }

  // What a value that is added to all of the input adds to each output.
  void add_to_bias(Node& conv, float term) {
    const Tensor& weights = *before_.initializer(conv.inputs[1]);
    const auto values = weights.as<float>();
    const size_t outputs = outputs_of(conv, weights), each = values.size() / std::max<size_t>(outputs, 1);
    std::vector<float> bias = bias_of(conv, outputs);
    for (size_t k = 0; k < outputs; k++) {
      double sum = 0;
      for (size_t i = 0; i < each; i++) sum += double{values[k * each + i]};
      bias[k] += static_cast<float>(sum * double{term});
    }
    set_bias(conv, bias);
  }

  // Weights times a factor; the bias times another, and a term more.
  void change(Node& conv, float factor, float term, float bias_factor) {
    const Tensor& weights = *before_.initializer(conv.inputs[1]);
    if (factor != 1) {
      std::vector<float> values(weights.as<float>().begin(), weights.as<float>().end());
      for (float& value : values) value *= factor;
      conv.inputs[1] = add(conv.inputs[1] + "_folded", Tensor::of(weights.shape(), values));
    }
    const bool has_bias = conv.inputs.size() > 2 && !conv.inputs[2].empty();
    if (term == 0 && (!has_bias || bias_factor == 1)) return;
    std::vector<float> bias = bias_of(conv, outputs_of(conv, weights));
    for (float& value : bias) value = value * bias_factor + term;
    set_bias(conv, bias);
  }

  std::vector<float> bias_of(const Node& conv, size_t outputs) const {
    if (conv.inputs.size() < 3 || conv.inputs[2].empty()) return std::vector<float>(outputs);
    const auto values = model_.initializer(conv.inputs[2])->as<float>();
    return {values.begin(), values.end()};
  }

  void set_bias(Node& conv, const std::vector<float>& values) {
    conv.inputs.resize(3);
    const std::string wish = conv.inputs[2].empty() ? conv.name + "_bias" : conv.inputs[2] + "_folded";
    conv.inputs[2] = add(wish, Tensor::of({static_cast<int64_t>(values.size())}, values));
  }

  std::string add(const std::string& wish, Tensor tensor) {
    std::string name = names_.fresh(wish);
    model_.initializers[name] = std::move(tensor);
    return name;
  }

  Model& model_;
  const std::set<std::string>& kept_;
  const Model before_;
  const Index index_;
  Names names_;
  std::map<std::string, Node> changed_;  // by name
  std::set<std::string> gone_;
};

}  // namespace

void fold_scalars(Model& model, const std::set<std::string>& kept) {
  while (Pass(model, kept).run()) {
  }
}

}  // namespace quasar::graph
