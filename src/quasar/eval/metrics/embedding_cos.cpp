// Cosine of embeddings: of an output [1, length, size], the vectors of all places are averaged (mean), weighted by the input that
// masks places, or the first one is taken (cls); then f·q / (‖f‖ ‖q‖), 0 for a zero norm. Other outputs ([1, size], [1, size, 1,
// 1]) are one vector.
#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class EmbeddingCos : public Metric {
 public:
  explicit EmbeddingCos(const Options& options)
      : mean_(options.text("pooling") == "mean"), mask_(options.text("mask")), asked_(options.given("mask")) {}
  Direction direction() const override { return Direction::maximize; }
  std::optional<double> best_possible() const override { return 1; }

  std::vector<WantedInput> looks_at() const override {
    if (!mean_ || mask_ == "none") return {};
    return {{mask_, "mask", asked_ ? "none: all places count" : ""}};
  }

  double of(const Pair& x, const Context&) const override {
    const std::vector<double> weights = weights_of(x);
    const auto f = embedding(x.reference, x.layout, weights), q = embedding(x.candidate, x.layout, weights);
    const double norms = std::sqrt(dot(f, f)) * std::sqrt(dot(q, q));
    return norms == 0 ? 0 : std::min(1.0, dot(f, q) / norms);
  }

 private:
  // Of the places; empty: all alike.
  std::vector<double> weights_of(const Pair& x) const {
    if (looks_at().empty() || x.inputs == nullptr) return {};
    const auto found = x.inputs->find(mask_);
    return found == x.inputs->end() ? std::vector<double>() : to_doubles(found->second);
  }

  std::vector<float> embedding(std::span<const float> values, const Layout* layout, const std::vector<double>& weights) const {
    if (layout == nullptr || layout->outputs.empty()) return {values.begin(), values.end()};
    const Shape& shape = layout->outputs.front();
    const bool one_vector = shape.size() > 3 || (shape.size() == 3 && shape.back() == 1 && weights.empty());
    if (one_vector) return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count_of(shape))};
    const auto size = shape.empty() ? size_t{1} : static_cast<size_t>(shape.back());
    const size_t places = size == 0 ? 0 : count_of(shape) / size;
    if (places < 2) return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(places * size)};  // pooled already
    if (!weights.empty() && weights.size() != places)
      throw Error("metric embedding_cos: the input '" + mask_ + "' masks " + std::to_string(weights.size()) +
                  " places, but the output " + to_string(shape) + " has " + std::to_string(places));
    std::vector<double> sums(size);
    double total = 0;
    for (size_t place = 0; place < (mean_ ? places : 1); ++place) {
      const double weight = weights.empty() ? 1 : weights[place];
      total += weight;
      for (size_t k = 0; k < size; ++k) sums[k] += weight * values[place * size + k];
    }
    std::vector<float> out;
    for (const double sum : sums) out.push_back(static_cast<float>(total == 0 ? 0 : sum / total));
    return out;
  }

  bool mean_;
  std::string mask_;
  bool asked_;
};

}  // namespace

Entry<Metric> embedding_cos() {
  return {
      .help = "cosine of embeddings, pooled over the places of an output [1,length,size]",
      .make = make_as<EmbeddingCos, Metric>,
      .options = {{.name = "pooling",
                   .fallback = "mean",
                   .help = "mean: the mean of all places; cls: the first place",
                   .choices = {"mean", "cls"}},
                  {"mask", "attention_mask",
                   "the model's input with a weight for each place, 0 for padding, where it has one; none: all places count"}}};
}

}  // namespace quasar::eval::metrics
