#include "quasar/data/fixed_batch.hpp"

#include <algorithm>
#include <cstring>

#include "quasar/data/options.hpp"
#include "quasar/data/view.hpp"

namespace quasar::data {
namespace {

bool has_batch(const graph::Value& input, int64_t batch) {
  return input.shape && input.shape->size() > 1 && input.shape->front() == batch;
}

Tensor copies_of(const Tensor& one, int64_t count) {
  Shape shape = one.shape();
  shape.front() = count;
  const size_t size = one.bytes().size();
  const std::shared_ptr<std::byte[]> bytes(new std::byte[size * static_cast<size_t>(count)]);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) std::memcpy(bytes.get() + i * size, one.bytes().data(), size);
  return {one.type(), std::move(shape), bytes, bytes.get()};
}

class Repeated final : public View {
 public:
  Repeated(DatasetPtr singles, std::vector<bool> has_batch, int64_t batch)
      : View(std::move(singles)), has_batch_(std::move(has_batch)), batch_(batch) {}

  int64_t repeats() const override { return batch_; }

  Sample at(size_t index) const override {
    Sample sample = all().at(index);
    for (size_t i = 0; i < sample.size(); ++i) {
      if (has_batch_[i]) sample[i] = copies_of(sample[i], batch_);
    }
    return sample;
  }

 private:
  std::vector<bool> has_batch_;  // of each input
  int64_t batch_;
};

}  // namespace

int64_t fixed_batch(const std::vector<graph::Value>& inputs) {
  for (const auto& input : inputs) {
    if (input.shape && input.shape->size() > 1 && input.shape->front() > 1) return input.shape->front();
  }
  return 1;
}

std::vector<graph::Value> one_at_a_time(std::vector<graph::Value> inputs, int64_t batch) {
  for (auto& input : inputs) {
    if (has_batch(input, batch)) input.shape->front() = 1;
  }
  return inputs;
}

DatasetPtr repeated(DatasetPtr singles, const std::vector<graph::Value>& inputs, int64_t batch) {
  std::vector<bool> with_batch;
  for (const auto& input : inputs) {
    with_batch.push_back(has_batch(input, batch));
    Shape least = with_batch.back() ? *input.shape : Shape();
    for (int64_t& size : least) size = std::max<int64_t>(size, 1);
    check_room(input, input.type, least);
  }
  return std::make_shared<Repeated>(std::move(singles), std::move(with_batch), batch);
}

}  // namespace quasar::data
