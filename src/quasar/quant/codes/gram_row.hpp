// What one output of a GramProblem may have as codes, and what they are worth.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "quasar/quant/codes/code_limits.hpp"
#include "quasar/quant/codes/rounding.hpp"

namespace quasar::quant {

// One output's part of the problem: the grid of each of its inputs.
class GramRow {
 public:
  GramRow(const GramProblem& problem, size_t output)
      : problem_(problem), weights_(problem.weights.data() + output * problem.inputs) {
    const size_t blocks = problem.blocks(), block = problem.block == 0 ? std::max<size_t>(problem.inputs, 1) : problem.block;
    scales_.reserve(problem.inputs);
    zero_points_.reserve(problem.inputs);
    for (size_t j = 0; j < problem.inputs; j++) {
      scales_.push_back(problem.scales[output * blocks + j / block]);
      zero_points_.push_back(problem.zero_points[output * blocks + j / block]);
    }
  }

  // The input that shares a sum of 16 bits with this one.
  std::optional<size_t> partner(size_t j) const {
    if (problem_.partners.empty() || problem_.partners[j] >= problem_.inputs) return std::nullopt;
    return problem_.partners[j];
  }
  int32_t pair() const { return problem_.pair; }

  // The codes that input j may have beside this one of its partner (0: whatever the partner has).
  std::pair<int32_t, int32_t> beside(size_t j, int32_t other) const {
    int32_t least = problem_.low, most = problem_.high;
    if (problem_.partners.empty()) return {least, most};
    if (problem_.partners[j] == GramProblem::apart)
      return {std::max(least, -problem_.pair / 2), std::min(most, problem_.pair / 2)};
    if (other > 0) most = std::min(most, problem_.pair - other);
    if (other < 0) least = std::max(least, -problem_.pair - other);
    return {least, most};
  }

  double weight(size_t j) const { return static_cast<double>(weights_[j]); }
  double scale(size_t j) const { return scales_[j]; }
  double value(size_t j, int32_t code) const { return scales_[j] * (code - zero_points_[j]); }
  int32_t nearest(size_t j, double wanted, int32_t least, int32_t most) const {
    const double code = std::nearbyint(wanted / scales_[j]) + zero_points_[j];
    return static_cast<int32_t>(std::clamp(code, double(least), double(most)));
  }
  int32_t nearest(size_t j, double wanted) const { return nearest(j, wanted, problem_.low, problem_.high); }

  // The nearest codes of all inputs that keep within the limits of pairs.
  void nearest_codes(int32_t* codes) const {
    for (size_t j = 0; j < problem_.inputs; j++) codes[j] = nearest(j, weight(j));
    for (size_t j = 0; j < problem_.partners.size(); j++) {
      if (const auto other = partner(j); other && j < *other) keep_pair(codes[j], codes[*other], problem_.pair);
      const auto [least, most] = beside(j, 0);
      codes[j] = std::clamp(codes[j], least, most);
    }
  }

  // The codes below and above the weight.
  std::pair<int32_t, int32_t> neighbours(size_t j) const {
    const double below = std::floor(weight(j) / scales_[j]) + zero_points_[j];
    const auto within = [&](double code) {
      return static_cast<int32_t>(std::clamp(code, double(problem_.low), double(problem_.high)));
    };
    return {within(below), within(below + 1)};
  }

 private:
  const GramProblem& problem_;
  const float* weights_;
  std::vector<double> scales_;
  std::vector<int32_t> zero_points_;
};

}  // namespace quasar::quant
