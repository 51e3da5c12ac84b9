// The Cholesky factor of a Gram matrix, H = L Lᵀ, used for several outputs side by side. Every sum keeps the order that it has
// for one output alone, so that results do not depend on how many are taken together.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace quasar::quant {

// A square matrix whose rows begin at lines of the cache, an odd number of lines apart: rows that are read side by side do not
// push each other out of it.
class Square {
 public:
  Square() = default;
  // Elements have no values yet.
  explicit Square(size_t n)
      : stride_(((n + line - 1) / line | 1) * line), values_(std::make_unique_for_overwrite<double[]>(n * stride_ + line)) {
    void* begin = values_.get();
    size_t space = (n * stride_ + line) * sizeof(double);
    begin_ = static_cast<double*>(std::align(line * sizeof(double), n * stride_ * sizeof(double), begin, space));
  }
  Square(const Square&) = delete;
  Square& operator=(const Square&) = delete;
  Square(Square&&) = default;
  Square& operator=(Square&&) = default;

  bool empty() const { return begin_ == nullptr; }
  double* row(size_t i) { return begin_ + i * stride_; }
  const double* row(size_t i) const { return begin_ + i * stride_; }
  std::ptrdiff_t stride() const { return static_cast<std::ptrdiff_t>(stride_); }

 private:
  static constexpr size_t line = 8;
  size_t stride_ = 0;
  std::unique_ptr<double[]> values_;
  double* begin_ = nullptr;
};

class GramFactor {
 public:
  static constexpr size_t together = 32;  // outputs, at most
  static constexpr size_t block = 32;     // inputs: what one of them changes reaches those of its block at once, others later

  // Of H [inputs, inputs] with its rows and columns in the order in which codes are fixed, last first; by_activation: the inputs
  // with the largest H_jj are fixed first. `positive`: H was positive definite; otherwise nothing else may be called. Results do
  // not depend on the number of threads (0: all cores).
  GramFactor(const Square& gram, size_t inputs, bool by_activation, size_t threads);
  bool positive() const { return !factor_.empty(); }

  size_t input(size_t i) const { return order_[i]; }             // which input is the i-th of this order
  double diagonal(size_t i) const { return factor_.row(i)[i]; }  // L_ii

  // u = H⁻¹ r for each of up to `together` vectors r [inputs], which are in the order of the inputs; u is in the factor's.
  std::vector<std::vector<double>> solve(const std::vector<const double*>& targets) const;

  // From the last input to the first: x_m += a_i L_im for all m < i, for several vectors x; within a block of inputs at once, for
  // the rest when the block is done.
  class Backward {
   public:
    Backward(const GramFactor& factor, std::vector<std::vector<double>>& vectors);

    bool next();  // goes to the next block; false: all are done
    size_t first() const { return first_; }
    size_t last() const { return last_; }
    void add(size_t vector, size_t i, double a);

   private:
    const GramFactor& factor_;
    std::vector<std::vector<double>>& vectors_;
    size_t first_, last_;
    double factors_[together][block] = {};
  };

 private:
  void forward(const std::vector<const double*>& targets, size_t first, size_t last, std::vector<std::vector<double>>& out) const;

  std::vector<size_t> order_;
  Square factor_;  // of row i, i + 1 elements count
};

}  // namespace quasar::quant
