#include <cmath>

#include "quasar/sensitivity/loss.hpp"

namespace quasar::tune::losses {
namespace {

class Kl final : public Loss {
 public:
  double of(const Tensor& output, const Tensor& reference, std::optional<int64_t>) const override {
    const std::vector<double> p = probabilities(reference.as<float>()), q = probabilities(output.as<float>());
    double sum = 0;
    for (size_t i = 0; i < p.size(); i++) {
      if (p[i] > 0) sum += p[i] * std::log(p[i] / at_least_tiny(q[i]));
    }
    return sum;
  }
};

}  // namespace

Entry<Loss> kl() {
  return {.help = "Σ f log(f / y) of the outputs as probabilities.", .make = make_as<Kl, Loss>};
}

}  // namespace quasar::tune::losses
