#include "quasar/report/result.hpp"

#include <algorithm>

#include "quasar/base/digits.hpp"
#include "quasar/base/machine.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/base/version.hpp"
#include "quasar/report/sureness.hpp"
#include "quasar/runtime/session.hpp"
#include "quasar/trial/trial.hpp"

namespace quasar::report {
Json score_json(const std::string& metric, const eval::Score& score) {
  Json out{{"value", score.value}, {"low", score.low}, {"high", score.high}, {"samples", score.samples}};
  if (const std::string word = tune::plain_word(metric, score.value); !word.empty()) out["word"] = word;
  return out;
}

namespace {

Json scores_json(const eval::Scores& scores) {
  Json out = Json::object();
  for (const auto& [name, score] : scores) out[name] = score_json(name, score);
  return out;
}

Json measured_json(const tune::Measured& measured) {
  Json out{{"metrics", scores_json(measured.metrics)}};
  if (measured.holdout) out["holdout"] = scores_json(*measured.holdout);
  out["bytes"] = measured.bytes;
  out["latency_ms"] = {{"median", measured.latency.median_ms}, {"p90", measured.latency.p90_ms}};
  return out;
}

Json params_json(const search::Trial& trial) {
  Json out = Json::object();
  for (const auto& [name, value] : trial.point.values()) out[name] = value;
  return out;
}

Json ratio_json(const runtime::Ratio& ratio) {
  return {{"value", ratio.median}, {"low", ratio.low}, {"high", ratio.high}};
}

Json best_json(const tune::Winner& best) {
  Json out{{"trial", best.trial.number}, {"model", "best.onnx"}, {"params", params_json(best.trial)}};
  const Json measured = measured_json(best);
  out.update(measured);
  out["time_of_float"] = ratio_json(best.speed.of_float);
  out["time_of_float"]["float_ms"] = best.speed.in_float.median_ms;
  if (best.speed.on_all) {
    out["time_of_float"]["on_all"] = ratio_json(*best.speed.on_all);
    out["time_of_float"]["on_all"]["threads"] = cores();
  }
  if (!best.speed.operators.is_null()) out["operator_costs"] = best.speed.operators;
  out["answers"] = tune::to_json(best.quality);
  out["needs"] = best.needs;
  if (!best.pieces.empty()) out["models"] = tune::to_json(best.pieces);
  out["operators"] = {{"quantized", best.quantized_nodes}, {"float", best.float_nodes}, {"by", best.nodes_by}};
  if (best.broken_rules) out["broken_rules"] = *best.broken_rules;
  if (!best.lost_parts.empty()) out["lost_parts"] = best.lost_parts;
  if (best.processors) out["processors"] = tune::to_json(*best.processors);
  out["layers"] = tune::to_json(best.layers);
  out["ranges"] = tune::to_json(best.ranges);
  if (best.flips) out["flips"] = tune::to_json(*best.flips);
  out["evidence"] = tune::to_json(best.evidence);
  return out;
}

// Sorted by the first objective.
std::vector<const search::Trial*> front_of(const tune::Aim& aim, const tune::Summary& summary) {
  std::vector<const search::Trial*> out;
  for (const auto& trial : summary.trials) {
    if (std::ranges::find(summary.front, trial.number) != summary.front.end()) out.push_back(&trial);
  }
  const Direction direction = aim.goals.objectives.front().direction;
  std::ranges::stable_sort(
      out, [&](const auto* a, const auto* b) { return search::better(a->values.front(), b->values.front(), direction); });
  return out;
}

Json candidates_json(const tune::Summary& summary) {
  Json out = Json::array();
  for (const auto& trial : summary.trials) {
    if (!trial.is_candidate() || trial.is_duplicate()) continue;
    out.push_back({{"trial", trial.number},
                   {"metrics", trial.user_attributes.value("metrics", Json::object())},
                   {"params", params_json(trial)}});
  }
  return out;
}

Json environment_json(const tune::Job& job) {
  return {{"cores", cores()},
          {"n_jobs", job.n_jobs},
          {"target", job.target},
          {"strategy", job.strategy},
          {"search_algo", job.sampler.name},
          {"compiler", "g++ " __VERSION__}};
}

// {trial, values by objective, params}, the best by the first objective first.
Json front_json(const tune::Job& job, const tune::Summary& summary) {
  Json out = Json::array();
  for (const auto* trial : front_of(job.aim, summary)) {
    Json values = Json::object();
    for (size_t i = 0; i < trial->values.size(); ++i) values[job.aim.goals.objectives[i].metric] = trial->values[i];
    out.push_back({{"trial", trial->number}, {"values", values}, {"params", params_json(*trial)}});
  }
  return out;
}

}  // namespace

std::string name_of(tune::Status status) {
  switch (status) {
    case tune::Status::ok:
      return "ok";
    case tune::Status::goal_missed:
      return "goal_missed";
    case tune::Status::no_candidate:
      return "no_candidate";
    case tune::Status::strategy_failed:
      return "strategy_failed";
    case tune::Status::interrupted:
      return "interrupted";
  }
  return "";
}

Json header_json(const tune::Job& job) {
  Json objectives = Json::array();
  for (const auto& [metric, direction] : job.aim.goals.objectives) {
    objectives.push_back({{"name", metric}, {"direction", direction == Direction::maximize ? "maximize" : "minimize"}});
  }
  return {{"quasar", version()},
          {"onnxruntime", runtime::version()},
          {"judge", runtime::facts_of(job.devices.front())},
          {"cpu", runtime::cpu_name()},
          {"seed", job.seed},
          {"objectives", objectives},
          {"study", without_login(job.study.storage)},
          {"study_name", job.study.name},
          {"environment", environment_json(job)}};
}

Json baseline_json(const std::filesystem::path& model, const tune::Measured& baseline) {
  Json out{{"model", model.string()}};
  out.update(measured_json(baseline));
  return out;
}

Json counts_json(const search::Counts& counts) {
  return {{"requested", counts.finished()}, {"executed", counts.executed()}, {"duplicate", counts.duplicates},
          {"complete", counts.complete},    {"pruned", counts.pruned},       {"failed", counts.failed}};
}

Json best_so_far_json(const search::Trial& trial) {
  Json metrics = Json::object();
  const Json values = trial.user_attributes.value("metrics", Json::object());
  for (const auto& [name, value] : values.items()) metrics[name] = {{"value", value}};
  return {{"trial", trial.number}, {"params", params_json(trial)}, {"metrics", metrics}};
}

Json result_json(const tune::Job& job, const tune::Summary& summary) {
  Json out{{"status", name_of(summary.status)}, {"reason", summary.reason}};
  if (summary.best) {
    out["quality"] = summary.best->quality.word;
    out["faster"] = summary.best->speed.counts ? Json(summary.best->speed.faster()) : Json();
  }
  out.update(header_json(job));
  out["seconds"] = summary.seconds;
  out["baseline"] = baseline_json(job.model, summary.baseline);
  if (!summary.head.is_null()) out["head"] = summary.head;
  out["best"] = summary.best ? best_json(*summary.best) : Json(nullptr);
  out["candidates"] = candidates_json(summary);
  if (!job.aim.goals.constraints.empty() || job.aim.goals.objectives.size() > 1) {
    out["constraints"] = tune::to_json(job.aim.goals)["constraints"];
    out["front"] = front_json(job, summary);
    if (summary.best) out["best"]["feasible"] = summary.best->trial.violation() <= 0;
  }
  if (summary.speed_gate) out["speed_gate"] = tune::to_json(*summary.speed_gate);
  out["warnings"] = summary.warnings;
  out["trials"] = counts_json(summary.counts);
  if (summary.story) out["tuning"] = tune::to_json(*summary.story);
  out["phases"] = {{"prepare_s", summary.prepare_s},
                   {"float_s", summary.float_s},
                   {"calibrate_s", summary.calibrate_s},
                   {"trials_s", summary.trials_s},
                   {"winner_s", summary.winner_s}};
  return out;
}

namespace {

std::string shown(double value) {
  return plain_digits(value, 4);
}

// 80 columns at most: the name in 20, three cells of 10, an interval of 21, a word of 7.
std::string row(std::string name, const std::vector<std::string>& cells) {
  if (name.size() > 20) name = name.substr(0, 19) + "~";
  std::string line = "  " + name + std::string(20 - name.size(), ' ');
  for (size_t i = 0; i < cells.size(); ++i) {
    const size_t width = i == 3 ? 21 : i == 4 ? 7 : 10;
    line += std::string(cells[i].size() < width ? width - cells[i].size() : 1, ' ') + cells[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string interval(const eval::Score& score) {
  return score.high > score.low ? "[" + shown(score.low) + ", " + shown(score.high) + "]" : "";
}

// One line per trial of the Pareto front, as many objectives as fit.
std::string front_table(const tune::Aim& aim, const tune::Summary& summary) {
  constexpr size_t most_rows = 12, most_columns = 4;
  if (aim.goals.objectives.size() < 2) return "";
  std::vector<std::string> names;
  for (const auto& objective : aim.goals.objectives) {
    if (names.size() < most_columns) names.push_back(objective.metric);
  }
  const auto front = front_of(aim, summary);
  std::string text = "\n" + row("Pareto front", names);
  for (size_t i = 0; i < std::min(front.size(), most_rows); ++i) {
    std::vector<std::string> cells;
    for (size_t k = 0; k < names.size(); ++k) cells.push_back(shown(front[i]->values[k]));
    text += row("trial " + std::to_string(front[i]->number), cells);
  }
  if (front.size() > most_rows) text += "  and " + std::to_string(front.size() - most_rows) + " more in result.json\n";
  return text;
}

// Those that the job names, then the metric of the model's head.
std::vector<std::string> reported(const tune::Aim& aim, const tune::Summary& summary) {
  std::vector<std::string> out = aim.metrics;
  for (const auto& [name, score] : summary.baseline.metrics) {
    if (std::ranges::find(out, name) == out.end()) out.push_back(name);
  }
  return out;
}

const search::Trial* default_trial(const tune::Summary& summary) {
  for (const auto& trial : summary.trials) {
    if (trial.number == 0 && trial.state == search::State::complete) return &trial;
  }
  return nullptr;
}

}  // namespace

std::string verdict(const tune::Summary& summary) {
  if (!summary.best || !summary.best->quality.poor()) return "";
  const tune::Quality& quality = summary.best->quality;
  std::string text = "POOR: the best model is of little use: ";
  for (const auto& reason : quality.reasons) text += (&reason == &quality.reasons.front() ? "" : "; ") + reason;
  text += ".\nTry: ";
  for (const auto& cure : quality.cures) text += (&cure == &quality.cures.front() ? "" : "; ") + cure;
  return text + ".\n";
}

std::string result_table(const tune::Aim& aim, const tune::Summary& summary) {
  const std::vector<std::string> metrics = reported(aim, summary);
  std::string text = verdict(summary) + row("", {"float", "default", "best", "95 % interval"});
  const search::Trial* first = default_trial(summary);
  for (const auto& metric : metrics) {
    const auto first_value = [&] {
      const Json values = first == nullptr ? Json::object() : first->user_attributes.value("metrics", Json::object());
      return values.contains(metric) ? shown(values[metric].get<double>()) : "-";
    };
    const auto reference = summary.baseline.metrics.find(metric);
    const bool known = reference != summary.baseline.metrics.end();
    const eval::Score* const best =
        summary.best && summary.best->metrics.contains(metric) ? &summary.best->metrics.at(metric) : nullptr;
    text += row(metric, {known ? shown(reference->second.value) : "-", first_value(), best != nullptr ? shown(best->value) : "-",
                         best != nullptr ? interval(*best) : "", best != nullptr ? tune::plain_word(metric, best->value) : ""});
  }
  if (summary.best && summary.best->holdout) {
    for (const auto& metric : metrics) {
      if (!summary.best->holdout->contains(metric)) continue;  // an evaluator with data of its own
      text += row(metric + " (hold-out)",
                  {shown(summary.baseline.holdout->at(metric).value), "", shown(summary.best->holdout->at(metric).value),
                   interval(summary.best->holdout->at(metric))});
    }
  }
  if (!summary.best) return text;
  const double bytes = static_cast<double>(summary.best->bytes), bytes_of_float = static_cast<double>(summary.baseline.bytes);
  const ByteUnit unit = unit_of_bytes(bytes_of_float);
  text += row(std::string("size, ") + unit.name, {shown(bytes_of_float / unit.bytes), "", shown(bytes / unit.bytes)});
  const runtime::Ratio& time = summary.best->speed.of_float;
  text +=
      row("latency, ms", {shown(summary.baseline.latency.median_ms), "", shown(summary.best->latency.median_ms),
                          summary.best->speed.counts ? "[" + in_digits(time.low, 3) + ", " + in_digits(time.high, 3) + "] × float"
                                                     : "not the target's"});
  if (const auto& on_all = summary.best->speed.on_all)
    text += row("on all " + std::to_string(cores()) + " cores", {"", "", "", in_digits(on_all->median, 3) + " × float"});
  for (const auto& sentence : sureness(tune::to_json(summary.best->evidence))) text += "  " + sentence + "\n";
  return text + front_table(aim, summary);
}

}  // namespace quasar::report
