#include "quasar/sensitivity/joint_errors.hpp"

#include <algorithm>

#include "quasar/base/parallel.hpp"
#include "quasar/sensitivity/unit_errors.hpp"

namespace quasar::tune {
namespace {

// Distances of one sample, or their squares.
struct OneSample {
  std::vector<std::vector<double>> single;
  std::vector<std::vector<std::vector<double>>> together;
};

class Measuring {
 public:
  Measuring(const ToggledModel& model, std::span<const std::vector<size_t>> groups, size_t levels,
            std::span<const std::pair<size_t, size_t>> pairs, const Distance& distance, Squared squared, Parts& parts)
      : model_(model),
        groups_(groups),
        levels_(levels),
        distance_(distance),
        squared_(squared),
        parts_(parts),
        of_first_(groups.size()) {
    for (size_t i = 0; i < pairs.size(); i++) of_first_[pairs[i].first].emplace_back(i, pairs[i].second);
  }

  OneSample run(const data::Sample& sample, size_t pairs) const {
    const ToggledModel::Levels off(model_.units().size(), 0);
    const ToggledModel::Passage exact(model_, sample, off);
    const std::vector<Tensor> reference = exact.outputs();
    OneSample out;
    out.together.resize(pairs, std::vector<std::vector<double>>(levels_, std::vector<double>(levels_)));
    for (size_t g = 0; g < groups_.size(); g++) {
      out.single.emplace_back();
      for (size_t p = 1; p <= levels_; p++) {
        const ToggledModel::Levels alone = with(off, g, p);
        ToggledModel::Passage passage = exact;
        if (!of_first_[g].empty()) passage.turn_to(alone);
        out.single.back().push_back(seen(reference, of_first_[g].empty() ? exact.outputs_at(alone) : passage.outputs()));
        for (const auto& [pair, h] : of_first_[g]) {
          for (size_t q = 1; q <= levels_; q++)
            out.together[pair][p - 1][q - 1] = seen(reference, passage.outputs_at(with(alone, h, q)));
        }
      }
    }
    return out;
  }

 private:
  ToggledModel::Levels with(ToggledModel::Levels levels, size_t group, size_t level) const {
    for (const size_t unit : groups_[group]) levels[unit] = static_cast<uint8_t>(level);
    return levels;
  }

  double seen(const std::vector<Tensor>& reference, const std::vector<Tensor>& outputs) const {
    const double distance = distance_(reference, outputs);
    parts_.done();
    return squared_ == Squared::each_distance ? distance * distance : distance;
  }

  const ToggledModel& model_;
  const std::span<const std::vector<size_t>> groups_;
  const size_t levels_;
  const Distance& distance_;
  const Squared squared_;
  Parts& parts_;
  std::vector<std::vector<std::pair<size_t, size_t>>> of_first_;  // by its first group: number of a pair, its second group
};

void add(const std::vector<double>& values, std::vector<double>& to) {
  for (size_t i = 0; i < to.size(); i++) to[i] += values[i];
}

}  // namespace

JointErrors joint_errors(const ToggledModel& model, std::span<const std::vector<size_t>> groups, size_t levels,
                         std::span<const std::pair<size_t, size_t>> pairs, const data::Dataset& samples, const Distance& distance,
                         Squared squared, const Progress& progress) {
  Parts parts(progress, "operators and pairs of them", samples.size() * levels * (groups.size() + levels * pairs.size()));
  const Measuring measuring(model, groups, levels, pairs, distance, squared, parts);
  std::vector<OneSample> by_sample(samples.size());
  parallel_for(samples.size(), passages_at_once(model, samples),
               [&](size_t i) { by_sample[i] = measuring.run(samples.at(i), pairs.size()); });
  JointErrors out{.single = std::vector(groups.size(), std::vector<double>(levels)),
                  .pairs = std::vector(pairs.size(), std::vector(levels, std::vector<double>(levels)))};
  for (const OneSample& one : by_sample) {
    for (size_t g = 0; g < groups.size(); g++) add(one.single[g], out.single[g]);
    for (size_t i = 0; i < pairs.size(); i++) {
      for (size_t p = 0; p < levels; p++) add(one.together[i][p], out.pairs[i][p]);
    }
  }
  const auto count = static_cast<double>(samples.size());
  const auto as_square = [&](double sum) { return squared == Squared::each_distance ? sum / count : sum * sum / count / count; };
  for (auto& group : out.single) std::ranges::transform(group, group.begin(), as_square);
  for (size_t i = 0; i < pairs.size(); i++) {
    const auto &first = out.single[pairs[i].first], &second = out.single[pairs[i].second];
    for (size_t p = 0; p < levels; p++) {
      for (size_t q = 0; q < levels; q++) out.pairs[i][p][q] = as_square(out.pairs[i][p][q]) - first[p] - second[q];
    }
  }
  return out;
}

}  // namespace quasar::tune
