// The relative error of the worst part of the outputs: max over parts p of ‖f_p − q_p‖ / N_p, where N_p is the mean over all
// samples of ‖f_p‖: a part that is all zeros has the error 1. Parts are slices of different size (eval/parts.hpp); an output
// whose slices are alike is one part.
#include "quasar/eval/parts.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/eval/metric.hpp"
#include "quasar/eval/sums.hpp"

namespace quasar::eval::metrics {
namespace {

class WorstPart : public Metric {
 public:
  Direction direction() const override { return Direction::minimize; }
  std::optional<double> best_possible() const override { return 0; }

  double of(const Pair& x, const Context& context) const override {
    if (context.parts == nullptr) return relative(squared_distance(x.reference, x.candidate), norm(x.reference));
    const auto distances = context.parts->squared_distances(x);
    double worst = 0;
    for (size_t i = 0; i < distances.size(); ++i) worst = std::max(worst, relative(distances[i], context.parts->all()[i].norm));
    return worst;
  }

 private:
  static double norm(std::span<const float> values) { return std::sqrt(dot(values, values)); }
  // Where the float model gives nothing but zeros there is nothing to compare with.
  static double relative(double squared, double norm) { return norm > 0 ? std::sqrt(squared) / norm : 0; }
};

}  // namespace

Entry<Metric> parts() {
  return {.help = "relative error of the worst part of the outputs", .make = make_as<WorstPart, Metric>};
}

}  // namespace quasar::eval::metrics
