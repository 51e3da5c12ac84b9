#include "quasar/eval/float_run.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "quasar/eval/sums.hpp"

namespace quasar::eval {

std::string at_sample(size_t index) {
  return " (sample " + std::to_string(index) + ")";
}

bool all_finite(std::span<const float> values) {
  // They survive a multiplication by zero.
  return sum(values.size(), [&](size_t i) { return static_cast<double>(values[i] * 0.0F); }) == 0;
}

FloatRun::FloatRun(data::DatasetPtr data, ModelRuns model_runs, size_t memory_limit, const std::filesystem::path& spill)
    : samples(std::move(data)),
      count(samples->size()),
      runs(std::move(model_runs)),
      outputs(count, memory_limit, spill),
      layouts(count),
      inputs(count) {}

Pair FloatRun::pair_of(size_t i, std::span<const float> candidate) const {
  return {outputs.get(i),
          candidate,
          samples->label(i),
          &layouts[i],
          boxes.empty() ? nullptr : &boxes[i],
          targets.empty() ? nullptr : &targets[i],
          &inputs[i],
          i};
}

Pair FloatRun::comparable(size_t i, std::span<const float> candidate) const {
  const Pair pair = pair_of(i, candidate);
  if (pair.candidate.size() != pair.reference.size()) {
    throw NotComparable("the candidate has " + std::to_string(pair.candidate.size()) + " output values, the float model " +
                        std::to_string(pair.reference.size()) + at_sample(i));
  }
  if (!all_finite(pair.candidate)) throw NotComparable("outputs are not finite" + at_sample(i));
  return pair;
}

bool FloatRun::counts_detections() const {
  return !metrics.empty() && std::ranges::all_of(metrics, [](const auto& m) { return m.metric->needs_decoder(); });
}

Pair FloatRun::scorable(size_t i, const Flattened& candidate) const {
  if (candidate.values().size() == outputs.get(i).size() || !counts_detections()) return comparable(i, candidate.values());
  if (!all_finite(candidate.values())) throw NotComparable("outputs are not finite" + at_sample(i));
  Pair pair = pair_of(i, candidate.values());
  pair.own = Layout{candidate.shapes(), layouts[i].inputs};
  return pair;
}

bool FloatRun::needs(Truth truth) const {
  return std::ranges::any_of(metrics, [&](const auto& m) { return m.metric->needs() == truth; });
}

double FloatRun::distance(std::vector<Tensor> a, std::vector<Tensor> b) const {
  const Flattened one(std::move(a), graph_outputs, *weights), other(std::move(b), graph_outputs, *weights);
  if (one.shapes() != other.shapes()) return HUGE_VAL;
  if (!parts->fits(one.shapes())) return std::sqrt(squared_distance(one.values(), other.values())) / parts->norm();
  const Layout layout{one.shapes(), {}};
  const auto squared = parts->squared_distances({.reference = one.values(), .candidate = other.values(), .layout = &layout});
  double total = 0;
  for (size_t p = 0; p < squared.size(); ++p) {
    const double norm = parts->all()[p].norm;
    if (norm > 0) total += squared[p] / (norm * norm);
  }
  return std::sqrt(total);
}

Seen FloatRun::seen() const {
  constexpr size_t enough = 16;
  Seen out;
  for (size_t i = 0; i < std::min(enough, count); ++i) {
    out.layouts.push_back(layouts[i]);
    out.values.push_back(outputs.get(i));
  }
  return out;
}

double FloatRun::reference_by(const NamedMetric& one) const {
  double total = 0;
  std::vector<Part> contributions;
  for (size_t i = 0; i < count; ++i) {
    const Pair pair = pair_of(i, outputs.get(i));
    if (const PooledMetric* pooled = one.metric->pooled()) {
      contributions.push_back(pooled->part(pair, context));
    } else {
      total += one.metric->of(pair, context);
    }
  }
  return contributions.empty() ? total : one.metric->pooled()->pool(contributions)->value(std::vector<uint32_t>(count, 1));
}

void FloatRun::keep_answers(Scores& scores, std::vector<int32_t> found) const {
  if (metrics.empty()) return;
  if (std::ranges::find(found, -1) == found.end()) scores[metrics.front().name].answers = std::move(found);
}

}  // namespace quasar::eval
