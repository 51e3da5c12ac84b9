#include "quasar/sensitivity/loss.hpp"

namespace quasar::tune::losses {
namespace {

class Mse final : public Loss {
 public:
  double of(const Tensor& output, const Tensor& reference, std::optional<int64_t>) const override {
    const auto f = reference.as<float>(), y = output.as<float>();
    double sum = 0;
    for (size_t i = 0; i < f.size(); i++) sum += (y[i] - f[i]) * static_cast<double>(y[i] - f[i]);
    return sum / static_cast<double>(std::max<size_t>(f.size(), 1));
  }
};

}  // namespace

Entry<Loss> mse() {
  return {.help = "Mean (y − f)² against the float model's outputs f.", .make = make_as<Mse, Loss>};
}

}  // namespace quasar::tune::losses
