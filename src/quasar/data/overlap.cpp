#include "quasar/data/overlap.hpp"

#include <algorithm>
#include <atomic>
#include <set>

#include "quasar/base/hash.hpp"
#include "quasar/data/view.hpp"

namespace quasar::data {
namespace {

std::string content_of(const Sample& sample) {
  std::string text;
  for (const Tensor& tensor : sample) {
    text += std::string(name_of(tensor.type())) + to_string(tensor.shape()) + hash_of(tensor.bytes());
  }
  return hash_of(text);
}

}  // namespace

class WatchedDataset : public View {
 public:
  explicit WatchedDataset(DatasetPtr all) : View(std::move(all)), state_(size()), content_(size()) {}

  Sample at(size_t index) const override {
    Sample sample = all().at(index);
    State unread = State::unread;
    if (state_.at(index).compare_exchange_strong(unread, State::reading)) {
      content_[index] = content_of(sample);
      state_[index].store(State::read);
    }
    return sample;
  }

  std::string content(size_t index) const {
    return state_.at(index).load() == State::read ? content_[index] : content_of(all().at(index));
  }

  // Of the samples that were read so far.
  std::vector<std::string> contents() const {
    std::vector<std::string> out;
    for (size_t i = 0; i < size(); ++i) {
      if (state_[i].load() == State::read) out.push_back(content_[i]);
    }
    return out;
  }

 private:
  enum class State : char { unread, reading, read };
  mutable std::vector<std::atomic<State>> state_;
  mutable std::vector<std::string> content_;
};

std::string content_of(const Dataset& samples, size_t index) {
  const auto* const watched = dynamic_cast<const WatchedDataset*>(&samples);
  return watched != nullptr ? watched->content(index) : content_of(samples.at(index));
}

DatasetPtr OverlapGuard::watch_alone(DatasetPtr samples) const {
  return samples == nullptr ? nullptr : std::make_shared<const WatchedDataset>(std::move(samples));
}

DatasetPtr OverlapGuard::watch(const std::string& split, DatasetPtr samples) {
  if (samples == nullptr) return nullptr;
  auto watched = std::make_shared<const WatchedDataset>(std::move(samples));
  splits_.push_back({split, watched});
  return watched;
}

std::vector<std::string> OverlapGuard::news() {
  std::vector<std::string> out;
  for (size_t b = 1; b < splits_.size(); ++b) {
    const std::vector<std::string> later = splits_[b].samples->contents();
    for (size_t a = 0; a < b; ++a) {
      const std::vector<std::string> known = splits_[a].samples->contents();
      const std::set<std::string> earlier(known.begin(), known.end());
      const auto shared = std::ranges::count_if(later, [&](const std::string& one) { return earlier.contains(one); });
      if (shared == 0 || std::ranges::find(told_, std::pair(a, b)) != told_.end()) continue;
      told_.emplace_back(a, b);
      out.push_back(std::to_string(shared) + " of " + std::to_string(later.size()) + " " + splits_[b].name + " samples (" +
                    splits_[b].samples->source() + ") are " + splits_[a].name + " samples too (" + splits_[a].samples->source() +
                    "): scores on them are optimistic");
    }
  }
  return out;
}

}  // namespace quasar::data
