#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/sensitivity/loss.hpp"

namespace quasar::tune::losses {
namespace {

class CrossEntropy final : public Loss {
 public:
  bool needs_labels() const override { return true; }
  bool takes_any_size() const override { return true; }
  double of(const Tensor& output, const Tensor&, std::optional<int64_t> label) const override {
    const std::vector<double> q = probabilities(output.as<float>());
    if (*label < 0 || static_cast<size_t>(*label) >= q.size())
      throw Error("loss cross_entropy: label " + std::to_string(*label) + " is none of the model's " + std::to_string(q.size()) +
                  " classes; is label_offset right?");
    return -std::log(at_least_tiny(q[static_cast<size_t>(*label)]));
  }
};

}  // namespace

Entry<Loss> cross_entropy() {
  return {.help = "−log of the label's probability.", .make = make_as<CrossEntropy, Loss>};
}

}  // namespace quasar::tune::losses
