#include "quasar/tune/self_comparison.hpp"

#include <algorithm>
#include <iterator>

#include "quasar/base/names.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/quant/npu/npu.hpp"

namespace quasar::tune {

std::vector<std::string> blind_without_reference(const graph::Model& model, const std::vector<std::string>& metrics) {
  std::vector<std::string> blind;
  if (!quant::is_quantized(model)) return blind;
  std::ranges::copy_if(metrics, std::back_inserter(blind),
                       [](const auto& name) { return eval::make_metric(name)->compares_to_float(); });
  return blind;
}

std::string comparison_with_itself(const std::vector<std::string>& blind) {
  if (blind.empty()) return "";
  return "the model is quantized, and no reference is given: " + joined(blind) + (blind.size() == 1 ? " compares" : " compare") +
         " it with itself; give the float model as reference";
}

}  // namespace quasar::tune
