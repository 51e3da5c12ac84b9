#include "quasar/stats/channels.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "quasar/base/error.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/graph/tensor.hpp"
#include "quasar/runtime/observed_session.hpp"
#include "quasar/stats/gram.hpp"

namespace quasar::stats {
namespace {

class ChannelProducts {
 public:
  // `block`: channels of one block.
  ChannelProducts(size_t channels, size_t block);

  // Values whose last axis counts the channels; in a fixed order of tensors the sums do not depend on the number of threads.
  void add(std::span<const Tensor* const> tensors, size_t threads);

  // By block, [channels of the block, the same] each.
  std::vector<double> means() const;

 private:
  size_t channels_, block_, count_ = 0;
  std::vector<double> sums_;  // of each block the part below its diagonal
};

constexpr size_t most_columns = 4096;  // transposed at a time
constexpr size_t task_rows = 48;

ChannelProducts::ChannelProducts(size_t channels, size_t block) : channels_(channels), block_(std::max<size_t>(block, 1)) {
  for (size_t first = 0; first < channels; first += block_) {
    const size_t size = std::min(block_, channels - first);
    sums_.resize(sums_.size() + size * size);
  }
}

void ChannelProducts::add(std::span<const Tensor* const> tensors, size_t threads) {
  std::vector<const float*> columns;
  for (const Tensor* tensor : tensors) {
    const float* const values = tensor->as<float>().data();
    for (size_t i = 0; i < tensor->count() / channels_; i++) columns.push_back(values + i * channels_);
  }
  const size_t blocks = (channels_ + block_ - 1) / block_, tasks = (block_ + task_rows - 1) / task_rows;
  std::vector<float> rows;
  for (size_t from = 0; from < columns.size(); from += most_columns) {
    const size_t count = std::min(most_columns, columns.size() - from);
    rows.resize(channels_ * count);
    parallel_for((channels_ + task_rows - 1) / task_rows, threads, [&](size_t task) {
      const size_t last = std::min(channels_, (task + 1) * task_rows);
      for (size_t p = 0; p < count; p++) {
        for (size_t c = task * task_rows; c < last; c++) rows[c * count + p] = columns[from + p][c];
      }
    });
    parallel_for(blocks * tasks, threads, [&](size_t task) {
      const size_t first = task / tasks * block_, size = std::min(block_, channels_ - first), row = task % tasks * task_rows;
      if (row >= size) return;
      const size_t own = std::min(task_rows, size - row);
      const Rows all{rows.data() + first * count, count, row + own};
      add_products(all.from(row, own), all, count, sums_.data() + first * block_ + row * size, size);
    });
    count_ += count;
  }
}

std::vector<double> ChannelProducts::means() const {
  std::vector<double> out(sums_.size());
  const double share = 1 / static_cast<double>(std::max<size_t>(count_, 1));
  for (size_t first = 0; first < channels_; first += block_) {
    const size_t size = std::min(block_, channels_ - first);
    const double* const sums = sums_.data() + first * block_;
    double* const to = out.data() + first * block_;
    for (size_t i = 0; i < size; i++) {
      for (size_t j = 0; j <= i; j++) to[i * size + j] = to[j * size + i] = share * sums[i * size + j];
    }
  }
  return out;
}

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

size_t input_number(const graph::Model& model, const std::string& name) {
  const auto found = std::ranges::find(model.inputs, name, &graph::Value::name);
  return static_cast<size_t>(found - model.inputs.begin());
}

}  // namespace

void ChannelAccumulator::add(const Tensor& sample, const std::string& name) {
  if (sample.type() != DataType::float32)
    throw Error("channels are observed of float32 values only, but '" + name + "' is " + std::string(name_of(sample.type())));
  const auto rank = static_cast<int>(sample.shape().size());
  const int at = axis_ < 0 ? axis_ + rank : axis_;
  ChannelAccumulator one(axis_);
  if (at < 0 || at >= rank) {
    one.steady_ = false;
    return add(one);
  }
  if (sample.empty()) return;  // a picture in which nothing was found says nothing
  const auto split = sample.shape().begin() + at;
  const auto channels = static_cast<size_t>(*split);
  const size_t inner = count_of(Shape(split + 1, sample.shape().end())), outer = sample.count() / channels / inner;
  const auto values = sample.as<float>();
  auto& [low, high, mean, products, block] = one.sums_;
  low.resize(channels);
  mean.resize(channels);
  one.count_ = inner * outer;
  for (size_t c = 0; c < channels; c++) low[c] = values[c * inner];
  high = low;
  for (size_t o = 0; o < outer; o++) {
    for (size_t c = 0; c < channels; c++) {
      double sum = 0;
      add_run(values.subspan((o * channels + c) * inner, inner), low[c], high[c], sum);
      mean[c] += sum;
    }
  }
  add(one);
}

void ChannelAccumulator::add(const ChannelAccumulator& other) {
  if (other.count_ == 0 && other.steady_) return;
  if (count_ == 0 && steady_) {
    *this = other;
    return;
  }
  steady_ = steady_ && other.steady_ && sums_.mean.size() == other.sums_.mean.size();
  if (!steady_) return;
  count_ += other.count_;
  for (size_t c = 0; c < sums_.mean.size(); c++) {
    sums_.low[c] = std::min(sums_.low[c], other.sums_.low[c]);
    sums_.high[c] = std::max(sums_.high[c], other.sums_.high[c]);
    sums_.mean[c] += other.sums_.mean[c];
  }
}

std::optional<ChannelStats> ChannelAccumulator::result() const {
  if (!steady_ || count_ == 0) return std::nullopt;
  ChannelStats out = sums_;
  for (auto& mean : out.mean) mean /= static_cast<double>(count_);
  return out;
}

ChannelStatistics collect_channels(const graph::Model& model, const data::Dataset& samples,
                                   const std::map<std::string, int>& axes, const ChannelOptions& options) {
  std::vector<std::string> inner;
  for (const auto& [name, axis] : axes) {
    if (input_number(model, name) == model.inputs.size()) inner.push_back(name);
  }
  std::optional<runtime::ObservedSession> session;
  std::vector<size_t> fed;
  if (!inner.empty()) {
    session.emplace(model, inner);
    for (const auto& input : session->inputs()) fed.push_back(input_number(model, input.name));
  }
  struct Seen {
    std::map<std::string, std::vector<Tensor>> values;  // kept for products only; of a body none, or several
    std::map<std::string, ChannelAccumulator> sums;
  };
  const auto observe = [&](size_t sample) {
    const data::Sample given = samples.at(sample);
    std::vector<Tensor> inputs;
    for (const size_t input : fed) inputs.push_back(given.at(input));
    Seen seen;
    const auto look = [&](const std::string& name, const Tensor& value) {
      seen.sums.try_emplace(name, axes.at(name)).first->second.add(value, name);
      if (options.block == 0) return;
      seen.values[name].push_back(Tensor::copy(value.type(), value.shape(), value.bytes().data(), value.bytes().size()));
    };
    if (session) session->run(inputs, [&](size_t number, const Tensor& value) { look(inner[number], value); });
    for (const auto& [name, axis] : axes) {
      if (const size_t input = input_number(model, name); input < model.inputs.size()) look(name, given.at(input));
    }
    return seen;
  };
  const size_t count = options.samples == 0 ? samples.size() : std::min(options.samples, samples.size());
  constexpr size_t chunk = 16;
  std::map<std::string, ChannelAccumulator> total;
  std::map<std::string, ChannelProducts> products;
  for (size_t from = 0; from < count; from += chunk) {
    std::vector<Seen> parts(std::min(chunk, count - from));
    parallel_for(parts.size(), options.threads, [&](size_t i) { parts[i] = observe(from + i); });
    for (const auto& part : parts) {
      for (const auto& [name, sums] : part.sums) total.try_emplace(name, axes.at(name)).first->second.add(sums);
    }
    for (const auto& [name, sums] : total) {
      if (options.block == 0 || sums.channels() == 0) continue;
      std::vector<const Tensor*> tensors;
      for (const auto& part : parts) {
        const auto found = part.values.find(name);
        if (found == part.values.end()) continue;
        for (const Tensor& value : found->second) tensors.push_back(&value);
      }
      products.try_emplace(name, sums.channels(), options.block).first->second.add(tensors, options.threads);
    }
  }
  ChannelStatistics out;
  for (const auto& [name, sums] : total) {
    auto seen = sums.result();
    if (!seen) continue;
    out[name] = *std::move(seen);
    if (const auto found = products.find(name); found != products.end()) {
      out[name].products = found->second.means();
      out[name].block = options.block;
    }
  }
  return out;
}

}  // namespace quasar::stats
