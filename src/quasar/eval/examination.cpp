#include "quasar/eval/examination.hpp"

#include <algorithm>

namespace quasar::eval {
namespace {

constexpr double surely_the_same = 0.9, the_same = 0.5;  // of the metric that compares answers

}  // namespace

Examination examine(const Evaluator& evaluator, const graph::Model& reference, const graph::Model& candidate,
                    const ExaminationOptions& options) {
  const size_t count = evaluator.samples();
  const auto metric = options.answers.empty() ? nullptr : make_metric(options.answers);
  const auto compared = [&](const Pair& pair) { return metric->of(pair, evaluator.context()); };
  std::vector<char> sure(count, 0);
  std::vector<double> alike(count, 0);
  if (metric != nullptr) {
    const runtime::Device device = runtime::runs_float(options.device.library) ? options.device : runtime::Device();
    evaluator.each(reference, options.noise, options.threads, device,
                   [&](size_t i, const Pair& pair) { sure[i] = compared(pair) >= surely_the_same ? 1 : 0; });
  }
  std::vector<std::vector<OutputParts::Sums>> sums(count);
  evaluator.each(candidate, 0, options.threads, options.device, [&](size_t i, const Pair& pair) {
    evaluator.parts().add(pair, sums[i]);
    if (metric != nullptr) alike[i] = compared(pair);
  });
  Examination out{.parts = OutputParts::errors(sums), .answers = {}};
  if (metric == nullptr) return out;
  SameAnswers answers{.metric = options.answers};
  for (size_t i = 0; i < count; ++i) {
    if (sure[i] == 0) continue;
    ++answers.samples;
    answers.share += alike[i] >= the_same ? 1 : 0;
    answers.mean += alike[i];
  }
  for (double* sum : {&answers.share, &answers.mean}) *sum /= static_cast<double>(std::max<size_t>(answers.samples, 1));
  out.answers = std::move(answers);
  return out;
}

}  // namespace quasar::eval
