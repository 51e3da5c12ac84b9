#include "quasar/eval/detection_match.hpp"

#include <algorithm>
#include <map>

namespace quasar::eval {
namespace {

constexpr size_t most_per_class = 100;
constexpr double tiny = 2.220446049250313e-16;  // keeps 0/0 away, as pycocotools does

double overlap(const Detection& found, const data::Box& object) {
  const double width = std::min(found.right, object.right) - std::max(found.left, object.left);
  const double height = std::min(found.bottom, object.bottom) - std::max(found.top, object.top);
  const double both = width > 0 && height > 0 ? width * height : 0;
  const double own = (found.right - found.left) * (found.bottom - found.top);
  const double all = object.crowd ? own : own + (object.right - object.left) * (object.bottom - object.top) - both;
  return all > 0 ? both / all : 0;
}

constexpr size_t none = static_cast<size_t>(-1);

// The object of one class that a detection takes. `objects`: those that are no crowds come first.
size_t taken_coco(const std::vector<double>& overlaps, const std::vector<data::Box>& objects, const std::vector<bool>& busy,
                  double threshold) {
  double least = std::min(threshold, 1 - 1e-10);
  size_t best = none;
  for (size_t g = 0; g < objects.size(); ++g) {
    if (busy[g] && !objects[g].crowd) continue;
    if (best != none && !objects[best].crowd && objects[g].crowd) break;
    if (overlaps[g] < least) continue;
    least = overlaps[g];
    best = g;
  }
  return best;
}

size_t taken_voc(const std::vector<double>& overlaps, const std::vector<bool>& busy, double threshold) {
  const auto best = std::ranges::max_element(overlaps);
  if (best == overlaps.end() || *best <= threshold) return none;
  const auto at = static_cast<size_t>(best - overlaps.begin());
  return busy[at] ? none : at;
}

void match_class(const std::vector<Detection>& found, std::vector<data::Box> objects, std::span<const double> thresholds,
                 Precision how, Part& part) {
  std::ranges::stable_partition(objects, [](const data::Box& one) { return !one.crowd; });
  std::vector<std::vector<double>> overlaps;
  for (const Detection& one : found) {
    overlaps.emplace_back();
    for (const auto& object : objects) overlaps.back().push_back(overlap(one, object));
  }
  std::vector<uint32_t> right(found.size()), ignored(found.size());
  for (size_t t = 0; t < thresholds.size(); ++t) {
    std::vector<bool> busy(objects.size());
    for (size_t d = 0; d < found.size(); ++d) {
      const size_t object = how == Precision::coco ? taken_coco(overlaps[d], objects, busy, thresholds[t])
                                                   : taken_voc(overlaps[d], busy, thresholds[t]);
      if (object == none) continue;
      busy[object] = !objects[object].crowd;
      (objects[object].crowd ? ignored : right)[d] |= 1U << t;
    }
  }
  for (size_t d = 0; d < found.size(); ++d) {
    part.insert(part.end(), {static_cast<double>(found[d].label), found[d].score, static_cast<double>(right[d]),
                             static_cast<double>(ignored[d])});
  }
}

struct Found {
  size_t sample;
  double score;
  uint32_t right, ignored;
};

struct Class {
  std::vector<std::pair<size_t, double>> objects;  // sample, how many
  std::vector<Found> found;                        // the best first, of equal scores the earlier sample first
};

class PrecisionPool : public Pool {
 public:
  PrecisionPool(std::span<const Part> parts, size_t thresholds, Precision how) : thresholds_(thresholds), how_(how) {
    for (size_t i = 0; i < parts.size(); ++i) {
      const Part& part = parts[i];
      const auto objects = static_cast<size_t>(part.at(0));
      for (size_t k = 1; k <= objects; ++k) classes_[part[k]].objects.emplace_back(i, 1);
      for (size_t k = 1 + objects; k + 3 < part.size(); k += 4) {
        classes_[part[k]].found.push_back(
            {i, part[k + 1], static_cast<uint32_t>(part[k + 2]), static_cast<uint32_t>(part[k + 3])});
      }
    }
    for (auto& [label, one] : classes_) std::ranges::stable_sort(one.found, std::ranges::greater(), &Found::score);
  }

  double value(std::span<const uint32_t> counts) const override {
    double total = 0, terms = 0;
    for (const auto& [label, one] : classes_) {
      double objects = 0;
      for (const auto& [sample, count] : one.objects) objects += count * counts[sample];
      if (objects == 0) continue;
      for (size_t t = 0; t < thresholds_; ++t) total += precision(one, t, objects, counts);
      terms += static_cast<double>(thresholds_);
    }
    return terms == 0 ? 0 : total / terms;
  }

 private:
  struct Point {
    double recall, precision;
  };

  double precision(const Class& one, size_t threshold, double objects, std::span<const uint32_t> counts) const {
    std::vector<Point> curve;
    double right = 0, wrong = 0;
    for (const Found& entry : one.found) {
      for (uint32_t k = 0; k < counts[entry.sample]; ++k) {
        if ((entry.ignored >> threshold & 1) == 0) ((entry.right >> threshold & 1) != 0 ? right : wrong) += 1;
        curve.push_back({right / objects, right / (right + wrong + tiny)});
      }
    }
    for (size_t i = curve.size(); i-- > 1;) curve[i - 1].precision = std::max(curve[i - 1].precision, curve[i].precision);
    return how_ == Precision::voc ? area(curve) : sampled(curve, how_ == Precision::coco ? 100 : 10);
  }

  static double area(const std::vector<Point>& curve) {
    double total = 0, before = 0;
    for (const auto& [recall, precision] : curve) {
      total += (recall - before) * precision;
      before = recall;
    }
    return total;
  }

  static double sampled(const std::vector<Point>& curve, int steps) {
    // As pycocotools and the VOC devkit write them: 0.01 k and k / 10 differ in the last bit, and recalls are such fractions.
    const auto recall_at = [steps](int i) { return steps == 10 ? i / 10.0 : i * (1.0 / steps); };
    double total = 0;
    size_t at = 0;
    for (int i = 0; i <= steps; ++i) {
      const double recall = i == steps ? 1.0 : recall_at(i);
      while (at < curve.size() && curve[at].recall < recall) ++at;
      if (at == curve.size()) break;
      total += curve[at].precision;
    }
    return total / (steps + 1);
  }

  std::map<double, Class> classes_;
  size_t thresholds_;
  Precision how_;
};

}  // namespace

Part match(std::span<const Detection> found, const data::Boxes& objects, std::span<const double> thresholds, Precision how) {
  Part part{0};
  std::map<int64_t, std::pair<std::vector<Detection>, data::Boxes>> classes;
  for (const auto& object : objects) {
    classes[object.label].second.push_back(object);
    if (object.crowd) continue;
    part.push_back(static_cast<double>(object.label));
    part[0] += 1;
  }
  for (const auto& one : found) classes[one.label].first.push_back(one);
  for (auto& [label, one] : classes) {
    auto& [detections, truth] = one;
    std::ranges::stable_sort(detections, std::ranges::greater(), &Detection::score);
    if (how == Precision::coco && detections.size() > most_per_class) detections.resize(most_per_class);
    match_class(detections, truth, thresholds, how, part);
  }
  return part;
}

std::unique_ptr<Pool> average_precision(std::span<const Part> parts, size_t thresholds, Precision how) {
  return std::make_unique<PrecisionPool>(parts, thresholds, how);
}

}  // namespace quasar::eval
