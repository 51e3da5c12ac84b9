// Sums over the elements of tensors whose rows count differently.
#pragma once

#include <vector>

#include "quasar/graph/tensor.hpp"

namespace quasar::tune {

// How much the rows of a tensor count; all the same where there are no weights for them.
class Weighting {
 public:
  Weighting(const Tensor& tensor, std::vector<float> rows) : rows_(std::move(rows)) {
    if (rows_.empty() || tensor.count() % rows_.size() != 0) rows_.assign(1, 1);
    columns_ = tensor.count() / rows_.size();
  }
  size_t rows() const { return rows_.size(); }
  size_t columns() const { return columns_; }
  double of(size_t row) const { return static_cast<double>(rows_[row]); }

 private:
  std::vector<float> rows_;
  size_t columns_ = 0;
};

// Σ weight · (a − b)², of floats. Where a has another number of values than b, all of b is the error.
double squared_distance(const Tensor& a, const Tensor& b, const Weighting& weighting);

// Σ weight · (value − mean)², of floats.
double spread(const Tensor& tensor, const Weighting& weighting);

}  // namespace quasar::tune
