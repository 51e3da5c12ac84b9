// Cosine of embeddings: of an output [1, length, size], the vectors of all places are averaged (mean) or the first one is taken
// (cls); then f·q / (‖f‖ ‖q‖), 0 for a zero norm.
#include <cmath>

#include "quasar/eval/metric.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class EmbeddingCos : public Metric {
 public:
  explicit EmbeddingCos(const Options& options) : mean_(options.text("pooling") == "mean") {}
  Direction direction() const override { return Direction::maximize; }
  std::optional<double> best_possible() const override { return 1; }

  double of(const Pair& x, const Context&) const override {
    const auto f = embedding(x.reference, x.layout), q = embedding(x.candidate, x.layout);
    const double norms = std::sqrt(dot(f, f)) * std::sqrt(dot(q, q));
    return norms == 0 ? 0 : std::min(1.0, dot(f, q) / norms);
  }

 private:
  std::vector<float> embedding(std::span<const float> values, const Layout* layout) const {
    if (layout == nullptr || layout->outputs.empty() || layout->outputs.front().size() < 2) return {values.begin(), values.end()};
    const Shape& shape = layout->outputs.front();
    const auto size = static_cast<size_t>(shape.back());
    const size_t places = size == 0 ? 0 : count_of(shape) / size;
    std::vector<double> sums(size);
    for (size_t place = 0; place < (mean_ ? places : 1); ++place) {
      for (size_t k = 0; k < size; ++k) sums[k] += values[place * size + k];
    }
    std::vector<float> out;
    for (const double sum : sums) out.push_back(static_cast<float>(sum / static_cast<double>(mean_ ? places : 1)));
    return out;
  }

  bool mean_;
};

}  // namespace

Entry<Metric> embedding_cos() {
  return {.help = "cosine of embeddings, pooled over the places of an output [1,length,size]",
          .make = make_as<EmbeddingCos, Metric>,
          .options = {{.name = "pooling",
                       .fallback = "mean",
                       .help = "mean: the mean of all places; cls: the first place",
                       .choices = {"mean", "cls"}}}};
}

}  // namespace quasar::eval::metrics
