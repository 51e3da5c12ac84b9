// A network whose BatchNormalization is folded into its layers adds constants (biases) that are as large as the results which it
// was trained to see. Values that are too large by a hundred make the constants vanish, values that are too small leave nothing
// but the constants. Of a classifier the answers say more: under wrong values they are the same for every picture.
#include "quasar/tune/pixel_evidence.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quasar/base/names.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/runtime/prepare.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::tune {
namespace {

constexpr size_t most_pictures = 16;
constexpr size_t least_pictures = 4;    // that answers can differ on
constexpr double least_told = 0.1;      // nats, below which a classifier has learnt nothing that shows
constexpr double enough_of_best = 0.7;  // of what the best values tell
constexpr double most_beside_bias = 2;  // of trained models: 0.06 to 1.3; with the wrong unit 3.9 and more
constexpr double least_beside_bias = 0.02;

// A layer that shows how large its values are meant to be.
struct Anchor {
  const graph::Node* node = nullptr;
  std::string value;              // to look at, channels along axis 1
  std::vector<double> magnitude;  // that its values have beside them, one or one per channel
};

double root_mean_square(const std::vector<double>& values) {
  const double squares = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
  return std::sqrt(squares / static_cast<double>(std::max<size_t>(values.size(), 1)));
}

// The first layer with constants of its own; its weights are trained on what it is fed.
Anchor anchor_of(const graph::Model& model) {
  const auto constant = [&](const graph::Node& node, size_t input) {
    return node.inputs.size() > input ? model.initializer(node.inputs[input]) : nullptr;
  };
  for (const auto& node : model.nodes) {
    if (node.is("BatchNormalization")) {
      const Tensor* variance = constant(node, 4);
      if (variance == nullptr) return {};
      std::vector<double> deviation = to_doubles(*variance);
      for (double& one : deviation) one = std::sqrt(std::max(one, 0.0) + node.real("epsilon", 1e-5F));
      return {&node, node.inputs[0], std::move(deviation)};
    }
    if (!node.is("Conv") && !node.is("Gemm") && !node.is("MatMul")) continue;
    const Tensor* bias = node.is("MatMul") ? nullptr : constant(node, 2);
    if (bias == nullptr || constant(node, 1) == nullptr) continue;  // a BatchNormalization may follow
    const double size = root_mean_square(to_doubles(*bias));
    return size > 0 ? Anchor{&node, node.outputs[0], {size}} : Anchor{};
  }
  return {};
}

// Deviation of each channel over pictures and places, in units of its magnitude; the median of the channels.
double beside(const std::vector<Tensor>& seen, const std::vector<double>& magnitude) {
  const Shape& shape = seen.front().shape();
  if (shape.size() < 2 || shape[1] < 1) return 0;
  const auto channels = static_cast<size_t>(shape[1]);
  std::vector<double> sum(channels), squares(channels);
  size_t count = 0;
  for (const Tensor& tensor : seen) {
    const std::vector<double> values = to_doubles(tensor);
    const auto outer = static_cast<size_t>(tensor.shape()[0]);
    const size_t inner = values.size() / std::max<size_t>(channels * outer, 1);
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t channel = i / std::max<size_t>(inner, 1) % channels;
      sum[channel] += values[i];
      squares[channel] += values[i] * values[i];
    }
    count += outer * inner;
  }
  std::vector<double> out;
  for (size_t c = 0; c < channels; ++c) {
    const double n = static_cast<double>(std::max<size_t>(count, 1)), mean = sum[c] / n;
    out.push_back(std::sqrt(std::max(squares[c] / n - mean * mean, 0.0)) / magnitude[magnitude.size() > 1 ? c : 0]);
  }
  std::ranges::nth_element(out, out.begin() + static_cast<ptrdiff_t>(out.size() / 2));
  return out[out.size() / 2];
}

// The first sample's classes as probabilities; empty: no answer of a classifier.
std::vector<double> probabilities(const Tensor& answer) {
  const Shape& shape = answer.shape();
  const bool classes = shape.size() >= 2 && shape[0] >= 1 && shape[1] >= 2 &&
                       std::all_of(shape.begin() + 2, shape.end(), [](int64_t size) { return size == 1; });
  if (!classes || bits_of(answer.type()) < 16) return {};
  std::vector<double> out = to_doubles(answer);
  out.resize(static_cast<size_t>(shape[1]));
  if (std::ranges::any_of(out, [](double one) { return !std::isfinite(one); })) return {};
  const double sum = std::accumulate(out.begin(), out.end(), 0.0);
  if (std::ranges::all_of(out, [](double one) { return one >= 0; }) && std::abs(sum - 1) < 0.01) return out;
  const double most = std::ranges::max(out);
  double all = 0;
  for (double& one : out) all += one = std::exp(one - most);
  for (double& one : out) one /= all;
  return out;
}

double entropy(const std::vector<double>& p) {
  double out = 0;
  for (const double one : p) out -= one > 0 ? one * std::log(one) : 0;
  return out;
}

double told_by(const std::vector<std::vector<double>>& answers) {
  std::vector<double> mean(answers.front().size());
  double each = 0;
  for (const auto& answer : answers) {
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += answer[i] / static_cast<double>(answers.size());
    each += entropy(answer) / static_cast<double>(answers.size());
  }
  return std::max(entropy(mean) - each, 0.0);
}

// What the outputs were under one of the usual values, by output and picture.
using Seen = std::vector<std::vector<Tensor>>;

Seen run_on(const runtime::Session& session, const data::Dataset& samples, size_t pictures) {
  Seen out(session.outputs().size(), std::vector<Tensor>(pictures));
  parallel_for(pictures, 0, [&](size_t i) {
    auto results = session.run(samples.at(i * samples.size() / pictures));  // from all over the folder
    for (size_t k = 0; k < results.size(); ++k) out[k][i] = std::move(results[k]);
  });
  return out;
}

}  // namespace

std::vector<PixelValues> usual_values(const std::string& color) {
  std::vector<double> mean{123.675, 116.28, 103.53}, deviation{58.395, 57.12, 57.375};
  if (normalized(color) == "bgr") {
    std::ranges::reverse(mean);
    std::ranges::reverse(deviation);
  }
  std::vector<PixelValues> out{
      {"0 to 255", Json::object()}, {"0 to 1", {{"std", 255}}}, {"-1 to 1", {{"mean", 127.5}, {"std", 127.5}}}};
  if (normalized(color) == "gray") return out;
  out.push_back({"ImageNet's mean and deviation", {{"mean", mean}, {"std", deviation}}});
  out.push_back({"0 to 255 without ImageNet's mean", {{"mean", mean}}});
  return out;
}

bool PixelEvidence::is_classifier() const {
  return !told.empty() && pictures >= least_pictures && std::ranges::max(told) >= least_told;
}

bool PixelEvidence::wants_smaller() const {
  return !first_layer.empty() && first_layer.front() > most_beside_bias;
}

// Answers alone would not do: a network of nothing but ReLU is as sure of itself under values that are far too large.
bool PixelEvidence::raw_fits() const {
  if (wants_smaller()) return false;
  if (is_classifier()) return told.front() >= enough_of_best * std::ranges::max(told);
  return !first_layer.empty() && first_layer.front() >= least_beside_bias;
}

std::optional<size_t> PixelEvidence::best(const std::vector<PixelValues>& values) const {
  if (!is_classifier()) return std::nullopt;
  size_t out = 1;
  for (size_t i = 1; i < values.size(); ++i) {
    const bool small = values[i].words.contains("std");
    if ((small || !wants_smaller()) && told[i] > told[out]) out = i;
  }
  return out;
}

PixelEvidence pixel_evidence(const graph::Model& model, const data::RawPictures& source, const std::vector<PixelValues>& values) {
  PixelEvidence out;
  const Anchor anchor = anchor_of(model);
  std::vector<std::string> looked_at;
  for (const auto& output : model.outputs) looked_at.push_back(output.name);
  const bool apart = anchor.node != nullptr && std::ranges::find(looked_at, anchor.value) == looked_at.end();
  if (apart) looked_at.push_back(anchor.value);
  const runtime::Session session(runtime::tapped(model, looked_at));
  const auto anchored =
      static_cast<size_t>(std::ranges::find(looked_at, anchor.node == nullptr ? "" : anchor.value) - looked_at.begin());
  for (const auto& one : values) {
    Json words = source.words;
    words.update(one.words);
    const data::DatasetPtr samples = data::open(words, model.inputs, source.base);
    out.pictures = std::min(most_pictures, samples->size());
    if (out.pictures == 0) return out;
    const Seen seen = run_on(session, *samples, out.pictures);
    if (anchor.node != nullptr) out.first_layer.push_back(beside(seen[anchored], anchor.magnitude));
    for (size_t k = 0; k < model.outputs.size(); ++k) {
      std::vector<std::vector<double>> answers;
      for (const Tensor& answer : seen[k]) answers.push_back(probabilities(answer));
      const bool classes =
          std::ranges::all_of(answers, [&](const auto& answer) { return !answer.empty() && answer.size() == answers[0].size(); });
      if (!classes) continue;
      out.told.push_back(told_by(answers));
      break;
    }
  }
  if (out.told.size() != values.size()) out.told.clear();  // under some the outputs were not finite
  if (anchor.node != nullptr) out.layer = anchor.node->name;
  return out;
}

}  // namespace quasar::tune
