#include "quasar/quant/codes/gram_factor.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <numeric>

#include "quasar/quant/codes/vectors.hpp"

namespace quasar::quant {

GramFactor::GramFactor(const Square& gram, size_t inputs, bool by_activation) : order_(inputs) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  std::iota(order_.begin(), order_.end(), size_t{0});
  if (by_activation) std::ranges::stable_sort(order_, [&](size_t i, size_t j) { return gram.row(i)[i] < gram.row(j)[j]; });
  const auto n = static_cast<Eigen::Index>(inputs);
  Matrix ordered(n, n);
  for (size_t i = 0; i < inputs; i++) {
    for (size_t j = 0; j < inputs; j++)
      ordered(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = gram.row(order_[i])[order_[j]];
  }
  const Eigen::LLT<Matrix> factorization(ordered);
  if (factorization.info() != Eigen::Success) return;
  factor_ = Square(inputs);
  for (size_t i = 0; i < inputs; i++) std::copy_n(factorization.matrixLLT().data() + i * inputs, i + 1, factor_.row(i));
}

// L v = r, then Lᵀ u = v.
std::vector<std::vector<double>> GramFactor::solve(const std::vector<const double*>& targets) const {
  const size_t inputs = order_.size();
  std::vector<std::vector<double>> out(targets.size(), std::vector<double>(inputs));
  for (size_t first = 0; first < inputs; first += block) forward(targets, first, std::min(first + block, inputs), out);
  Backward backward(*this, out);
  while (backward.next()) {
    for (size_t i = backward.last(); i-- > backward.first();) {
      for (size_t t = 0; t < out.size(); t++) {
        out[t][i] /= diagonal(i);
        backward.add(t, i, -out[t][i]);
      }
    }
  }
  return out;
}

// The rows first … last - 1 of L v = r. `first` is a multiple of 8, as the partial sums of dot() are.
void GramFactor::forward(const std::vector<const double*>& targets, size_t first, size_t last,
                         std::vector<std::vector<double>>& out) const {
  constexpr size_t stretch = 128;  // of all outputs, in the first-level cache
  std::array<double, together * block * 8> sums{};
  const size_t rows = last - first;
  for (size_t from = 0; from < first; from += stretch) {
    const double* solved[together];
    for (size_t t = 0; t < out.size(); t++) solved[t] = out[t].data() + from;
    add_partial_dots(std::min(stretch, first - from), rows, out.size(), factor_.row(first) + from,
                     static_cast<size_t>(factor_.stride()), solved, sums.data());
  }
  for (size_t i = first; i < last; i++) {
    for (size_t t = 0; t < out.size(); t++) {
      const double known = finish_dot(sums.data() + (t * rows + i - first) * 8, first, i, factor_.row(i), out[t].data());
      out[t][i] = (targets[t][order_[i]] - known) / diagonal(i);
    }
  }
}

GramFactor::Backward::Backward(const GramFactor& factor, std::vector<std::vector<double>>& vectors)
    : factor_(factor), vectors_(vectors), first_(factor.order_.size()), last_(first_) {}

bool GramFactor::Backward::next() {
  const double* factors[together];
  double* to[together];
  for (size_t t = 0; t < vectors_.size(); t++) {
    factors[t] = factors_[t];
    to[t] = vectors_[t].data();
  }
  if (last_ > first_)
    add_rows(first_, last_ - first_, vectors_.size(), factors, factor_.factor_.row(last_ - 1), -factor_.factor_.stride(), to);
  last_ = first_;
  first_ -= last_ % block == 0 ? std::min(block, last_) : last_ % block;
  return last_ > 0;
}

void GramFactor::Backward::add(size_t vector, size_t i, double a) {
  factors_[vector][last_ - 1 - i] = a;
  add_scaled(i - first_, a, factor_.factor_.row(i) + first_, vectors_[vector].data() + first_);
}

}  // namespace quasar::quant
