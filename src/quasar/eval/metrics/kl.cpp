// Kullback-Leibler divergence Σ p·ln(p / r) of the softmax-normalized outputs, p of the float model, r of the candidate.
// Of one output [1, places, classes] each place is normalized by itself, and the mean over places is taken.
// Float outputs that are probabilities already (none negative, sum 1 within 0.001) are taken as they are, the candidate's too:
// values below 1e-12 count as 1e-12, and both are scaled to the sum 1, so that the divergence is finite and never negative.
#include <algorithm>
#include <cmath>

#include "quasar/eval/metric.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class Kl : public Metric {
 public:
  Direction direction() const override { return Direction::minimize; }
  std::optional<double> best_possible() const override { return 0; }
  double of(const Pair& x, const Context&) const override {
    const size_t classes = classes_of(x), places = classes == 0 ? 0 : x.reference.size() / classes;
    const auto place = [&](size_t i) -> Place {
      return {x.reference.subspan(i * classes, classes), x.candidate.subspan(i * classes, classes)};
    };
    bool probabilities = true;
    for (size_t i = 0; i < places; ++i) probabilities = probabilities && are_probabilities(place(i).reference);
    const double total = sum(places, [&](size_t i) { return probabilities ? of_probabilities(place(i)) : of_logits(place(i)); });
    return places == 0 ? 0 : total / static_cast<double>(places);
  }

 private:
  struct Place {
    std::span<const float> reference, candidate;
  };

  // Values of [batch, size, 1] and of several outputs are one distribution.
  static size_t classes_of(const Pair& x) {
    const size_t all = x.reference.size();
    if (x.layout == nullptr || x.layout->outputs.size() != 1) return all;
    const Shape& shape = x.layout->outputs.front();
    return shape.size() == 3 && shape[2] > 1 && count_of(shape) == all ? static_cast<size_t>(shape[2]) : all;
  }

  static bool are_probabilities(std::span<const float> values) {
    bool negative = false;
    for (const float value : values) negative = negative || value < 0;
    const double total = sum(values.size(), [&](size_t i) { return static_cast<double>(values[i]); });
    return !negative && std::abs(total - 1) <= 1e-3;
  }

  static double of_probabilities(const Place& x) {
    const size_t n = x.reference.size();
    const auto at = [](std::span<const float> values, size_t i) { return std::max(static_cast<double>(values[i]), 1e-12); };
    const double p_sum = sum(n, [&](size_t i) { return at(x.reference, i); });
    const double r_sum = sum(n, [&](size_t i) { return at(x.candidate, i); });
    const double crossed = sum(n, [&](size_t i) {
      const double p = at(x.reference, i);
      return p * std::log(p / at(x.candidate, i));
    });
    return std::max(0.0, crossed / p_sum + std::log(r_sum / p_sum));
  }

  // With logits f, q:  Σ p (f - q) + ln Σ exp q - ln Σ exp f, shifted by the greatest of each.
  static double of_logits(const Place& x) {
    const size_t n = x.reference.size();
    const double f_top = x.reference[arg_max(x.reference)], q_top = x.candidate[arg_max(x.candidate)];
    double f_sum = 0, q_sum = 0, crossed = 0;
    for (size_t i = 0; i < n; ++i) {
      const double f = x.reference[i] - f_top, q = x.candidate[i] - q_top, weight = std::exp(f);
      f_sum += weight;
      q_sum += std::exp(q);
      crossed += weight * (f - q);
    }
    return std::max(0.0, crossed / f_sum + std::log(q_sum / f_sum));
  }
};

}  // namespace

Entry<Metric> kl() {
  return {.help = "Kullback-Leibler divergence of softmax-normalized outputs (probabilities as they are)",
          .make = make_as<Kl, Metric>,
          .aliases = {"kl_divergence"}};
}

}  // namespace quasar::eval::metrics
