#include "quasar/eval/evaluate.hpp"

#include <algorithm>
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
#include "quasar/eval/candidate_runs.hpp"
#include "quasar/eval/label_doubt.hpp"

namespace quasar::eval {
namespace {

// That the float model runs on, where candidates run on this one.
runtime::Device device_for_float(const runtime::Device& device) {
  return runtime::runs_float(device.library) ? device : runtime::Device();
}

bool is_own(const CustomEvaluator& custom, const std::string& metric) {
  return std::ranges::any_of(custom.metrics(), [&](const OwnMetric& own) { return own.name == metric; });
}

}  // namespace

struct Evaluator::Impl : FloatRun {
  Impl(const data::DatasetPtr& data, const EvaluatorOptions& options)
      : FloatRun(data, ModelRuns(data, options.exact_sums, options.judged), options.memory_limit, options.spill),
        order(Rng(options.seed).permutation(count)),
        output_weights(options.output_weights),
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

  // Runs the float model, keeps its outputs, their range and the first samples.
  void run_reference(const graph::Model& model, size_t threads, const runtime::Device& device) {
    const runtime::Runner session = runs.judged_runner(model, threads, device);
    check_inputs(session);
    weights.emplace(output_weights, session.outputs());
    for (size_t i = 0; i < session.outputs().size(); ++i) {
      if (weights->of(i) != 0) output_names.push_back(session.outputs()[i].name);
    }
    expect_one_output();
    std::vector<float> lows(count, INFINITY), highs(count, -INFINITY);
    answers.resize(count);
    boxes.resize(needs(Truth::boxes) ? count : 0);
    targets.resize(needs(Truth::target) ? count : 0);
    const auto run = [&](size_t i) {
      data::Sample sample = samples->at(i);
      const Flattened output(run_first(session, sample, i), session.outputs(), *weights);
      const auto values = output.values();
      if (values.empty() && !counts_detections()) throw Error("the float model's outputs are empty" + at_sample(i));
      if (!all_finite(values)) throw Error("the float model's outputs are not finite" + at_sample(i));
      answers[i] = output.answer();
      check_classes(i, output);
      check_label(i, values.size());
      for (const float value : values) {
        lows[i] = std::min(lows[i], value);
        highs[i] = std::max(highs[i], value);
      }
      outputs.put(i, values);
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

  // Of an output with other axes besides its classes the greatest value of all is nobody's answer.
  void check_classes(size_t i, const Flattened& output) const {
    if (answers[i] >= 0 || output_names.size() != 1) return;
    for (const auto& [name, metric] : metrics) {
      if (!metric->ranks_classes()) continue;
      const std::string what = "metric '" + name + "' ranks the classes of a sample, but the output '" + output_names[0] +
                               "' is " + to_string(output.shapes().front()) + at_sample(i);
      if (output.values().size() < 2)
        throw Error(what + ", one value; metrics of values do (L2, cos), and mean_iou(classes=threshold) counts yes and no");
      throw Error(what +
                  "; a sample is one item, and answers for many places have metrics of their own: mean_iou of pixels, "
                  "token_accuracy of places in a text");
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

  void check_label(size_t i, size_t classes) const {
    if (!needs(Truth::label)) return;
    const int64_t label = samples->label(i).value();
    if (label >= 0 && static_cast<uint64_t>(label) < classes) return;
    throw Error("label " + std::to_string(label) + " of " + samples->source() + at_sample(i) + " is none of the model's " +
                std::to_string(classes) + " classes; is label_offset right?");
  }

  std::string doubt_of_labels() const {
    if (needs(Truth::boxes) && decoder) return doubt_of_boxes();
    if (!needs(Truth::label) || std::ranges::find(answers, -1) != answers.end()) return "";
    std::vector<int64_t> labels(count);
    for (size_t i = 0; i < count; ++i) labels[i] = samples->label(i).value();
    return eval::label_doubt(answers, labels, outputs.get(0).size());
  }

  std::string doubt_of_boxes() const {
    constexpr size_t enough = 200;
    std::vector<std::vector<Detection>> found;
    for (size_t i = 0; i < std::min(count, enough); ++i) found.push_back(decoder->decode(outputs.get(i), layouts[i]));
    return eval::box_doubt(found, std::span(boxes).first(found.size()));
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
      return raced(*this, {candidate, threads, device}, referee, wanted.empty() ? std::span<const size_t>(order) : wanted);
    } catch (const NotComparable&) {
      if (!custom) throw;
      return Scores();
    }
  }

  std::vector<size_t> order;  // of the race
  Json output_weights;
  std::set<std::string> looked_at;  // names of inputs that metrics look at
  Json decoder_words;
  std::optional<Head> head;
  std::vector<std::string> output_names;  // of those that count
  Scores reference;
  std::shared_ptr<const CustomEvaluator> custom;
  runtime::Device own_device;  // that the float model's outputs for the custom evaluator are computed on
  Surroundings surroundings;   // that the custom evaluator sees
  std::mutex reference_lock;
  std::optional<Outputs> reference_outputs;  // for a custom evaluator that looks at them
};

Evaluator::Evaluator(const graph::Model& reference, data::DatasetPtr samples, EvaluatorOptions options)
    : impl_(std::make_unique<Impl>(samples, options)) {
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
  each_pair(*impl_, {model, threads, device}, noise, visit);
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
                     const Look& look, const std::string& name, const Sharer& sharer) const {
  look_at(*impl_, {candidate, threads, device}, order, look, name, sharer);
}

}  // namespace quasar::eval
