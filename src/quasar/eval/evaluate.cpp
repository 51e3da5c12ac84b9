#include "quasar/eval/evaluate.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <set>
#include <utility>

#include "quasar/base/error.hpp"
#include "quasar/base/machine.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/base/temporary_space.hpp"
#include "quasar/data/repeating.hpp"
#include "quasar/eval/decoder.hpp"
#include "quasar/eval/flattened.hpp"
#include "quasar/eval/label_doubt.hpp"
#include "quasar/eval/ledger.hpp"
#include "quasar/eval/model_runs.hpp"
#include "quasar/eval/output_store.hpp"
#include "quasar/eval/sums.hpp"
#include "quasar/runtime/runner.hpp"

namespace quasar::eval {
namespace {

// Samples of the next block when `scored` are done: few at first, where most losers drop out, and never so few that looking costs
// more than it saves.
size_t next_block(size_t scored, size_t count) {
  return std::min(count - scored, std::max<size_t>(16, scored / 8));
}

// That the float model runs on, where candidates run on this one.
runtime::Device device_for_float(const runtime::Device& device) {
  return runtime::runs_float(device.library) ? device : runtime::Device();
}

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

}  // namespace

struct Evaluator::Impl {
  Impl(data::DatasetPtr data, const EvaluatorOptions& options)
      : samples(std::move(data)),
        count(samples->size()),
        runs(samples, options.exact_sums, options.judged),
        outputs(count, options.memory_limit, options.spill),
        order(Rng(options.seed).permutation(count)),
        output_weights(options.output_weights),
        layouts(count),
        inputs(count),
        decoder_words(options.decoder),
        custom(options.custom),
        own_device(options.device.library == runtime::Library::onnxruntime ? runtime::Device()
                                                                           : device_for_float(options.device)),
        surroundings{options.base, options.model, {}, {}, options.candidates} {
    if (count == 0) throw Error(samples->source() + " holds no samples to evaluate on");
    if (!options.decoder.is_null()) decoder = make_decoder(options.decoder, options.base);
    if (decoder && !options.output_weights.is_null())
      throw Error("decoder and output_weights contradict each other: a decoder needs the outputs as they are");
    for (const auto& name : options.metrics) {
      if (custom && is_own(*custom, name)) continue;
      metrics.push_back({metric_text(name), make_metric(name)});
      const Metric& metric = *metrics.back().metric;
      if (metric.needs_decoder() && decoder == nullptr) {
        throw Error("metric '" + name + "' needs a decoder, which says how the model's outputs are boxes; known: " +
                    joined(decoders::table().names()));
      }
      check_truth(name, metric.needs());
    }
    for (const auto& [name, metric] : metrics) look_at_inputs(*metric);
    if (options.judge_head) look_at_inputs(*make_metric("embedding_cos"));  // of texts; known when they have run
  }

  // Of every sample for labels, which cost nothing; of the first for the others.
  void check_truth(const std::string& metric, Truth needed) const {
    const auto fail = [&](const std::string& what, const std::string& hint, size_t i) {
      throw Error("metric '" + metric + "' needs " + what + ", but " + samples->source() + " has none" + at_sample(i) + "; " +
                  hint);
    };
    for (size_t i = 0; needed == Truth::label && i < count; ++i) {
      if (!samples->label(i))
        fail("labels",
             "name them with the reader's option labels; samples in memory have them in pairs (inputs, label) or as 'labels' "
             "beside the inputs",
             i);
    }
    if (needed == Truth::boxes && !data::boxes_of(*samples, 0))
      fail("labelled boxes", "name a file in COCO's form with labels of reader images, or measure against float: truth=float", 0);
    if (needed == Truth::target && !data::target_of(*samples, 0))
      fail("a label per place or pixel", "name an array of them with labels of reader npz", 0);
  }

  void look_at_inputs(const Metric& metric) {
    for (const auto& wanted : metric.looks_at()) looked_at.insert(wanted.name);
  }

  void check_inputs(const runtime::Runner& session) const {
    std::vector<std::string> names;
    for (const auto& input : session.inputs()) names.push_back(input.name);
    for (const auto& [text, metric] : metrics) {
      for (const auto& [name, option, instead] : metric->looks_at()) {
        if (instead.empty() || std::ranges::find(names, name) != names.end()) continue;
        throw Error("metric '" + text + "': " + option + " is '" + name + "', which is no input of the model; its inputs: " +
                    joined(names) + did_you_mean(name, names) + "; " + instead);
      }
    }
  }

  bool needs(Truth truth) const {
    return std::ranges::any_of(metrics, [&](const auto& m) { return m.metric->needs() == truth; });
  }

  // Runs the float model, keeps its outputs, their range and the first samples.
  void run_reference(const graph::Model& model, size_t threads, const runtime::Device& device) {
    const runtime::Runner session = runs.judged_runner(model, threads, device);
    check_inputs(session);
    weights.emplace(output_weights, session.outputs());
    for (size_t i = 0; i < session.outputs().size(); ++i) {
      if (weights->of(i) != 0) output_names.push_back(session.outputs()[i].name);
    }
    expect_one_output();
    std::vector<float> lows(count), highs(count);
    answers.resize(count);
    boxes.resize(needs(Truth::boxes) ? count : 0);
    targets.resize(needs(Truth::target) ? count : 0);
    const auto run = [&](size_t i) {
      data::Sample sample = samples->at(i);
      const Flattened output(run_first(session, sample, i), session.outputs(), *weights);
      const auto values = output.values();
      if (values.empty()) throw Error("the float model's outputs are empty" + at_sample(i));
      if (!all_finite(values)) throw Error("the float model's outputs are not finite" + at_sample(i));
      check_label(i, values.size());
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      lows[i] = *low;
      highs[i] = *high;
      outputs.put(i, values);
      answers[i] = output.answer();
      layouts[i].outputs = output.shapes();
      for (const Tensor& input : first_of(sample, runs.repeats())) layouts[i].inputs.push_back(input.shape());
      keep_inputs(i, session, sample);
      if (!boxes.empty()) boxes[i] = data::boxes_of(*samples, i).value_or(data::Boxes());
      if (!targets.empty()) targets[i] = data::target_of(*samples, i).value();
      runs.keep(i, std::move(sample));
    };
    parallel_for(count, threads, run);
    outputs.finish();
    parts.emplace(OutputParts::Samples{count, [this](size_t i) -> const Layout& { return layouts[i]; },
                                       [this](size_t i) { return outputs.get(i); }});
    context = {*std::min_element(lows.begin(), lows.end()), *std::max_element(highs.begin(), highs.end()), decoder.get(),
               &*parts};
    graph_outputs = session.outputs();
  }

  void expect_one_output() const {
    if (output_names.size() < 2) return;
    for (const auto& [name, metric] : metrics) {
      if (!metric->ranks_classes()) continue;
      throw Error("metric '" + name + "' ranks the classes of one output, and the model has " + joined(output_names) +
                  "; leave the others out, such as output_weights: {" + output_names.back() + ": 0}");
    }
  }

  // What the float model cannot run is the sample's fault more often than the model's.
  std::vector<Tensor> run_first(const runtime::Runner& session, const data::Sample& sample, size_t i) const {
    try {
      return runs.run(session, sample);
    } catch (const Error& e) {
      throw Error(e.what() + at_sample(i), e.blame());
    }
  }

  // Those that metrics look at.
  void keep_inputs(size_t i, const runtime::Runner& session, const data::Sample& sample) {
    for (size_t k = 0; k < sample.size(); ++k) {
      const std::string& name = session.inputs()[k].name;
      if (looked_at.contains(name)) inputs[i][name] = first_of({sample[k]}, runs.repeats())[0];
    }
  }

  // Its metric comes last, so that the objective and what races by it are as they were.
  void add_head(const graph::Model& model) {
    if (weights->any()) return;
    head = decoder ? head_by_decoder(decoder_words) : found_head(model);
    const auto kind = [](const std::string& metric) { return metric.substr(0, metric.find('(')); };
    for (const auto& [name, metric] : metrics) {
      if (kind(name) != kind(head->metric)) continue;
      head->suggested = std::exchange(head->metric, name);
      return;
    }
    if (custom) head->metric.clear();
    if (head->metric.empty()) return;
    try {
      if (!head->decoder.is_null() && !decoder) decoder = make_decoder(head->decoder, surroundings.base);
      context.decoder = decoder.get();
      NamedMetric added{head->metric, make_metric(head->metric)};
      if (reference_by(added) == 0) throw Error("the float model finds nothing on these samples");
      metrics.push_back(std::move(added));
    } catch (const Error& e) {
      head->problem = e.what();
      head->metric.clear();
    }
  }

  Head found_head(const graph::Model& model) const {
    try {
      return head_of(runs.judged(model), seen());
    } catch (const Error& e) {  // what it says of the model, others find out where they need it
      return {"", e.what()};
    }
  }

  // What the float model answered on a few samples, which are enough to see what its outputs mean.
  Seen seen() const {
    constexpr size_t enough = 16;
    Seen out;
    for (size_t i = 0; i < std::min(enough, count); ++i) {
      out.layouts.push_back(layouts[i]);
      out.values.push_back(outputs.get(i));
    }
    return out;
  }

  // The metric of the float model against itself.
  double reference_by(const NamedMetric& one) const {
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

  Pair pair_of(size_t i, std::span<const float> candidate) const {
    return {outputs.get(i),
            candidate,
            samples->label(i),
            &layouts[i],
            boxes.empty() ? nullptr : &boxes[i],
            targets.empty() ? nullptr : &targets[i],
            &inputs[i],
            i};
  }

  void check_label(size_t i, size_t classes) const {
    const int64_t label = needs(Truth::label) ? samples->label(i).value() : 0;
    if (label >= 0 && static_cast<uint64_t>(label) < classes) return;
    throw Error("label " + std::to_string(label) + " of " + samples->source() + at_sample(i) + " is none of the model's " +
                std::to_string(classes) + " classes; is label_offset right?");
  }

  std::string doubt_of_labels() const {
    if (!needs(Truth::label) || std::ranges::find(answers, -1) != answers.end()) return "";
    std::vector<int64_t> labels(count);
    for (size_t i = 0; i < count; ++i) labels[i] = samples->label(i).value();
    return eval::label_doubt(answers, labels, outputs.get(0).size());
  }

  // The metrics of the float model against itself; only those that look at labels have an interval.
  void score_reference() {
    Ledger ledger(metrics, count);
    for (size_t i = 0; i < count; ++i) ledger.add(i, pair_of(i, outputs.get(i)), context);
    reference = ledger.scores();
    for (const auto& [name, metric] : metrics) {
      Score& score = reference[name];
      if (metric->compares_to_float()) score.low = score.high = score.value;
    }
    keep_answers(reference, answers);
  }

  // The custom evaluator's scores of the float model, which the user must see fail before anything else runs.
  void score_reference_by_user(const graph::Model& model, size_t threads) {
    if (!custom) return;
    for (size_t i = 0; i < count && samples->label(i); ++i) surroundings.labels.push_back(*samples->label(i));
    if (surroundings.labels.size() < count) surroundings.labels.clear();
    surroundings.reference = [this, model, threads]() -> const Outputs& {
      const std::lock_guard lock(reference_lock);
      if (!reference_outputs) reference_outputs = runs.all(model, threads, own_device);
      return *reference_outputs;
    };
    try {
      add_own(reference, Subject(model, surroundings, surroundings.reference_file, surroundings.reference));
    } catch (const EvaluatorFailed& failed) {
      throw Error(std::string("search_evaluator cannot score the float model: ") + failed.what() +
                  (failed.details.empty() ? "" : "\n" + failed.details));
    }
  }

  // What fails for want of room is no result. The model still takes its own, which is free once the failure is known elsewhere.
  Values own_values(const Subject& subject) const {
    try {
      return custom->score(subject);
    } catch (const EvaluatorFailed&) {
      require_temporary_space();
      throw;
    }
  }

  void add_own(Scores& scores, const Subject& subject) const {
    for (const auto& [name, value] : own_values(subject)) {
      if (scores.contains(name)) throw EvaluatorFailed("the evaluator gives '" + name + "', which Quasar measures itself");
      scores[name] = {.value = value, .low = value, .high = value};
    }
  }

  // With the first metric's score, unless some sample has none.
  void keep_answers(Scores& scores, std::vector<int32_t> found) const {
    if (metrics.empty()) return;
    if (std::ranges::find(found, -1) == found.end()) scores[metrics.front().name].answers = std::move(found);
  }

  // What the candidate makes of this sample, into the ledger. -> its answer
  int32_t score_sample(const runtime::Runner& session, size_t i, Ledger& ledger) const {
    const Flattened output(runs.run(session, runs.sample(i)), session.outputs(), *weights);
    const Pair pair = pair_of(i, output.values());
    expect_comparable(pair, i);
    ledger.add(i, pair, context);
    return output.answer();
  }

  static void expect_comparable(const Pair& pair, size_t i) {
    if (pair.candidate.size() != pair.reference.size()) {
      throw NotComparable("the candidate has " + std::to_string(pair.candidate.size()) + " output values, the float model " +
                          std::to_string(pair.reference.size()) + at_sample(i));
    }
    if (!all_finite(pair.candidate)) throw NotComparable("outputs are not finite" + at_sample(i));
  }

  double distance(std::vector<Tensor> a, std::vector<Tensor> b) const {
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

  void each(const graph::Model& model, double noise, size_t threads, const runtime::Device& device, const Visit& visit) const {
    const runtime::Runner session = runs.judged_runner(model, threads, device);
    parallel_for(count, threads, [&](size_t i) {
      const data::Sample sample = noise > 0 ? with_noise(runs.sample(i), noise, i) : runs.sample(i);
      const Flattened output(runs.run(session, sample), session.outputs(), *weights);
      const Pair pair = pair_of(i, output.values());
      expect_comparable(pair, i);
      visit(i, pair);
    });
  }

  std::optional<Scores> score(const graph::Model& candidate, size_t threads, const Referee& referee,
                              const runtime::Device& device, std::span<const size_t> wanted, const Scores& said) const {
    auto scores = metrics.empty() ? Scores() : compared(candidate, threads, referee, device, wanted);
    if (!scores || !custom) return scores;
    if (!said.empty()) {
      scores->insert(said.begin(), said.end());
      return scores;
    }
    const auto run = [&] { return runs.all(candidate, threads, device); };
    add_own(*scores, Subject(candidate, surroundings, {}, run));
    return scores;
  }

  // Without the metrics' scores where the user's evaluator can do with outputs that metrics cannot: their number may depend on
  // the data.
  std::optional<Scores> compared(const graph::Model& candidate, size_t threads, const Referee& referee,
                                 const runtime::Device& device, std::span<const size_t> wanted) const {
    try {
      return built_in(candidate, threads, referee, device, wanted);
    } catch (const NotComparable&) {
      if (!custom) throw;
      return Scores();
    }
  }

  std::optional<Scores> built_in(const graph::Model& candidate, size_t threads, const Referee& referee,
                                 const runtime::Device& device, std::span<const size_t> wanted) const {
    const std::span<const size_t> raced_in = wanted.empty() ? std::span<const size_t>(order) : wanted;
    const runtime::Runner session = runs.judged_runner(candidate, threads, device);
    Ledger ledger(metrics, count);
    std::vector<int32_t> found(count);
    std::vector<double> raced;
    for (size_t done = 0; done < count;) {
      const size_t block = referee ? next_block(done, count) : count;
      parallel_for(block, threads, [&](size_t k) {
        const size_t i = referee ? raced_in[done + k] : k;
        found[i] = score_sample(session, i, ledger);
      });
      done += block;
      if (!referee) continue;
      while (raced.size() < done) raced.push_back(ledger.value(raced_in[raced.size()]));
      if (!referee(raced) && done < count) return std::nullopt;
    }
    Scores scores = ledger.scores();
    keep_answers(scores, std::move(found));
    return scores;
  }

  void look(const graph::Model& candidate, size_t threads, const runtime::Device& device, std::span<const size_t> wanted,
            const Look& look) const {
    const runtime::Runner session = runs.judged_runner(candidate, threads, device);
    std::mutex one_by_one;
    std::atomic<bool> enough{false};
    parallel_for(wanted.size(), threads, [&](size_t k) {
      if (enough) return;
      const size_t i = wanted[k];
      const Flattened output(runs.run(session, runs.sample(i)), session.outputs(), *weights);
      const Pair pair = pair_of(i, output.values());
      expect_comparable(pair, i);
      const double value = metrics.front().metric->of(pair, context);
      const std::lock_guard lock(one_by_one);
      if (!enough && !look(i, value)) enough = true;
    });
  }

  data::DatasetPtr samples;
  size_t count;
  ModelRuns runs;
  std::vector<NamedMetric> metrics;
  OutputStore outputs;
  std::vector<size_t> order;  // of the race
  Json output_weights;
  std::optional<OutputWeights> weights;  // once the model's outputs are known
  std::vector<int32_t> answers;          // the float model's
  std::vector<Layout> layouts;
  std::vector<std::map<std::string, Tensor>> inputs;  // of each sample, those that metrics look at
  std::set<std::string> looked_at;                    // their names
  Json decoder_words;
  std::optional<Head> head;
  std::vector<data::Boxes> boxes;  // empty: no metric needs them
  std::vector<Tensor> targets;     // the same
  std::unique_ptr<Decoder> decoder;
  std::optional<OutputParts> parts;
  std::vector<graph::Value> graph_outputs;
  std::vector<std::string> output_names;  // of those that count
  Context context;
  Scores reference;
  std::shared_ptr<const CustomEvaluator> custom;
  runtime::Device own_device;  // that the float model's outputs for the custom evaluator are computed on
  Surroundings surroundings;   // that the custom evaluator sees
  std::mutex reference_lock;
  std::optional<Outputs> reference_outputs;  // for a custom evaluator that looks at them
};

Evaluator::Evaluator(const graph::Model& reference, data::DatasetPtr samples, EvaluatorOptions options)
    : impl_(std::make_unique<Impl>(std::move(samples), options)) {
  impl_->run_reference(reference, options.threads, device_for_float(options.device));
  if (options.judge_head) impl_->add_head(reference);
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

const OutputParts& Evaluator::parts() const {
  return *impl_->parts;
}

const std::vector<std::string>& Evaluator::outputs() const {
  return impl_->output_names;
}

const Context& Evaluator::context() const {
  return impl_->context;
}

const std::vector<std::string>& Evaluator::judged_values() const {
  return impl_->runs.judged_values();
}

graph::Model Evaluator::judged(const graph::Model& model) const {
  return impl_->runs.judged(model);
}

double Evaluator::distance(std::vector<Tensor> a, std::vector<Tensor> b) const {
  return impl_->distance(std::move(a), std::move(b));
}

void Evaluator::each(const graph::Model& model, double noise, size_t threads, const runtime::Device& device,
                     const Visit& visit) const {
  impl_->each(model, noise, threads, device, visit);
}

std::string Evaluator::label_doubt() const {
  return impl_->doubt_of_labels();
}

const std::optional<Head>& Evaluator::head() const {
  return impl_->head;
}

Scores Evaluator::score(const graph::Model& candidate, size_t threads, const runtime::Device& device, const Scores& said) const {
  return *impl_->score(candidate, threads, {}, device, {}, said);
}

std::optional<Scores> Evaluator::race(const graph::Model& candidate, size_t threads, const Referee& referee,
                                      const runtime::Device& device, std::span<const size_t> order, const Scores& said) const {
  return impl_->score(candidate, threads, referee, device, order, said);
}

void Evaluator::look(const graph::Model& candidate, size_t threads, const runtime::Device& device, std::span<const size_t> order,
                     const Look& look) const {
  impl_->look(candidate, threads, device, order, look);
}

}  // namespace quasar::eval
