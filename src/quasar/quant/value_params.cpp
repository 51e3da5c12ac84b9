#include "quasar/quant/value_params.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/graph/lookup.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/codes/weights.hpp"
#include "quasar/quant/pairs.hpp"
#include "quasar/quant/placement/integer_softmax.hpp"

namespace quasar::quant {
namespace {

// Rounding of the scale may carry the ends of the grid beyond the bounds to which the activation clips, by an ulp; then no target
// could tell that the grid clips as well.
void keep_within(const ops::Bounds& bounds, QuantParams& params) {
  if (is_half(params.type)) return;
  const Grid grid = grid_of(params.type, false);
  const auto beyond = [&](float scale) {
    return scale * static_cast<float>(grid.high - params.zero_points[0]) > bounds.high ||
           scale * static_cast<float>(grid.low - params.zero_points[0]) < bounds.low;
  };
  const float scale = params.scales[0], one = std::nextafter(scale, 0.0F), two = std::nextafter(one, 0.0F);
  if (!beyond(scale)) return;
  if (!beyond(one)) {
    params.scales[0] = one;
  } else if (!beyond(two)) {
    params.scales[0] = two;
  }
}

// Without what a margin adds beyond these bounds.
stats::Range between(const stats::Range& range, const ops::Bounds& bounds, const stats::Range& observed) {
  return {std::max(range.low, std::min<double>({bounds.low, observed.low, 0.0})),
          std::min(range.high, std::max<double>({bounds.high, observed.high, 0.0}))};
}

// Beyond which the value never is: where an activation clips it, or a Min or Max with a constant does, or both one after the
// other.
ops::Bounds bounds_of(const std::string& value, const graph::Index& index, const Placement& placement) {
  const graph::Node* const producer = index.producer(value);
  if (producer == nullptr) return {};
  const ops::Roles* const roles = placement.roles(producer);
  if (roles != nullptr && roles->bounds) return *roles->bounds;
  const bool least = producer->is("Max");
  if ((!least && !producer->is("Min")) || producer->inputs.size() != 2) return {};
  const size_t at = index.model().initializer(producer->inputs[0]) != nullptr ? 0 : 1;
  const Tensor* const constant = index.model().initializer(producer->inputs[at]);
  if (constant == nullptr || constant->type() != DataType::float32 || constant->count() == 0) return {};
  ops::Bounds bounds = bounds_of(producer->inputs[1 - at], index, placement);
  const auto [low, high] = std::ranges::minmax(constant->as<float>());
  if (least) return {std::max(bounds.low, low), std::max(bounds.high, high)};
  return {std::min(bounds.low, low), std::min(bounds.high, high)};
}

// An override that gives scales needs a type that has them.
void check_has_scales(const std::string& name, const TensorOverride& own, const Scheme& scheme) {
  if (is_complete(own) && !is_integer(scheme.type))
    throw Error("TensorQuantOverrides." + name + " is " + own.words.dump() + ", but " + spec_name(scheme) +
                " has no ranges and no scales: values are cast");
}

}  // namespace

// Memoized; std::unordered_map keeps references valid.
const QuantParams& ValueParams::of(const std::string& value) {
  if (const auto known = params_.find(value); known != params_.end()) return known->second;
  QuantParams params = find(value);
  return params_.emplace(value, std::move(params)).first->second;
}

// Of the value as the node reads it.
const QuantParams& ValueParams::read_by(const std::string& value, const std::string& node) {
  if (!at_.schemes.converts(value, node)) return of(value);
  const Scheme& scheme = *at_.schemes.of(node).activation;
  const std::string key = value + '\n' + std::string(name_of(scheme.type)) + scheme_words(scheme).dump();
  if (const auto known = params_.find(key); known != params_.end()) return known->second;
  return params_.emplace(key, own(value, scheme)).first->second;
}

QuantParams ValueParams::find(const std::string& value) {
  const graph::Node* producer = at_.index.producer(value);
  const ops::Roles* produced = at_.placement.roles(producer);
  if (produced != nullptr && produced->kind == ops::Kind::movement)
    return read_by(producer->inputs[produced->activations.front()], producer->name);
  const Scheme& scheme = at_.schemes.written(value);
  // An activation or Concat behind it changes nothing of what its kernel writes.
  if (auto fixed = written_by_kernel(value, scheme)) return *std::move(fixed);
  const graph::Node* reader = graph::sole_reader(value, at_.index);
  const ops::Roles* read = at_.placement.roles(reader);
  const bool clipped_next =
      produced != nullptr && read != nullptr && read->kind == ops::Kind::activation && !at_.schemes.converts(value, reader->name);
  if (clipped_next && at_.target.fuses(*producer, *reader) &&
      at_.on(reader->is("Relu") ? "RemoveQDQConvRelu" : "RemoveQDQConvClip")) {
    const QuantParams& clipped = of(reader->outputs.front());
    if (at_.target.absorbs(*read->bounds, clipped)) {
      absorbed_.insert(value);
      return clipped;
    }
  }
  if (const auto& group = at_.ties.aligned(value); share_grid(group)) return aligned(group);
  if (clipped_next) return of(reader->outputs.front());
  // Rows of a table that is stored as codes are those codes, where the target takes their type as a value.
  if (produced != nullptr && produced->weight && produced->activations.empty()) {
    const Scheme table = stored_scheme(*produced, *at_.schemes.of(producer->name).weight);
    if (bits_of(table.type) == bits_of(scheme.type) && at_.target.obstacle_to_tensor(table, false, at_.config).empty())
      return of_weights(producer->inputs[produced->weight->input], std::nullopt, table);
  }
  QuantParams params = own(value, scheme);
  // A power of two stays one.
  const bool free = scheme.scale_type == ScaleType::float32;
  if (free && produced != nullptr && produced->kind == ops::Kind::activation) keep_within(*produced->bounds, params);
  if (free && produced != nullptr && producer->is("HardSigmoid")) keep_within({0, 1}, params);
  return params;
}

// Values that are cast have no grid to share.
bool ValueParams::share_grid(const std::vector<std::string>& group) const {
  if (group.empty()) return false;
  const Scheme& first = at_.schemes.written(group.front());
  const auto same = [&](const std::string& value) { return at_.schemes.written(value) == first; };
  return is_integer(first.type) && std::ranges::all_of(group, same);
}

// The output's range, one of those that are joined, holds the constants too.
const QuantParams* ValueParams::joined(const graph::Node& node) {
  if (!node.is("Concat") || !(at_.on("AlignConcat") || at_.target.unifies(node))) return nullptr;
  const auto& group = at_.ties.aligned(node.outputs.front());
  return share_grid(group) ? &of(node.outputs.front()) : nullptr;
}

// One range for all: the union of what each of them would have. Of one that was zero everywhere nothing is known: it adds
// nothing.
QuantParams ValueParams::aligned(const std::vector<std::string>& group) {
  const Scheme& scheme = at_.schemes.written(group.front());
  stats::Range all;
  for (const auto& value : group) {
    const graph::Node* producer = at_.index.producer(value);
    const ops::Roles* produced = at_.placement.roles(producer);
    if (produced != nullptr && produced->kind == ops::Kind::movement) continue;  // its source is one of the group
    const QuantParams params = own(value, scheme);
    if (!is_half(params.type) && params.type != scheme.type)
      throw Error("TensorQuantOverrides." + value + ".quant_type is " +
                  at_.config.tensors.at(value).words.at("quant_type").dump() + ", but the value has one grid of " +
                  std::string(name_of(scheme.type)) + " with " + (value == group.front() ? group.back() : group.front()) +
                  " (AlignConcat, AlignPool, or what the target asks for); leave quant_type out, or give the layers a type "
                  "(specific_layer_config)");
    if (const auto range = ranges_.find(value); is_half(params.type) || (range != ranges_.end() && is_zero(range->second)))
      continue;
    const Grid grid = grid_of(scheme.type, scheme.symmetric);
    const auto end = [&](int64_t code) {
      return static_cast<double>(params.scales[0]) * static_cast<double>(code - params.zero_points[0]);
    };
    all = {std::min(all.low, end(grid.low)), std::max(all.high, end(grid.high))};
  }
  const auto [scale, zero_point] = scale_for(all, scheme.type, scheme.symmetric, scheme.scale_type);
  return {.type = scheme.type, .scales = {scale}, .zero_points = {zero_point}};
}

QuantParams ValueParams::own(const std::string& value, const Scheme& usual) {
  const auto own = at_.config.tensors.find(value);
  const Scheme scheme = own == at_.config.tensors.end() ? usual : overridden(usual, own->second);
  if (own != at_.config.tensors.end()) check_value_type(scheme.type, "TensorQuantOverrides." + value + ".quant_type");
  if (own != at_.config.tensors.end()) check_has_scales(value, own->second, scheme);
  if (own != at_.config.tensors.end()) used_.insert(value);
  if (own != at_.config.tensors.end() && is_complete(own->second)) return params_of(own->second, scheme);
  if (is_half(scheme.type)) return {.type = scheme.type, .scales = {1}, .zero_points = {0}};
  if (auto written = written_by_kernel(value, scheme)) return *std::move(written);
  const auto found = at_.seen.find(value);
  if (found == at_.seen.end()) throw Error("no statistics of value '" + value + "' were collected");
  // Probabilities are nearly all zero with a few ones that matter: a method that clips tails would clip the answer.
  const graph::Node* producer = at_.index.producer(value);
  const bool probabilities = producer != nullptr && producer->is("Softmax");
  const auto& given = found->second.given;
  if (!given && own == at_.config.tensors.end()) {
    if (auto same = came_with(value, scheme)) return *std::move(same);
  }
  if (given && !given->range)
    return {.type = scheme.type, .scales = {static_cast<float>(given->scale)}, .zero_points = {given->zero_point}};
  stats::Range range = given ? *given->range : probabilities ? found->second.range : method_of(usual).pick(found->second, scheme);
  if (!given && bits_of(scheme.type) == 16 && usual.range_options.value("margin", 0.0) > 0)
    range = between(range, bounds_of(value, at_.index, at_.placement), found->second.range);
  if (!given && probabilities && bits_of(scheme.type) == 8) {
    const auto length = at_.placement.softmaxes.find(producer->name);
    range.high = std::max(range.high, least_range_of_softmax(length == at_.placement.softmaxes.end() ? 0 : length->second));
  }
  if (!given && scheme.type == DataType::int8 && scheme.symmetric && holds_states(value))
    range = {std::min(range.low, -1.0), std::max(range.high, 1.0)};
  // Where readers in a type of their own ask too, the one in which it is written holds.
  if (usual == at_.schemes.written(value) || !ranges_.contains(value)) ranges_[value] = range;
  const auto [scale, zero_point] = scale_for(range, scheme.type, scheme.symmetric, scheme.scale_type);
  return {.type = scheme.type, .scales = {scale}, .zero_points = {zero_point}};
}

std::optional<QuantParams> ValueParams::written_by_kernel(const std::string& value, const Scheme& scheme) const {
  const graph::Node* writer = at_.index.producer(value);
  if (writer == nullptr || at_.config.tensors.contains(value)) return std::nullopt;
  return at_.target.grid_written_by(*writer, scheme.type);
}

bool ValueParams::holds_states(const std::string& value) const {
  return std::ranges::any_of(at_.index.consumers(value), [this](const graph::Node* reader) {
    return at_.placement.roles(reader) != nullptr && at_.target.holds_state_on_grid(*reader);
  });
}

// The grid of the pair that writes or reads the value in a model which is quantized in part. nullopt: there is none, or the
// scheme cannot have it.
std::optional<QuantParams> ValueParams::came_with(const std::string& value, const Scheme& scheme) {
  const bool bytes = is_integer(scheme.type) && bits_of(scheme.type) == 8;
  const auto pair = bytes && scheme.scale_type == ScaleType::float32 ? pair_of(value, at_.index) : std::nullopt;
  if (!pair || !is_integer(pair->type) || bits_of(pair->type) != 8) return std::nullopt;
  const int64_t shift = grid_of(scheme.type, false).low - grid_of(pair->type, false).low;
  const auto zero_point = static_cast<int32_t>(pair->zero_point + shift);
  const auto scale = static_cast<float>(pair->scale);
  if (scheme.symmetric && zero_point != scale_for({-1, 1}, scheme.type, true).zero_point) return std::nullopt;
  const Grid grid = grid_of(scheme.type, false);
  ranges_[value] = {pair->scale * static_cast<double>(grid.low - zero_point),
                    pair->scale * static_cast<double>(grid.high - zero_point)};
  return QuantParams{.type = scheme.type, .scales = {scale}, .zero_points = {zero_point}};
}

// A table that rows are taken from has one scale, whatever the weights of sums have.
Scheme stored_scheme(const ops::Roles& roles, Scheme weight) {
  if (roles.activations.empty()) weight.granularity = Granularity::tensor;
  return weight;
}

QuantParams ValueParams::of_weights(const std::string& name, std::optional<int> axis, const Scheme& usual) {
  const Tensor& weights = *at_.index.model().initializer(name);
  const auto own = at_.config.tensors.find(name);
  if (own == at_.config.tensors.end())
    return at_.memo != nullptr ? at_.memo->params(name, weights, axis, usual) : weight_params(weights, axis, usual);
  used_.insert(name);
  const Scheme scheme = overridden(usual, own->second);
  check_has_scales(name, own->second, scheme);
  return is_complete(own->second) ? params_of(own->second, scheme) : weight_params(weights, axis, scheme);
}

const RangeMethod& ValueParams::method_of(const Scheme& scheme) {
  auto& method = methods_[&scheme];
  if (method == nullptr) method = ranges::table().make(scheme.range_method, scheme.range_options);
  return *method;
}

}  // namespace quasar::quant
