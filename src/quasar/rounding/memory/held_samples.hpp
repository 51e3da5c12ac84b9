// Samples that stay in memory once they were read, as far as they fit into a limit; others are read again each time.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "quasar/data/view.hpp"

namespace quasar::tune {

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
