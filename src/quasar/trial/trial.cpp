#include "quasar/trial/trial.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <system_error>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/deadline.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/machine.hpp"
#include "quasar/base/memory_cap.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/base/temporary_space.hpp"
#include "quasar/graph/page_out.hpp"
#include "quasar/job/goal_parts.hpp"
#include "quasar/job/precision.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/quant/standalone.hpp"
#include "quasar/runtime/kernels.hpp"
#include "quasar/runtime/latency.hpp"
#include "quasar/trial/nothing_quantized.hpp"

namespace quasar::tune {
namespace {

double latency_at_pace(const TrialContext& context, const graph::Model& model, const runtime::Device& device) {
  if (context.float_ms <= 0 || !runtime::runs_float(device.library))
    return runtime::latency(model, context.samples, {}, device).median_ms;
  const std::array models{&context.model, &model};
  const auto times = runtime::times_in_turn(models, context.samples, {}, device);
  return context.float_ms * runtime::ratio_of(times[1], times[0]).median;
}

}  // namespace

size_t bytes_of(const graph::Model& model) {
  const size_t weights = graph::weight_bytes(model);
  return weights < size_t{2000} << 20 ? graph::to_bytes(model).size() : weights;
}

Measures measured(const TrialContext& context, const graph::Model& model, const eval::Scores& scores, Undisturbed::Work& work,
                  const runtime::Device& device) {
  const Goals& goals = context.job.aim.goals;
  Measures out;
  for (const auto& [name, score] : scores) out[name] = score.value;
  if (goals.needs("bytes") || context.job.budget) out["bytes"] = static_cast<double>(bytes_of(model));
  if (goals.needs("peak_memory")) out["peak_memory"] = static_cast<double>(runtime::peak_memory(model, context.samples));
  if (goals.needs("latency") || goals.needs("relative_latency")) {
    const double latency = out["latency"] = work.alone([&] { return latency_at_pace(context, model, device); });
    if (context.float_ms > 0) out["relative_latency"] = latency / context.float_ms;
  }
  return out;
}

graph::ExternalData external(const quant::Config& config) {
  return config.external_data ? graph::ExternalData::always : graph::ExternalData::when_needed;
}

bool is_good_enough(const Aim& aim, const Measures& values, const eval::Scores& reference) {
  if (aim.criterion) return excess_of(*aim.criterion, values, measures_of(reference)) <= 0;
  if (aim.tolerance.is_null()) return false;
  const auto& [metric, direction] = aim.goals.objectives.front();
  const double value = values.at(metric), was = reference.at(metric).value;
  const double loss = direction == Direction::maximize ? was - value : value - was;
  return excess_over(loss, aim.tolerance.get<double>(), was, value) <= 0;
}

quant::Plan plan_of(const TrialContext& context, const quant::Config& config) {
  return context.variants.plan(config, context.target);
}

Built build(const TrialContext& context, const quant::Config& config, quant::Plan plan, const std::function<void()>& check) {
  return context.variants.build(config, plan, check);
}

namespace {

// An operator of its own falls back to a 16-bit float; a configuration of such types quantizes to them.
Halves halves_of(const quant::Config& config, const search::Point& point) {
  const bool meant = quant::is_half(config.activation.type) || quant::is_half(config.weight.type);
  return meant || !falls_back_to_half(point) ? Halves::meant : Halves::fallback;
}

// Whether the space has nothing but weights only and scales found at run time. Few operators have kernels for these.
bool asks_for_no_pairs(const search::Space& space) {
  const auto has_pairs = [&](const search::Point& point) {
    return quant::form_of(quant::parse_config(words_of(space, point)).activation) == quant::NodeForm::pairs;
  };
  const search::Point first = space.nearest_to(Json::object());
  if (has_pairs(first)) return false;
  for (const char* name : {"scheme", "activation"}) {
    const search::Parameter* parameter = space.find(name);
    for (uint64_t i = 0; parameter != nullptr && i < search::cardinality(*parameter->distribution).value_or(0); i++) {
      const std::pair<std::string, Json> choice(name, search::value_at(*parameter->distribution, i));
      if (has_pairs(changed(space, first, std::span(&choice, 1)))) return false;
    }
  }
  return true;
}

// Throws Error for what would win every search, and be of no use.
void require_enough(const TrialContext& context, const quant::Config& config, const search::Point& point,
                    const quant::Plan& plan) {
  require_quantized(plan, {context.model, config, halves_of(config, point)});
  const std::string why = hardly_quantized(plan, context.variants.graph_of(config)->model, context.variants.seen(config));
  if (!why.empty() && !asks_for_no_pairs(context.space)) throw Error(why);
}

}  // namespace

quant::Plan possible_plan(const TrialContext& context, const quant::Config& config, const search::Point& point) {
  quant::Plan plan = plan_of(context, config);
  require_enough(context, config, point, plan);
  return plan;
}

std::string why_impossible(const TrialContext& context, const search::Point& point) {
  try {
    possible_plan(context, quant::parse_config(words_of(context.space, point)), point);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

quant::Config config_of(const TrialContext& context, const search::Trial& trial) {
  const auto recorded = trial.user_attributes.find("config");
  return quant::parse_config(recorded == trial.user_attributes.end() ? words_of(context.space, trial.point) : *recorded);
}

void keep(const TrialContext& context, int64_t trial, const eval::Scores& scores, double value, const graph::Model& model) {
  const bool minimize = context.job.aim.goals.objectives.front().direction == Direction::minimize;
  context.book.keep(trial, scores, minimize ? value : -value, model);
}

namespace {

size_t threads_of(const Job& job) {
  return std::max<size_t>(1, cores() / static_cast<size_t>(job.n_jobs));
}

// How a trial that was given up stood.
struct Fallen {
  std::optional<double> value;  // nullopt: the samples so far are no fair selection
  size_t samples = 0;
};

// Beside the user's evaluator, metrics are left out where outputs cannot be compared; the goals may need them.
void require_scores(const Goals& goals, const eval::Scores& scores) {
  const auto require = [&](const std::string& metric) {
    if (is_cost(metric) || scores.contains(metric)) return;
    throw Error("metric " + metric +
                " has no value: the candidate's outputs are not finite, or not as many as the float model's");
  };
  for (const auto& objective : goals.objectives) require(objective.metric);
  for (const auto& constraint : goals.constraints) require(constraint.metric);
}

// nullopt and the standing: the pruner gave the trial up.
std::optional<eval::Scores> score(const TrialContext& context, search::RunningTrial& trial, const graph::Model& candidate,
                                  Fallen& fallen, const runtime::Device& device) {
  const size_t threads = threads_of(context.job);
  if (context.rejection != nullptr && context.rejection->watches()) {
    const auto referee = [&](std::span<const double> values) {
      fallen = {std::nullopt, values.size()};
      return values.size() == context.evaluator.samples() || !context.rejection->out_of_reach(values);
    };
    return context.evaluator.race(candidate, threads, referee, device, context.rejection->order());
  }
  if (context.racer == nullptr) return context.evaluator.score(candidate, threads, device);
  const auto referee = [&](std::span<const double> values) {
    fallen = {search::mean_of(values), values.size()};
    const bool given_up = context.racer->gives_up(trial, values, context.evaluator.samples());
    return !given_up || trial.number() == 0;  // the default configuration: reports compare with all of it
  };
  return context.evaluator.race(candidate, threads, referee, device);
}

search::Outcome run_trial(const TrialContext& context, search::RunningTrial& trial) {
  Undisturbed::Work work(context.undisturbed);
  const quant::Config config = quant::parse_config(words_of(context.space, trial.point()));
  const quant::Plan plan = possible_plan(context, config, trial.point());
  const Json own{{"config", quant::to_json(config)}};  // also of a duplicate: another configuration may make the same model
  if (const auto other = trial.claim(quant::hash_of(plan))) return {.values = {}, .duplicate_of = other, .user_attributes = own};
  Stopwatch watch;
  const auto [candidate, rounding] = build(context, config, plan, throw_if_cancelled);
  const double build_s = watch.seconds();
  const std::string content = rounding.layers.empty() ? "" : content_of(candidate, plan);
  if (const auto other = context.book.same_model(content); other && !content.empty())
    return {.values = {}, .duplicate_of = other, .user_attributes = own};
  if (context.job.output.keep_models == "all")
    graph::save(candidate, kept_file(context.job.study, trial.number()), external(config));
  Fallen fallen;
  const auto loan = context.devices.take();
  const auto scores = score(context, trial, candidate, fallen, loan.device());
  search::Outcome outcome{.user_attributes = {{"config", own.at("config")},
                                              {"quantized_nodes", plan.nodes.size()},
                                              {"bytes", graph::weight_bytes(candidate)},
                                              {"build_s", build_s},
                                              {"score_s", watch.seconds() - build_s}}};
  if (!loan.device().is_cpu()) outcome.user_attributes["device"] = loan.device().name();
  if (!rounding.layers.empty()) outcome.user_attributes["rounding"] = to_json(rounding);
  if (!scores) {
    outcome.pruned = true;
    if (fallen.value) outcome.values = {*fallen.value};
    if (!fallen.value && context.job.aim.criterion)
      outcome.user_attributes[missed_attribute] = to_json(*context.job.aim.criterion);
    outcome.user_attributes[search::attribute::pruned] = "after " + std::to_string(fallen.samples) + " of " +
                                                         std::to_string(context.evaluator.samples()) + " samples" +
                                                         (fallen.value ? "" : ": the accuracy criterion is out of reach");
    return outcome;
  }
  if (!content.empty()) {
    context.book.know(content, trial.number());
    outcome.user_attributes[content_attribute] = content;
  }
  const Goals& goals = context.job.aim.goals;
  require_scores(goals, *scores);
  const Measures measures = measured(context, candidate, *scores, work, loan.device());
  outcome.values = values_of(goals, measures);
  const eval::Scores& reference = context.evaluator.reference();
  outcome.constraints = constraints_of(context.job.aim, measures, reference);
  outcome.user_attributes["metrics"] = measures;
  if (context.racer != nullptr) {
    if (Json news = context.racer->news_of(trial.number()); !news.is_null())
      outcome.user_attributes[search::best_values_attribute] = std::move(news);
  }
  const bool feasible = std::ranges::all_of(outcome.constraints, [](double excess) { return excess <= 0; });
  outcome.candidate = feasible && is_good_enough(context.job.aim, measures, reference);
  if (feasible) {
    keep(context, trial.number(), *scores, outcome.values.front(), candidate);
  } else {
    context.book.note(trial.number(), *scores);
  }
  if (outcome.candidate && context.job.output.keep_models == "candidates")
    graph::save(candidate, kept_file(context.job.study, trial.number()), external(config));
  return outcome;
}

Error out_of_memory(const Limits& limits) {
  const Uncapped words;
  const size_t most = limits.trial_memory;
  return Error("out of memory" + (most == 0
                                      ? std::string()
                                      : ": the trial needs more than trial_memory_limit (" + std::to_string(most) + " bytes)"));
}

}  // namespace

// What the model holds, however its plan asked for it.
std::string content_of(const graph::Model& model, quant::Plan plan) {
  plan.rounding = {};
  plan.rounded_as = {};
  plan.corrections = {};
  std::string text = quant::hash_of(plan);
  for (const auto& [name, tensor] : model.initializers) text += name + hash_of(tensor.bytes());
  return hash_of(std::string_view(text));
}

std::filesystem::path kept_file(const StudyKeys& study, int64_t trial) {
  const std::string before = study.predecessor.empty() ? "" : study.name + "_";
  return study.folder / (before + "trial_" + std::to_string(trial) + ".onnx");
}

search::Outcome try_point(const TrialContext& context, search::RunningTrial& trial) {
  const double limit = context.job.limits.trial_time;
  const Deadline deadline = [&] {
    const Uncapped others;
    return Deadline(trial.stop(), limit > 0 ? std::optional(Deadline::after(limit)) : std::nullopt);
  }();
  const CancelScope scope(deadline.token());
  try {
    const MemoryCap cap(context.job.limits.trial_memory);
    return run_trial(context, trial);
  } catch (const std::bad_alloc&) {
    throw out_of_memory(context.job.limits);
  } catch (const std::system_error& e) {  // a thread that found no room for its stack
    if (context.job.limits.trial_memory == 0 || e.code() != std::errc::resource_unavailable_try_again) throw;
    throw out_of_memory(context.job.limits);
  } catch (const eval::EvaluatorFailed& failed) {
    require_temporary_space();  // where the model and the evaluator's answer stand
    if (failed.kind.empty()) throw;
    throw search::TrialFailed(failed.what(), {{failed.kind, failed.details}});
  } catch (const Cancelled&) {
    if (!deadline.passed()) throw;
    throw Error("the trial took longer than trial_time_limit (" + Json(limit).dump() + " s)");
  }
}

quant::Plan rounded_plan(const TrialContext& context, const quant::Config& config, const std::function<void()>& check) {
  quant::Plan plan = plan_of(context, config);
  context.variants.improve(config, plan, check);
  return plan;
}

ToggledModel instrumented(const TrialContext& context, const quant::Config& config, const quant::Plan& plan) {
  return {context.evaluator.judged(context.variants.graph_of(config)->model), plan, context.job.limits.memory};
}

}  // namespace quasar::tune
