// Unlabelled samples that a function makes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "quasar/data/dataset.hpp"

namespace quasar::tune {

class GeneratedSamples : public data::Dataset {
 public:
  GeneratedSamples(size_t size, std::function<data::Sample(size_t index)> make) : size_(size), make_(std::move(make)) {}
  size_t size() const override { return size_; }
  data::Sample at(size_t index) const override { return make_(index); }
  std::optional<int64_t> label(size_t) const override { return std::nullopt; }
  std::string source() const override { return "test"; }

 private:
  size_t size_;
  std::function<data::Sample(size_t)> make_;
};

}  // namespace quasar::tune
