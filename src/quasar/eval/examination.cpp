#include "quasar/eval/examination.hpp"

namespace quasar::eval {
namespace {

constexpr double surely_the_same = 0.9, the_same = 0.5;  // of the metric that compares answers

}  // namespace

Examination examine(const Evaluator& evaluator, const graph::Model& reference, const graph::Model& candidate,
                    const ExaminationOptions& options) {
  const size_t count = evaluator.samples();
  const auto metric = options.answers.empty() ? nullptr : make_metric(options.answers);
  const auto compared = [&](const Pair& pair) { return metric->of(pair, evaluator.context()); };
  std::vector<char> sure(count, 0), same(count, 0);
  if (metric != nullptr) {
    const runtime::Device device = runtime::runs_float(options.device.library) ? options.device : runtime::Device();
    evaluator.each(reference, options.noise, options.threads, device,
                   [&](size_t i, const Pair& pair) { sure[i] = compared(pair) >= surely_the_same ? 1 : 0; });
  }
  std::vector<std::vector<OutputParts::Sums>> sums(count);
  evaluator.each(candidate, 0, options.threads, options.device, [&](size_t i, const Pair& pair) {
    evaluator.parts().add(pair, sums[i]);
    if (metric != nullptr) same[i] = compared(pair) >= the_same ? 1 : 0;
  });
  Examination out{.parts = OutputParts::errors(sums), .answers = {}};
  if (metric == nullptr) return out;
  SameAnswers answers{.metric = options.answers};
  size_t alike = 0;
  for (size_t i = 0; i < count; ++i) {
    answers.samples += sure[i] != 0 ? 1 : 0;
    alike += sure[i] != 0 && same[i] != 0 ? 1 : 0;
  }
  if (answers.samples > 0) answers.share = static_cast<double>(alike) / static_cast<double>(answers.samples);
  out.answers = std::move(answers);
  return out;
}

}  // namespace quasar::eval
