#include "quasar/quant/codes/gram_factor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "quasar/base/parallel.hpp"
#include "quasar/quant/codes/vectors.hpp"

namespace quasar::quant {

namespace {

constexpr size_t panel = 64;         // columns that are finished together
constexpr size_t side_by_side = 32;  // rows that one task works on

// Row i of L between the columns first … last − 1, of which the earlier rows are known and earlier columns taken off.
void finish_row(Square& factor, size_t i, size_t first, size_t last) {
  double* const row = factor.row(i) + first;
  for (size_t j = first; j < last; j++)
    row[j - first] = (row[j - first] - dot(j - first, row, factor.row(j) + first)) / factor.row(j)[j];
}

// -> false: the matrix is not positive definite
bool finish_diagonal(Square& factor, size_t first, size_t last) {
  for (size_t i = first; i < last; i++) {
    finish_row(factor, i, first, i);
    double* const row = factor.row(i) + first;
    const double rest = row[i - first] - dot(i - first, row, row);
    if (!(rest > 0)) return false;
    row[i - first] = std::sqrt(rest);
  }
  return true;
}

// Takes what the columns first … last − 1 explain off the rows and columns behind them.
void take_off(Square& factor, size_t first, size_t last, size_t inputs, size_t threads) {
  const size_t left = inputs - last, columns = last - first, tasks = (left + side_by_side - 1) / side_by_side;
  const auto rows_of = [&](size_t task) {
    const size_t from = last + task * side_by_side;
    return std::pair{from, std::min(from + side_by_side, inputs)};
  };
  std::vector<double> across(columns * left);  // the finished columns, turned
  parallel_for(tasks, threads, [&](size_t task) {
    const auto [from, to] = rows_of(task);
    for (size_t i = from; i < to; i++) {
      finish_row(factor, i, first, last);
      for (size_t j = 0; j < columns; j++) across[j * left + i - last] = factor.row(i)[first + j];
    }
  });
  parallel_for(tasks, threads, [&](size_t task) {
    const auto [from, to] = rows_of(task);
    double negative[side_by_side][panel];
    const double* factors[side_by_side];
    double* rows[side_by_side];
    for (size_t i = from; i < to; i++) {
      for (size_t j = 0; j < columns; j++) negative[i - from][j] = -factor.row(i)[first + j];
      factors[i - from] = negative[i - from];
      rows[i - from] = factor.row(i) + last;
    }
    add_rows(to - last, columns, to - from, factors, across.data(), static_cast<std::ptrdiff_t>(left), rows);
  });
}

}  // namespace

// Cholesky's factorization, a panel of columns at a time: G. H. Golub, C. F. Van Loan, Matrix Computations, 4.2.
GramFactor::GramFactor(const Square& gram, size_t inputs, bool by_activation, size_t threads) : order_(inputs) {
  std::iota(order_.begin(), order_.end(), size_t{0});
  if (by_activation) std::ranges::stable_sort(order_, [&](size_t i, size_t j) { return gram.row(i)[i] < gram.row(j)[j]; });
  Square factor(inputs);
  parallel_for((inputs + side_by_side - 1) / side_by_side, threads, [&](size_t task) {
    for (size_t i = task * side_by_side; i < std::min((task + 1) * side_by_side, inputs); i++) {
      for (size_t j = 0; j < inputs; j++) factor.row(i)[j] = gram.row(order_[i])[order_[j]];
      if (factor.row(i)[i] == 0) factor.row(i)[i] = 1;  // an input that is always zero takes nothing over, as in GPTQ
    }
  });
  for (size_t first = 0; first < inputs; first += panel) {
    const size_t last = std::min(first + panel, inputs);
    if (!finish_diagonal(factor, first, last)) return;
    if (last < inputs) take_off(factor, first, last, inputs, threads);
  }
  factor_ = std::move(factor);
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
