// Kullback-Leibler divergence Σ p·ln(p / r) of the softmax-normalized outputs, p of the float model, r of the candidate.
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
    return are_probabilities(x.reference) ? of_probabilities(x) : of_logits(x);
  }

 private:
  static bool are_probabilities(std::span<const float> values) {
    bool negative = false;
    for (const float value : values) negative = negative || value < 0;
    const double total = sum(values.size(), [&](size_t i) { return static_cast<double>(values[i]); });
    return !negative && std::abs(total - 1) <= 1e-3;
  }

  static double of_probabilities(const Pair& x) {
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
  static double of_logits(const Pair& x) {
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
