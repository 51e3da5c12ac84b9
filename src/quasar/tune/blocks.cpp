#include "quasar/tune/blocks.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace quasar::tune {
namespace {

// Whether the node has a float constant of at least two dimensions: a Conv, a product, an embedding.
bool has_weights(const graph::Node& node, const graph::Model& model) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& input) {
    const Tensor* constant = model.initializer(input);
    return constant != nullptr && constant->type() == DataType::float32 && constant->shape().size() >= 2 && constant->count() > 1;
  });
}

bool shrinks(const graph::Node& node) {
  const auto strides = node.integers("strides");
  return (node.is("Conv") || node.is("MaxPool") || node.is("AveragePool")) &&
         std::any_of(strides.begin(), strides.end(), [](int64_t stride) { return stride > 1; });
}

class Walk {
 public:
  Walk(const graph::Model& model, const std::set<std::string>& nodes) : model_(model), nodes_(nodes) {
    for (const auto& node : model.nodes) {
      for (const auto& input : read_by(node)) readers_[input]++;
    }
  }

  std::vector<std::vector<std::string>> run() {
    for (const auto& node : model_.nodes) {
      if (shrinks(node) && !branched_ && live_.size() <= 1) close();
      step(node);
      if (nodes_.contains(node.name)) open_.push_back(node.name);
      branched_ = branched_ || live_.size() > 1;
      if (live_.size() == 1 && branched_) {
        close();
        branched_ = false;
      }
    }
    close();
    return std::move(blocks_);
  }

 private:
  static std::vector<std::string> read_by(const graph::Node& node) {
    std::vector<std::string> values = node.inputs;
    values.insert(values.end(), node.captures.begin(), node.captures.end());
    return values;
  }

  // live_: values behind a weighted layer that are still to be read.
  void step(const graph::Node& node) {
    bool behind = has_weights(node, model_);
    for (const auto& input : read_by(node)) {
      if (live_.contains(input)) behind = true;
      if (const auto left = readers_.find(input); left != readers_.end() && --left->second == 0) live_.erase(input);
    }
    if (!behind) return;
    for (const auto& output : node.outputs) {
      if (const auto left = readers_.find(output); left != readers_.end() && left->second > 0) live_.insert(output);
    }
  }

  void close() {
    if (!open_.empty()) blocks_.push_back(std::move(open_));
    open_.clear();
  }

  const graph::Model& model_;
  const std::set<std::string>& nodes_;
  std::unordered_map<std::string, size_t> readers_;
  std::unordered_set<std::string> live_;
  std::vector<std::string> open_;
  std::vector<std::vector<std::string>> blocks_;
  bool branched_ = false;
};

}  // namespace

std::vector<std::vector<std::string>> blocks_of(const graph::Model& model, const std::set<std::string>& nodes) {
  return Walk(model, nodes).run();
}

}  // namespace quasar::tune
