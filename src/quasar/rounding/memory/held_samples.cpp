#include "quasar/rounding/memory/held_samples.hpp"

namespace quasar::tune {

size_t bytes_of(const data::Sample& sample) {
  size_t bytes = 0;
  for (const Tensor& tensor : sample) bytes += tensor.bytes().size();
  return bytes;
}

HeldSamples::HeldSamples(data::DatasetPtr all, size_t limit)
    : View(std::move(all)), limit_(limit), held_(View::size()), shapes_(View::size()) {}

data::Sample HeldSamples::at(size_t index) const {
  {
    const std::lock_guard lock(guard_);
    if (held_.at(index)) return *held_[index];
  }
  data::Sample sample = all().at(index);
  note(index, sample);
  return sample;
}

std::vector<Shape> HeldSamples::shapes(size_t index) const {
  {
    const std::lock_guard lock(guard_);
    if (shapes_.at(index)) return *shapes_[index];
  }
  note(index, all().at(index));
  const std::lock_guard lock(guard_);
  return *shapes_[index];
}

// The first that come stay: those who read go over all samples, each time in the same order, so that the latest would all be
// gone when they are wanted again.
void HeldSamples::note(size_t index, const data::Sample& sample) const {
  const std::lock_guard lock(guard_);
  if (!shapes_[index]) {
    shapes_[index].emplace();
    for (const Tensor& tensor : sample) shapes_[index]->push_back(tensor.shape());
  }
  const size_t bytes = bytes_of(sample);
  if (held_[index] || bytes_ + bytes > limit_) return;
  bytes_ += bytes;
  held_[index] = sample;
}

}  // namespace quasar::tune
