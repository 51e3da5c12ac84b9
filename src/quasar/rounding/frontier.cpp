#include "quasar/rounding/frontier.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/quant/standalone.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::tune {

namespace {

size_t bytes_of(const std::map<std::string, Tensor>& values) {
  size_t bytes = 0;
  for (const auto& [name, tensor] : values) bytes += tensor.bytes().size();
  return bytes;
}

// A piece fixes shapes that the model leaves open. So ONNX Runtime (1.30) decides conditions of If and puts branches in their
// places, then moves a DequantizeLinear along what it finds there, and an assertion of it fails where a subgraph reads the result
// (quant/write/pair_before_subgraphs.hpp).
runtime::SessionOptions options_for(const graph::Model& piece) {
  const bool has_subgraphs = std::ranges::any_of(piece.nodes, [](const graph::Node& node) { return !node.captures.empty(); });
  return {.disabled_optimizers = has_subgraphs ? "QDQPropagationTransformer" : ""};
}

}  // namespace

Frontier::Frontier(graph::Model model, const std::vector<std::string>& stops, std::shared_ptr<const HeldSamples> samples,
                   const FrontierOptions& options)
    : model_(std::move(model)),
      data_(std::move(samples)),
      options_(options),
      needed_(model_.nodes.size(), false),
      values_(options.samples) {
  std::map<std::string, size_t> producers;
  for (size_t i = 0; i < model_.nodes.size(); i++) {
    const graph::Node& node = model_.nodes[i];
    position_[node.name] = i;
    for (const auto& output : node.outputs) producers[output] = i;
    if (is_lazy(node)) lazy_[node.outputs[0]] = i;
  }
  for (const auto& stop : stops) {
    needed_.at(position_.at(stop)) = true;
    stops_.insert(position_.at(stop));
  }
  for (size_t i = model_.nodes.size(); i-- > 0;) {
    if (!needed_[i]) continue;
    const auto mark = [&](const std::string& value) {
      if (const auto producer = producers.find(value); producer != producers.end()) needed_[producer->second] = true;
    };
    std::ranges::for_each(model_.nodes[i].inputs, mark);
    std::ranges::for_each(model_.nodes[i].captures, mark);
  }
  for (size_t i = 0; i < model_.nodes.size(); i++) {
    count_readers(model_.nodes[i], 1);
    if (!needed_[i] || is_lazy(model_.nodes[i])) continue;
    for (auto& value : reads(model_.nodes[i])) last_read_[std::move(value)] = i;
  }
  for (const auto& input : model_.inputs) live_.insert(input.name);
}

void Frontier::count_readers(const graph::Node& node, ptrdiff_t change) {
  for (const auto& input : node.inputs) readers_[input] += change;
}

// A DequantizeLinear with constant scale and zero point, of a constant or of a value.
bool Frontier::is_lazy(const graph::Node& node) const {
  const auto constant = [this](const std::string& value) { return model_.initializer(value) != nullptr; };
  return node.op_type == "DequantizeLinear" && std::all_of(node.inputs.begin() + 1, node.inputs.end(), constant);
}

// What must be kept for the node to run: its inputs, where lazy nodes give them, those nodes' codes; no constants.
std::vector<std::string> Frontier::reads(const graph::Node& node) const {
  std::vector<std::string> out;
  const auto add = [&](std::string value) {
    while (lazy_.contains(value)) value = model_.nodes[lazy_.at(value)].inputs[0];
    if (!value.empty() && model_.initializer(value) == nullptr) out.push_back(std::move(value));
  };
  std::ranges::for_each(node.inputs, add);
  std::ranges::for_each(node.captures, add);
  return out;
}

// The values that needed nodes from this index on read and that earlier ones (or the model's inputs) give.
std::set<std::string> Frontier::live(size_t to) const {
  std::set<std::string> out;
  const auto add = [&](const std::string& value) {
    const auto last = last_read_.find(value);
    if (last != last_read_.end() && last->second >= to) out.insert(value);
  };
  std::ranges::for_each(live_, add);
  for (size_t i = done_; i < to; i++) std::ranges::for_each(model_.nodes[i].outputs, add);
  return out;
}

// From stop to stop, also where nobody looks: kernels depend on where a piece ends, and results must not depend on what is known
// from earlier trials.
void Frontier::advance(const std::string& stop) {
  const size_t to = position_.at(stop);
  for (auto between = stops_.upper_bound(done_); between != stops_.end() && *between < to; ++between) step(*between);
  step(to);
}

void Frontier::step(size_t to) {
  std::set<std::string> after = live(to);
  run(piece(done_, to, after), after);
  live_ = std::move(after);
  done_ = to;
  input_ = model_.nodes[to].inputs[0];
  decoding_ = {};
  if (const auto lazy = lazy_.find(input_); lazy != lazy_.end()) {
    const graph::Node& node = model_.nodes[lazy->second];
    input_ = node.inputs[0];
    decoding_.scale = model_.initializer(node.inputs[1])->as<float>()[0];
    if (node.inputs.size() > 2 && !node.inputs[2].empty())
      decoding_.zero_point = static_cast<int32_t>(to_doubles(*model_.initializer(node.inputs[2]))[0]);
  }
}

// The needed nodes with indices from … to − 1 as a model of its own.
graph::Model Frontier::piece(size_t from, size_t to, const std::set<std::string>& after) const {
  std::set<size_t> members;
  std::set<std::string> given;
  const auto add_lazy = [&](std::string value) {
    for (auto lazy = lazy_.find(value); lazy != lazy_.end(); lazy = lazy_.find(value)) {
      members.insert(lazy->second);
      value = model_.nodes[lazy->second].inputs[0];
    }
  };
  graph::Model out;
  out.ir_version = model_.ir_version;
  out.opsets = model_.opsets;
  out.rest = model_.rest;
  for (size_t i = from; i < to; i++) {
    const graph::Node& node = model_.nodes[i];
    if (!needed_[i] || is_lazy(node)) continue;
    members.insert(i);
    std::ranges::for_each(node.inputs, add_lazy);
    std::ranges::for_each(node.captures, add_lazy);
    for (auto& value : reads(node)) given.insert(std::move(value));
  }
  for (const size_t i : members) {
    const graph::Node& node = out.nodes.emplace_back(model_.nodes[i]);
    for (const auto& list : {node.inputs, node.captures}) {
      for (const auto& value : list) {
        if (const Tensor* constant = model_.initializer(value)) out.initializers[value] = *constant;
      }
    }
    for (const auto& value : node.outputs) {
      given.erase(value);
      if (after.contains(value)) out.outputs.push_back({value});
    }
  }
  for (const auto& value : given) out.inputs.push_back(given_value(value));
  graph::sort_nodes(out);
  graph::verify(out, "the piece before " + model_.nodes[to].name);
  return out;
}

// The shape of one of the model's inputs, where it is the same in all samples.
std::optional<Shape> Frontier::common_shape(size_t input) const {
  const auto& declared = model_.inputs[input].shape;
  if (declared && std::ranges::all_of(*declared, [](int64_t size) { return size >= 0; })) return declared;
  std::vector<Shape> shapes(values_.size());
  parallel_for(shapes.size(), options_.threads, [&](size_t sample) { shapes[sample] = data_->shapes(sample).at(input); });
  const bool same = std::ranges::all_of(shapes, [&](const Shape& shape) { return shape == shapes.front(); });
  return same ? std::optional(shapes.front()) : std::nullopt;
}

// A value that a piece takes, as all samples have it.
graph::Value Frontier::given_value(const std::string& value) const {
  if (!begun_) {
    const auto input = std::ranges::find(model_.inputs, value, &graph::Value::name);
    return {value, input->type, common_shape(static_cast<size_t>(input - model_.inputs.begin()))};
  }
  const Tensor& tensor = values_.front().at(value);
  const bool same = std::ranges::all_of(values_, [&](const auto& sample) { return sample.at(value).shape() == tensor.shape(); });
  return {value, tensor.type(), same ? std::optional(tensor.shape()) : std::nullopt};
}

std::map<std::string, Tensor> Frontier::values_before(size_t sample) {
  if (begun_) return std::move(values_[sample]);
  data::Sample read = data_->at(sample);
  std::map<std::string, Tensor> out;
  for (size_t i = 0; i < model_.inputs.size(); i++) out[model_.inputs[i].name] = std::move(read.at(i));
  return out;
}

void Frontier::run(const graph::Model& piece, const std::set<std::string>& after) {
  std::optional<runtime::Session> session;
  if (!piece.outputs.empty()) session.emplace(piece, options_for(piece));
  Fitting fitting(values_.size(), options_.memory_limit);
  parallel_for(values_.size(), options_.threads, [&](size_t sample) {
    if (fitting.is_out(sample)) return;
    std::map<std::string, Tensor> values = values_before(sample);
    std::vector<Tensor> inputs, outputs;
    for (const auto& input : piece.inputs) inputs.push_back(values.at(input.name));
    if (session) outputs = session->run(inputs);
    std::erase_if(values, [&](const auto& value) { return !after.contains(value.first); });
    for (size_t i = 0; i < outputs.size(); i++) {
      // A copy: the runtime's own memory would stay with its session.
      const auto bytes = outputs[i].bytes();
      values[piece.outputs[i].name] = Tensor::copy(outputs[i].type(), outputs[i].shape(), bytes.data(), bytes.size());
    }
    fitting.add(sample, bytes_of(values));
    values_[sample] = std::move(values);
  });
  values_.resize(fitting.count());
  most_bytes_ = std::max(most_bytes_, fitting.bytes());
  begun_ = true;
}

void Frontier::replace(const std::string& name, size_t input, const quant::Optimized& constant) {
  const size_t reader = position_.at(name);
  const std::string value = model_.nodes[reader].inputs.at(input);
  size_t source = lazy_.at(value);
  if (readers_.at(value) > 1) {
    graph::Node own = model_.nodes[source];
    own.name += "_of_" + name;
    own.outputs[0] = value + "_of_" + name;
    source = model_.nodes.size();
    lazy_[own.outputs[0]] = source;
    model_.nodes[reader].inputs[input] = own.outputs[0];
    readers_[value]--;
    readers_[own.outputs[0]] = 1;
    model_.nodes.push_back(std::move(own));
    needed_.push_back(true);
  }
  const std::string codes = name + "_codes_" + std::to_string(input), scale = name + "_scale_" + std::to_string(input);
  const Shape shape = model_.initializer(model_.nodes[source].inputs[1])->shape();
  model_.initializers[codes] = constant.codes;
  model_.initializers[scale] = Tensor::of(shape, constant.params.scales);
  model_.nodes[source].inputs[0] = codes;
  model_.nodes[source].inputs[1] = scale;
}

void Frontier::replace(const std::string& name, size_t input, const Tensor& values) {
  std::string& reads = model_.nodes[position_.at(name)].inputs.at(input);
  readers_[reads]--;
  reads = name + "_values_" + std::to_string(input);
  readers_[reads] = 1;
  model_.initializers[reads] = values;
}

void Frontier::rewrite(const graph::Model& float_model, const std::string& name, const quant::NodePlan& plan) {
  graph::Node& node = model_.nodes[position_.at(name)];
  size_t count = 0;
  std::unordered_map<std::string, std::vector<std::string>> values;
  const quant::RewriteContext context{.model = float_model,
                                      .fresh = [](const std::string& wish) { return wish; },
                                      .add =
                                          [&](const std::string& wish, const Tensor& tensor) {
                                            const std::string own = name + "_" + std::to_string(count++) + "_" + wish;
                                            model_.initializers[own] = tensor;
                                            return own;
                                          },
                                      .quantized = values};
  auto made = quant::rewrite_alone(*std::ranges::find(float_model.nodes, name, &graph::Node::name), plan, context);
  if (made.size() != 1) throw Error(name + " stands for several operators: its weights cannot be replaced");
  made.front().inputs[0] = node.inputs[0];
  count_readers(node, -1);
  node = std::move(made.front());
  count_readers(node, 1);
}

}  // namespace quasar::tune
