#include "quasar/eval/evaluate.hpp"

#include <algorithm>
#include <mutex>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/eval/output_store.hpp"
#include "quasar/eval/sums.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::eval {
namespace {

// Samples that stay in memory between trials: reading and converting an image costs as much as a small network.
constexpr size_t sample_cache_bytes = size_t{128} << 20;

struct NamedMetric {
  std::string name;
  std::unique_ptr<Metric> metric;
};

size_t bytes_of_sample(const data::Sample& sample) {
  size_t total = 0;
  for (const auto& tensor : sample) total += tensor.bytes().size();
  return total;
}

// Samples of the next block when `scored` are done: few at first, where most losers drop out, and never so few that looking costs
// more than it saves.
size_t next_block(size_t scored, size_t count) {
  return std::min(count - scored, std::max<size_t>(16, scored / 8));
}

// All outputs of one sample, one behind the other, as float32. A single float32 output is not copied.
class Flattened {
 public:
  Flattened(std::vector<Tensor> outputs, const std::vector<graph::Value>& names) : outputs_(std::move(outputs)) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i].type() == DataType::string || outputs_[i].type() == DataType::undefined) {
        throw Error("the model's output '" + names[i].name + "' holds no numbers and cannot be scored");
      }
      if (outputs_[i].type() != DataType::float32) outputs_[i] = converted(outputs_[i], DataType::float32);
    }
    if (outputs_.size() == 1) return;
    for (const auto& output : outputs_) joined_.insert(joined_.end(), output.as<float>().begin(), output.as<float>().end());
  }
  // The place of the greatest value, when there is one output and it is a vector (axes of 1 do not count); −1 otherwise.
  int32_t answer() const {
    if (outputs_.size() != 1 || outputs_[0].count() < 2) return -1;
    const auto& shape = outputs_[0].shape();
    const bool vector = std::ranges::find(shape, static_cast<int64_t>(outputs_[0].count())) != shape.end();
    return vector ? static_cast<int32_t>(arg_max(values())) : -1;
  }
  std::span<const float> values() const {
    return outputs_.size() == 1 ? outputs_[0].as<float>() : std::span<const float>(joined_);
  }

 private:
  std::vector<Tensor> outputs_;
  std::vector<float> joined_;
};

// NaN and infinity survive a multiplication by zero.
bool all_finite(std::span<const float> values) {
  return sum(values.size(), [&](size_t i) { return static_cast<double>(values[i] * 0.0F); }) == 0;
}

bool is_own(const CustomEvaluator& custom, const std::string& metric) {
  return std::ranges::any_of(custom.metrics(), [&](const OwnMetric& own) { return own.name == metric; });
}

std::string at_sample(size_t index) {
  return " (sample " + std::to_string(index) + ")";
}

Score score_of(const Metric& metric, std::vector<double> values) {
  const auto n = static_cast<double>(values.size());
  Score score{.samples = values.size(), .per_sample = std::move(values)};
  const double total = sum(score.per_sample.size(), [&](size_t i) { return score.per_sample[i]; });
  score.value = total / n;
  std::tie(score.low, score.high) = metric.is_proportion() ? wilson(total, n) : bootstrap(score.per_sample);
  return score;
}

}  // namespace

struct Evaluator::Impl {
  Impl(data::DatasetPtr data, const EvaluatorOptions& options)
      : samples(std::move(data)),
        count(samples->size()),
        outputs(count, options.memory_limit, options.spill),
        cache(count),
        order(Rng(options.seed).permutation(count)),
        custom(options.custom),
        surroundings{options.base, options.model, {}, {}} {
    if (count == 0) throw Error(samples->source() + " holds no samples to evaluate on");
    for (const auto& name : options.metrics) {
      if (custom && is_own(*custom, name)) continue;
      metrics.push_back({metrics::table().resolve(name), metrics::table().make(name)});
      if (metrics.back().metric->needs_labels()) check_labels(name);
    }
  }

  void check_labels(const std::string& metric) const {
    for (size_t i = 0; i < count; ++i) {
      if (samples->label(i)) continue;
      throw Error("metric '" + metric + "' needs labels, but " + samples->source() + " has none" + at_sample(i) +
                  "; name them with the reader's option labels");
    }
  }

  // Runs the float model, keeps its outputs, their range and the first samples.
  void run_reference(const graph::Model& model, size_t threads, const runtime::Device& device) {
    const runtime::Session session(model, {.device = device});
    std::vector<float> lows(count), highs(count);
    answers.resize(count);
    const auto run = [&](size_t i) {
      data::Sample sample = samples->at(i);
      const Flattened output(session.run(sample), session.outputs());
      const auto values = output.values();
      if (values.empty()) throw Error("the float model's outputs are empty" + at_sample(i));
      if (!all_finite(values)) throw Error("the float model's outputs are not finite" + at_sample(i));
      check_label(i, values.size());
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      lows[i] = *low;
      highs[i] = *high;
      outputs.put(i, values);
      answers[i] = output.answer();
      if ((i + 1) * bytes_of_sample(sample) <= sample_cache_bytes) cache[i] = std::move(sample);
    };
    parallel_for(count, threads, run);
    outputs.finish();
    context = {*std::min_element(lows.begin(), lows.end()), *std::max_element(highs.begin(), highs.end())};
  }

  void check_label(size_t i, size_t classes) const {
    const bool needed = std::any_of(metrics.begin(), metrics.end(), [](const auto& m) { return m.metric->needs_labels(); });
    const int64_t label = needed ? samples->label(i).value() : 0;
    if (label >= 0 && static_cast<uint64_t>(label) < classes) return;
    throw Error("label " + std::to_string(label) + " of " + samples->source() + at_sample(i) + " is none of the model's " +
                std::to_string(classes) + " classes; is label_offset right?");
  }

  // The metrics of the float model against itself; only those that look at labels have an interval.
  void score_reference() {
    for (const auto& [name, metric] : metrics) {
      std::vector<double> values(count);
      for (size_t i = 0; i < count; ++i) values[i] = metric->of({outputs.get(i), outputs.get(i), samples->label(i)}, context);
      Score score = score_of(*metric, std::move(values));
      if (!metric->needs_labels()) score.low = score.high = score.value;
      reference[name] = std::move(score);
    }
    keep_answers(reference, answers);
  }

  // The custom evaluator's scores of the float model, which the user must see fail before anything else runs.
  void score_reference_by_user(const graph::Model& model, size_t threads) {
    if (!custom) return;
    for (size_t i = 0; i < count && samples->label(i); ++i) surroundings.labels.push_back(*samples->label(i));
    if (surroundings.labels.size() < count) surroundings.labels.clear();
    surroundings.reference = [this, model, threads]() -> const Outputs& {
      std::call_once(reference_once, [&] { reference_outputs = run_all(runtime::Session(model), threads); });
      return reference_outputs;
    };
    try {
      add_own(reference, Subject(model, surroundings, surroundings.reference_file, surroundings.reference));
    } catch (const EvaluatorFailed& failed) {
      throw Error(std::string("search_evaluator cannot score the float model: ") + failed.what() +
                  (failed.details.empty() ? "" : "\n" + failed.details));
    }
  }

  // Outputs on all samples, for evaluators that look at them.
  Outputs run_all(const runtime::Session& session, size_t threads) const {
    Outputs out;
    for (const auto& output : session.outputs()) out.names.push_back(output.name);
    out.values.assign(out.names.size(), std::vector<Tensor>(count));
    parallel_for(count, threads, [&](size_t i) {
      const auto found = session.run(cache[i].empty() ? samples->at(i) : cache[i]);
      for (size_t k = 0; k < found.size(); ++k) out.values[k][i] = found[k];
    });
    return out;
  }

  void add_own(Scores& scores, const Subject& subject) const {
    for (const auto& [name, value] : custom->score(subject)) {
      if (scores.contains(name)) throw EvaluatorFailed("the evaluator gives '" + name + "', which Quasar measures itself");
      scores[name] = {.value = value, .low = value, .high = value};
    }
  }

  // With the first metric's score, unless some sample has none.
  void keep_answers(Scores& scores, std::vector<int32_t> found) const {
    if (metrics.empty()) return;
    if (std::ranges::find(found, -1) == found.end()) scores[metrics.front().name].answers = std::move(found);
  }

  // Of every metric, the candidate's value for this sample. -> its answer
  int32_t score_sample(const runtime::Session& session, size_t i, std::vector<std::vector<double>>& values) const {
    const Flattened output(session.run(cache[i].empty() ? samples->at(i) : cache[i]), session.outputs());
    const Pair pair{outputs.get(i), output.values(), samples->label(i)};
    if (pair.candidate.size() != pair.reference.size()) {
      throw Error("the candidate has " + std::to_string(pair.candidate.size()) + " output values, the float model " +
                  std::to_string(pair.reference.size()) + at_sample(i));
    }
    if (!all_finite(pair.candidate)) throw Error("outputs are not finite" + at_sample(i));
    for (size_t m = 0; m < metrics.size(); ++m) values[m][i] = metrics[m].metric->of(pair, context);
    return output.answer();
  }

  std::optional<Scores> score(const graph::Model& candidate, size_t threads, const Referee& referee,
                              const runtime::Device& device) const {
    auto scores = metrics.empty() ? Scores() : built_in(candidate, threads, referee, device);
    if (!scores || !custom) return scores;
    const auto run = [&] { return run_all(runtime::Session(candidate, {.device = device}), threads); };
    add_own(*scores, Subject(candidate, surroundings, {}, run));
    return scores;
  }

  std::optional<Scores> built_in(const graph::Model& candidate, size_t threads, const Referee& referee,
                                 const runtime::Device& device) const {
    const runtime::Session session(candidate, {.device = device});
    std::vector<std::vector<double>> values(metrics.size(), std::vector<double>(count));
    std::vector<int32_t> found(count);
    std::vector<double> raced;
    for (size_t done = 0; done < count;) {
      const size_t block = referee ? next_block(done, count) : count;
      parallel_for(block, threads, [&](size_t k) {
        const size_t i = referee ? order[done + k] : k;
        found[i] = score_sample(session, i, values);
      });
      done += block;
      if (!referee) continue;
      while (raced.size() < done) raced.push_back(values.front()[order[raced.size()]]);
      if (!referee(raced) && done < count) return std::nullopt;
    }
    Scores scores;
    for (size_t m = 0; m < metrics.size(); ++m) scores[metrics[m].name] = score_of(*metrics[m].metric, std::move(values[m]));
    keep_answers(scores, std::move(found));
    return scores;
  }

  data::DatasetPtr samples;
  size_t count;
  std::vector<NamedMetric> metrics;
  OutputStore outputs;
  std::vector<data::Sample> cache;
  std::vector<size_t> order;     // of the race
  std::vector<int32_t> answers;  // the float model's
  Context context;
  Scores reference;
  std::shared_ptr<const CustomEvaluator> custom;
  Surroundings surroundings;  // that the custom evaluator sees
  std::once_flag reference_once;
  Outputs reference_outputs;  // for a custom evaluator that looks at them
};

Evaluator::Evaluator(const graph::Model& reference, data::DatasetPtr samples, EvaluatorOptions options)
    : impl_(std::make_unique<Impl>(std::move(samples), options)) {
  impl_->run_reference(reference, options.threads, options.device);
  impl_->score_reference();
  impl_->score_reference_by_user(reference, options.threads);
}

Evaluator::~Evaluator() = default;

size_t Evaluator::samples() const {
  return impl_->count;
}

const Scores& Evaluator::reference() const {
  return impl_->reference;
}

Scores Evaluator::score(const graph::Model& candidate, size_t threads, const runtime::Device& device) const {
  return *impl_->score(candidate, threads, {}, device);
}

std::optional<Scores> Evaluator::race(const graph::Model& candidate, size_t threads, const Referee& referee,
                                      const runtime::Device& device) const {
  return impl_->score(candidate, threads, referee, device);
}

}  // namespace quasar::eval
