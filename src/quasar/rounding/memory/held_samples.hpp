// Samples that stay in memory as far as they fit into a limit.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "quasar/data/view.hpp"

namespace quasar::tune {

// Told of samples one by one, in any order and from several threads; the result does not depend on these. At least one fits.
class Fitting {
 public:
  Fitting(size_t samples, size_t limit) : limit_(limit), count_(samples), bytes_(samples) {}

  // Known not to fit.
  bool is_out(size_t sample) {
    const std::lock_guard lock(guard_);
    return sample >= count_;
  }

  void add(size_t sample, size_t bytes) {
    const std::lock_guard lock(guard_);
    bytes_[sample] = bytes;
    while (known_ < count_ && bytes_[known_]) {
      if (known_ > 0 && sum_ + *bytes_[known_] > limit_) {
        count_ = known_;
      } else {
        sum_ += *bytes_[known_++];
      }
    }
  }

  // After all were told of, but for those that are out.
  size_t count() const { return count_; }
  size_t bytes() const { return sum_; }  // of those

 private:
  const size_t limit_;
  size_t count_, known_ = 0, sum_ = 0;  // known_: samples from the first one on that were told of
  std::vector<std::optional<size_t>> bytes_;
  std::mutex guard_;
};

class HeldSamples final : public data::View {
 public:
  HeldSamples(data::DatasetPtr all, size_t limit);  // bytes
  data::Sample at(size_t index) const override;
  // The shapes of a sample's tensors: known without reading it again.
  std::vector<Shape> shapes(size_t index) const;

 private:
  void note(size_t index, const data::Sample& sample) const;

  const size_t limit_;
  mutable std::mutex guard_;
  mutable size_t bytes_ = 0;
  mutable std::vector<std::optional<data::Sample>> held_;
  mutable std::vector<std::optional<std::vector<Shape>>> shapes_;
};

size_t bytes_of(const data::Sample& sample);

}  // namespace quasar::tune
