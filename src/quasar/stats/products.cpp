#include "quasar/stats/products.hpp"

#include <algorithm>

#include "quasar/base/parallel.hpp"
#include "quasar/stats/gram.hpp"

namespace quasar::stats {
namespace {

constexpr size_t most_columns = 4096;  // transposed at a time
constexpr size_t task_rows = 48;

}  // namespace

ChannelProducts::ChannelProducts(size_t channels, size_t block) : channels_(channels), block_(std::max<size_t>(block, 1)) {
  for (size_t first = 0; first < channels; first += block_) {
    const size_t size = std::min(block_, channels - first);
    sums_.resize(sums_.size() + size * size);
  }
}

void ChannelProducts::add(std::span<const Tensor* const> tensors, size_t threads) {
  std::vector<const float*> columns;
  for (const Tensor* tensor : tensors) {
    const float* const values = tensor->as<float>().data();
    for (size_t i = 0; i < tensor->count() / channels_; i++) columns.push_back(values + i * channels_);
  }
  const size_t blocks = (channels_ + block_ - 1) / block_, tasks = (block_ + task_rows - 1) / task_rows;
  std::vector<float> rows;
  for (size_t from = 0; from < columns.size(); from += most_columns) {
    const size_t count = std::min(most_columns, columns.size() - from);
    rows.resize(channels_ * count);
    parallel_for((channels_ + task_rows - 1) / task_rows, threads, [&](size_t task) {
      const size_t last = std::min(channels_, (task + 1) * task_rows);
      for (size_t p = 0; p < count; p++) {
        for (size_t c = task * task_rows; c < last; c++) rows[c * count + p] = columns[from + p][c];
      }
    });
    parallel_for(blocks * tasks, threads, [&](size_t task) {
      const size_t first = task / tasks * block_, size = std::min(block_, channels_ - first), row = task % tasks * task_rows;
      if (row >= size) return;
      const size_t own = std::min(task_rows, size - row);
      const Rows all{rows.data() + first * count, count, row + own};
      add_products(all.from(row, own), all, count, sums_.data() + first * block_ + row * size, size);
    });
    count_ += count;
  }
}

std::vector<double> ChannelProducts::means() const {
  std::vector<double> out(sums_.size());
  const double share = 1 / static_cast<double>(std::max<size_t>(count_, 1));
  for (size_t first = 0; first < channels_; first += block_) {
    const size_t size = std::min(block_, channels_ - first);
    const double* const sums = sums_.data() + first * block_;
    double* const to = out.data() + first * block_;
    for (size_t i = 0; i < size; i++) {
      for (size_t j = 0; j <= i; j++) to[i * size + j] = to[j * size + i] = share * sums[i * size + j];
    }
  }
  return out;
}

}  // namespace quasar::stats
