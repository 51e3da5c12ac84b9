// How many of the first samples fit into a limit.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

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

}  // namespace quasar::tune
