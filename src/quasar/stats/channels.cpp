#include "quasar/stats/channels.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "quasar/base/error.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/stats/products.hpp"

namespace quasar::stats {
namespace {

// One value's channels so far: sums, and how many values each channel had.
struct Sums {
  ChannelStats seen;  // mean: the sum
  size_t count = 0;
  bool steady = true;  // the same number of channels in every sample
};

// Of values that lie side by side. Eight running sums and extremes, so that the compiler may use vector registers.
void add_run(std::span<const float> values, float& low, float& high, double& sum) {
  constexpr size_t lanes = 8;
  if (values.size() < 2 * lanes) {
    for (const float value : values) {
      low = std::min(low, value);
      high = std::max(high, value);
      sum += value;
    }
    return;
  }
  float lows[lanes], highs[lanes];
  double sums[lanes] = {};
  std::fill_n(lows, lanes, low);
  std::fill_n(highs, lanes, high);
  size_t i = 0;
  for (; i + lanes <= values.size(); i += lanes) {
    for (size_t k = 0; k < lanes; k++) {
      const float value = values[i + k];
      lows[k] = value < lows[k] ? value : lows[k];
      highs[k] = value > highs[k] ? value : highs[k];
      sums[k] += value;
    }
  }
  low = *std::min_element(lows, lows + lanes);
  high = *std::max_element(highs, highs + lanes);
  sum += std::accumulate(sums, sums + lanes, 0.0);
  add_run(values.subspan(i), low, high, sum);
}

Sums sums_of(const Tensor& tensor, int axis, const std::string& name) {
  if (tensor.type() != DataType::float32)
    throw Error("channels are observed of float32 values only, but '" + name + "' is " + std::string(name_of(tensor.type())));
  const auto rank = static_cast<int>(tensor.shape().size());
  const int at = axis < 0 ? axis + rank : axis;
  Sums out;
  if (at < 0 || at >= rank || tensor.empty()) return {.seen = {}, .count = 0, .steady = false};
  const auto split = tensor.shape().begin() + at;
  const auto channels = static_cast<size_t>(*split);
  const size_t inner = count_of(Shape(split + 1, tensor.shape().end())), outer = tensor.count() / channels / inner;
  const auto values = tensor.as<float>();
  out.seen = {std::vector<float>(channels, values[0]), std::vector<float>(channels, values[0]), std::vector<double>(channels)};
  out.count = inner * outer;
  for (size_t c = 0; c < channels; c++) out.seen.low[c] = out.seen.high[c] = values[c * inner];
  for (size_t o = 0; o < outer; o++) {
    for (size_t c = 0; c < channels; c++) {
      double sum = 0;
      add_run(values.subspan((o * channels + c) * inner, inner), out.seen.low[c], out.seen.high[c], sum);
      out.seen.mean[c] += sum;
    }
  }
  return out;
}

void merge(Sums& into, const Sums& other) {
  if (into.count == 0 && into.steady) {
    into = other;
    return;
  }
  into.steady = into.steady && other.steady && into.seen.mean.size() == other.seen.mean.size();
  if (!into.steady) return;
  into.count += other.count;
  for (size_t c = 0; c < into.seen.mean.size(); c++) {
    into.seen.low[c] = std::min(into.seen.low[c], other.seen.low[c]);
    into.seen.high[c] = std::max(into.seen.high[c], other.seen.high[c]);
    into.seen.mean[c] += other.seen.mean[c];
  }
}

size_t input_number(const graph::Model& model, const std::string& name) {
  const auto found = std::ranges::find(model.inputs, name, &graph::Value::name);
  return static_cast<size_t>(found - model.inputs.begin());
}

}  // namespace

ChannelStatistics collect_channels(const graph::Model& model, const data::Dataset& samples,
                                   const std::map<std::string, int>& axes, const ChannelOptions& options) {
  std::vector<std::string> inner;
  for (const auto& [name, axis] : axes) {
    if (input_number(model, name) == model.inputs.size()) inner.push_back(name);
  }
  std::optional<runtime::Session> session;
  std::vector<size_t> fed;
  if (!inner.empty()) {
    session.emplace(runtime::tapped(model, inner));
    for (const auto& input : session->inputs()) fed.push_back(input_number(model, input.name));
  }
  struct Seen {
    std::map<std::string, Tensor> values;  // kept for products only
    std::map<std::string, Sums> sums;
  };
  const auto observe = [&](size_t sample) {
    const data::Sample given = samples.at(sample);
    std::vector<Tensor> inputs, outputs;
    for (const size_t input : fed) inputs.push_back(given.at(input));
    if (session) outputs = session->run(inputs);
    Seen seen;
    for (size_t i = 0; i < inner.size(); i++) seen.values[inner[i]] = std::move(outputs[i]);
    for (const auto& [name, axis] : axes) {
      if (!seen.values.contains(name)) seen.values[name] = given.at(input_number(model, name));
      seen.sums[name] = sums_of(seen.values[name], axis, name);
    }
    if (options.block == 0) seen.values.clear();
    return seen;
  };
  const size_t count = options.samples == 0 ? samples.size() : std::min(options.samples, samples.size());
  constexpr size_t chunk = 16;
  std::map<std::string, Sums> total;
  std::map<std::string, ChannelProducts> products;
  for (size_t from = 0; from < count; from += chunk) {
    std::vector<Seen> parts(std::min(chunk, count - from));
    parallel_for(parts.size(), options.threads, [&](size_t i) { parts[i] = observe(from + i); });
    for (const auto& part : parts) {
      for (const auto& [name, sums] : part.sums) merge(total[name], sums);
    }
    for (const auto& [name, sums] : total) {
      if (options.block == 0 || !sums.steady || sums.seen.mean.empty()) continue;
      std::vector<const Tensor*> tensors;
      for (const auto& part : parts) tensors.push_back(&part.values.at(name));
      products.try_emplace(name, sums.seen.mean.size(), options.block).first->second.add(tensors, options.threads);
    }
  }
  ChannelStatistics out;
  for (auto& [name, sums] : total) {
    if (!sums.steady || sums.count == 0) continue;
    for (auto& mean : sums.seen.mean) mean /= static_cast<double>(sums.count);
    out[name] = std::move(sums.seen);
    if (const auto found = products.find(name); found != products.end()) {
      out[name].products = found->second.means();
      out[name].block = options.block;
    }
  }
  return out;
}

}  // namespace quasar::stats
