#include "quasar/quant/codes/gram_errors.hpp"

#include <algorithm>

#include "quasar/quant/codes/gram_row.hpp"
#include "quasar/quant/codes/vectors.hpp"

namespace quasar::quant {

std::vector<int32_t> nearest_codes(const GramProblem& problem) {
  std::vector<int32_t> codes(problem.weights.size());
  for (size_t output = 0; output < problem.outputs; output++)
    GramRow(problem, output).nearest_codes(codes.data() + output * problem.inputs);
  return codes;
}

std::vector<double> errors(const GramProblem& problem, std::span<const int32_t> codes) {
  std::vector<double> out(problem.outputs), values(problem.inputs);
  for (size_t output = 0; output < problem.outputs; output++) {
    const GramRow row(problem, output);
    for (size_t j = 0; j < problem.inputs; j++) values[j] = row.value(j, codes[output * problem.inputs + j]);
    double sum = problem.power[output] - 2 * dot(problem.inputs, values.data(), problem.cross.data() + output * problem.inputs);
    for (size_t j = 0; j < problem.inputs; j++)
      sum += values[j] * dot(problem.inputs, values.data(), problem.gram.data() + j * problem.inputs);
    out[output] = std::max(sum, 0.0);
  }
  return out;
}

std::vector<double> damped_errors(const GramProblem& problem, std::span<const int32_t> codes, std::vector<double> errors) {
  for (size_t output = 0; output < problem.outputs; output++) {
    const GramRow row(problem, output);
    for (size_t j = 0; j < problem.inputs; j++) {
      const double change = row.value(j, codes[output * problem.inputs + j]) - row.weight(j);
      errors[output] += problem.damping * change * change;
    }
  }
  return errors;
}

}  // namespace quasar::quant
