// Mean products of the channels of a value, in blocks on the diagonal of its Gram matrix: memory grows with channels × block.
#pragma once

#include <span>
#include <vector>

#include "quasar/graph/tensor.hpp"

namespace quasar::stats {

class ChannelProducts {
 public:
  // `block`: channels of one block.
  ChannelProducts(size_t channels, size_t block);

  // Values whose last axis counts the channels; in a fixed order of tensors the sums do not depend on the number of threads.
  void add(std::span<const Tensor* const> tensors, size_t threads);

  // By block, [channels of the block, the same] each.
  std::vector<double> means() const;

 private:
  size_t channels_, block_, count_ = 0;
  std::vector<double> sums_;  // of each block the part below its diagonal
};

}  // namespace quasar::stats
