// What was seen of the channels of a value: what transforms of the float graph need.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::stats {

// Over all samples and positions, one entry per channel.
struct ChannelStats {
  std::vector<float> low, high;
  std::vector<double> mean;
  // Mean products x xᵀ of the channels within blocks of so many (the last may be shorter), one block after the other, each
  // [channels of the block, the same]: what products with weights are made of. Empty unless asked for.
  std::vector<double> products = {};
  size_t block = 0;
  bool operator==(const ChannelStats&) const = default;
};
using ChannelStatistics = std::map<std::string, ChannelStats>;  // by value name

// One value's channels (without products) while its samples come by, in order.
class ChannelAccumulator {
 public:
  explicit ChannelAccumulator(int axis) : axis_(axis) {}                             // negative: from the end
  ChannelAccumulator of_the_same_axis() const { return ChannelAccumulator(axis_); }  // which has seen nothing
  // Throws Error, which calls the value `name`, for one that is not float32.
  void add(const Tensor& sample, const std::string& name);
  void add(const ChannelAccumulator& other);  // of the samples that follow
  size_t channels() const { return steady_ ? sums_.mean.size() : 0; }
  std::optional<ChannelStats> result() const;  // nullopt: samples differ in their number of channels, or hold nothing

 private:
  int axis_;
  ChannelStats sums_;   // mean: the sum
  size_t count_ = 0;    // values of each channel
  bool steady_ = true;  // the same number of channels in every sample
};

struct ChannelOptions {
  size_t samples = 0;  // the first so many; 0: all
  size_t threads = 0;  // 0: all cores; results do not depend on it
  size_t block = 0;    // channels of one block of products; 0: none are observed. Their axis must be the last one
};

// Runs the model on the samples. `axes`: values (float32) and the axis of their channels, negative ones from the end. A value
// whose number of channels varies between samples is left out. Throws Error for values that are not float32.
ChannelStatistics collect_channels(const graph::Model& model, const data::Dataset& samples,
                                   const std::map<std::string, int>& axes, const ChannelOptions& options = {});

}  // namespace quasar::stats
