#include "quasar/eval/metric.hpp"

#include <cmath>
#include <iostream>

#include "quasar/api/evaluate.hpp"

using namespace quasar;

// The largest difference of any output.
class Largest final : public eval::Metric {
 public:
  eval::Direction direction() const override { return eval::Direction::minimize; }
  double of(const eval::Pair& sample, const eval::Context&) const override {
    double largest = 0;
    for (size_t i = 0; i < sample.reference.size(); ++i)
      largest = std::max(largest, std::abs(double(sample.reference[i]) - sample.candidate[i]));
    return largest;
  }
};

int main() {
  // The name is known for as long as the registration lives: here, in jobs, and in messages.
  const Registration<eval::Metric> registration(eval::metrics::table(), "largest",
                                                {.help = "Largest difference.", .make = make_as<Largest, eval::Metric>});
  const Json scores =
      api::evaluate({.model = "digits.onnx", .reference = "digits.onnx", .data = "evaluation.npz", .metrics = {"largest"}});
  std::cout << "against itself: " << scores["metrics"]["largest"]["value"] << "\n";
}
