#include "quasar/job/calibration.hpp"

#include <algorithm>

#include "quasar/base/digits.hpp"
#include "quasar/base/stopwatch.hpp"

namespace quasar::tune {
namespace {

// What transforms need of the channels of a graph's values; where two need the same value, along the first one's axis.
std::map<std::string, int> axes_of(const graph::Model& model, const std::map<std::string, quant::TransformUse>& transforms) {
  std::map<std::string, int> out;
  for (const auto& [name, use] : transforms) {
    const auto transform = quant::transforms::table().make(name, use.options);
    if (transform->product_block() == 0) out.merge(transform->needs(model));
  }
  return out;
}

}  // namespace

void CalibrationNeeds::add(const quant::Config& config) {
  requests.merge(quant::needs_of(config));
  if (config.calib_data_size) sizes.insert(*config.calib_data_size);
  for (const auto& use : config.transforms) transforms.try_emplace(use.name, use);
}

Calibration::Calibration(const graph::Model& model, data::DatasetPtr samples, CalibrationNeeds needs, Log log,
                         std::shared_ptr<StatisticsFolder> shared, Progress progress)
    : model_(model),
      samples_(std::move(samples)),
      needs_(std::move(needs)),
      log_(std::move(log)),
      shared_(std::move(shared)),
      progress_(std::move(progress)) {
  std::set<size_t> sizes;
  for (const size_t size : needs_.sizes) sizes.insert(std::min(size, samples_->size()));
  needs_.sizes = std::move(sizes);
}

const stats::Statistics& Calibration::seen(const quant::Config& config) {
  const std::lock_guard lock(guard_);
  observe_once();
  const size_t size = std::min(config.calib_data_size.value_or(samples_->size()), samples_->size());
  const stats::Requests needs = quant::needs_of(config);
  const bool requested =
      (!needs.histogram || needs_.requests.histogram) && std::ranges::includes(needs_.requests.averages, needs.averages);
  const auto found = by_size_.find(size);
  if (requested && found != by_size_.end()) return found->second;
  return observed_for(size, needs);
}

const stats::Statistics& Calibration::observed_for(size_t size, const stats::Requests& needs) {
  const auto [place, is_new] = later_.try_emplace({size, needs.histogram, needs.averages});
  if (!is_new) return place->second;
  try {
    place->second = std::move(observed(quant::observed_values(model_), needs, {size}, {}).by_size.at(size));
    for (const auto& [value, given] : needs_.given) place->second[value].given = given;
  } catch (...) {
    later_.erase(place);
    throw;
  }
  return place->second;
}

Observed Calibration::observed(const std::vector<std::string>& values, const stats::Requests& needs,
                               const std::set<size_t>& sizes, const std::map<std::string, int>& axes) const {
  if (shared_ != nullptr && !values.empty()) return shared_->collect(model_, values, needs, sizes);
  return {
      stats::collect(model_, *samples_, values, needs, {.prefixes = sizes, .axes = axes, .log = log_, .progress = progress_})};
}

void Calibration::reuse(std::shared_ptr<Calibration> other, std::set<std::string> changed) {
  other_ = std::move(other);
  changed_ = std::move(changed);
}

void Calibration::observe() {
  const std::lock_guard lock(guard_);
  observe_once();
}

stats::ChannelStatistics Calibration::channels(const std::map<std::string, int>& axes, size_t samples) {
  const std::lock_guard lock(guard_);
  observe_once();
  stats::ChannelStatistics out;
  const auto seen = by_size_.find(samples);
  if (seen == by_size_.end()) return out;
  for (const auto& [value, axis] : axes) {
    const auto along = axes_.find(value);
    const auto found = seen->second.find(value);
    if (along == axes_.end() || along->second != axis || found == seen->second.end()) continue;
    if (found->second.channels) out[value] = *found->second.channels;
  }
  return out;
}

void Calibration::observe_once() {
  if (!by_size_.empty()) return;
  const Stopwatch watch;
  if (other_ != nullptr) other_->observe();
  std::vector<std::string> values = quant::observed_values(model_);
  std::map<size_t, stats::Statistics> known;
  if (other_ != nullptr) {
    known = other_->by_size_;
    const auto unchanged = [&](const std::string& value) {
      return !changed_.contains(value) && known.begin()->second.contains(value);
    };
    for (auto& [size, seen] : known) std::erase_if(seen, [&](const auto& item) { return changed_.contains(item.first); });
    std::erase_if(values, unchanged);
  }
  if (other_ == nullptr) axes_ = axes_of(model_, needs_.transforms);
  Observed fresh = observed(values, needs_.requests, needs_.sizes, axes_);
  by_size_ = std::move(fresh.by_size);
  for (auto& [size, seen] : known) by_size_[size].merge(seen);
  for (auto& [size, statistics] : by_size_) {
    for (const auto& [value, given] : needs_.given) statistics[value].given = given;
  }
  seconds_ = watch.seconds();
  const std::string from = fresh.file.empty() ? "observed on " + std::to_string(samples_->size()) + " samples"
                                              : "read from '" + fresh.file.string() + "'";
  tell(log_, Level::info,
       "calibration: " + std::to_string(values.size()) + " tensors " + from + " in " + in_digits(seconds_) + " s");
}

}  // namespace quasar::tune
