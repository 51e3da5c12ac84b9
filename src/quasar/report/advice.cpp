#include "quasar/report/advice.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "quasar/base/digits.hpp"
#include "quasar/base/names.hpp"
#include "quasar/inspect/examine_advice.hpp"
#include "quasar/job/goals.hpp"

namespace quasar::report {
namespace {

using Pointer = Json::json_pointer;

size_t count(const Json& result, const char* kind) {
  return result.value(Pointer(std::string("/trials/") + kind), size_t{0});
}

// Whether the study's target computes in 16 bits, and does not only simulate them in float.
bool takes_16_bits(const Json& contents) {
  const std::string target = contents["result"].value(Pointer("/environment/target"), "");
  return target.empty() || tune::obstacle_to_16_bits(target).empty();
}

// Of a search whose study ends with its process.
bool is_in_memory(const Json& result) {
  return result.value("study", "") == "memory";
}

// "bytes (max 70000, is 78119)": the constraints that the best trial breaks, those on costs or the others. What of them is not
// known in numbers is told without.
std::vector<std::string> broken_constraints(const Json& contents, bool on_costs) {
  const Json& result = contents["result"];
  const Json trial = result.value(Pointer("/best/trial"), Json());
  Json measures = Json::object();
  for (const Json& one : contents["trials"]) {
    if (one["number"] == trial) measures = one.value("metrics", Json::object());
  }
  std::vector<std::string> out;
  for (const Json& constraint : result.value("constraints", Json::array())) {
    const std::string metric = constraint.value("metric", "");
    const Json value = measures.value(metric, Json());
    if (tune::is_cost(metric) != on_costs || !value.is_number()) continue;
    for (const auto& [bound, sign] : {std::pair("max", 1.0), std::pair("min", -1.0)}) {
      const Json limit = constraint.value(bound, Json());
      if (limit.is_number() && sign * (value.get<double>() - limit.get<double>()) > 0)
        out.push_back(metric + " (" + bound + " " + plain_digits(limit.get<double>(), 6) + ", is " +
                      plain_digits(value.get<double>(), 6) + ")");
    }
  }
  return out;
}

// In whatever words the limit was given.
bool is_of_time(const std::string& reason) {
  return std::ranges::any_of(std::array{"time_limit of", "time_limit (", "timeout of", "timeout ("},
                             [&](const char* words) { return reason.find(words) != std::string::npos; });
}

// Why there is no model at all.
void on_no_model(const Json& result, Json& out) {
  const std::string reason = result.value("reason", "");
  if (count(result, "failed") > 0 && count(result, "failed") == count(result, "executed")) {
    out.push_back("Every trial failed, so that there is no model. The first failure, below, says why.");
  } else if (is_of_time(reason)) {
    out.push_back("The time was up before a trial was complete: a longer `time_limit`, or fewer samples, leave room for one.");
  } else {
    out.push_back("No trial was complete, so that there is no model. Why the search ended says more.");
  }
}

void on_missed_goal(const Json& contents, Json& out) {
  if (count(contents["result"], "complete") == 0 && !contents["result"].value("best", Json()).is_object())
    return on_no_model(contents["result"], out);
  const std::vector<std::string> costs = broken_constraints(contents, true);
  if (!costs.empty()) {
    out.push_back(
        "No configuration keeps the constraint on " + joined(costs, " and on ") +
        ". Allow more of it, a larger loss of accuracy, or choices that cost less: fewer bits, fewer operators in float.");
    if (broken_constraints(contents, false).empty()) return;
  }
  out.push_back(
      std::string("No configuration met the goal. Allow more: per-channel weights, `algorithms: [adaround, null]`, the worst ") +
      (takes_16_bits(contents) ? "layers in 16 bits or float" : "layers in float (`exclude`)") + ", or a larger tolerance.");
}

// Of a study without its output folder.
void on_unknown_outcome(const std::string& status, Json& out) {
  if (status == "ended")
    out.push_back(
        "The search has ended. What its winner costs, and its hold-out scores, stand in the output folder of its leader.");
  if (status == "unknown")
    out.push_back("The study does not say how its search ended. `quasar report FOLDER`, of its output folder, does.");
}

void on_outcome(const Json& contents, Json& out) {
  const Json& result = contents["result"];
  const std::string status = result.value("status", "");
  on_unknown_outcome(status, out);
  if (status == "interrupted")
    out.push_back(is_in_memory(result) ? "The search was interrupted. Its study was in memory, so that a search begins anew."
                                       : "The search was interrupted. `quasar search … --resume` continues it where it stopped.");
  if (status == "no_candidate" || status == "goal_missed") on_missed_goal(contents, out);
  if (result.value("quality", "") == "poor") {
    std::string text = "Do not use best.onnx";
    const Json reasons = result.value(Pointer("/best/answers/reasons"), Json::array());
    for (const Json& reason : reasons) text += (&reason == &reasons.front() ? ": " : "; ") + reason.get<std::string>();
    out.push_back(text + ".");
    for (const Json& cure : result.value(Pointer("/best/answers/try"), Json::array()))
      out.push_back("To try: " + cure.get<std::string>() + ".");
    return;
  }
  if (status == "ok" && result.contains("best") && result["best"].is_object())
    out.push_back(std::string("Use best.onnx as it is, or make it again with ") +
                  (is_in_memory(result)
                       ? "`quasar quantize MODEL --config best_config.yaml --calib DATA -o OUT.onnx`, DATA being the calibration "
                         "samples of the search."
                       : "`quasar quantize --from-study FOLDER -o OUT.onnx`, FOLDER being this search's."));
}

void on_warnings(const Json& contents, Json& out) {
  for (const Json& warning : contents["result"].value("warnings", Json::array())) {
    out.push_back("Warning: " + warning.get<std::string>() + ".");
  }
}

void on_trials(const Json& contents, Json& out) {
  const Json& result = contents["result"];
  const size_t failed = count(result, "failed"), executed = count(result, "executed"), duplicates = count(result, "duplicate");
  if (failed > 0) {
    for (const auto& trial : contents["trials"]) {
      if (trial["state"] != "failed") continue;
      out.push_back(std::to_string(failed) + " of " + std::to_string(executed) + " trials failed; trial " +
                    trial["number"].dump() + ": " + trial.value("error", std::string("no reason known")));
      break;
    }
  }
  if (duplicates > executed) {
    out.push_back(
        std::to_string(duplicates) + " of " + std::to_string(duplicates + executed) +
        " configurations made a model that another one had made (they cost nothing): some choices of the space have no effect.");
  }
}

// Whether trials came as a sampler proposed them until something else ended the search. Strategies that go step by step, and
// grids, have an order of their own, of which the place of the best trial says nothing.
bool is_open_ended(const Json& result) {
  static const std::set<std::string> sampling{"", "flat", "two_stage", "random", "bayesian", "tpe", "sigopt"};
  const std::string algorithm = normalized(result.value(Pointer("/environment/search_algo"), ""));
  if (!sampling.contains(result.value(Pointer("/environment/strategy"), "")) || algorithm.starts_with("grid")) return false;
  const std::string reason = result.value("reason", "");
  const auto has = [&](const char* words) { return reason.find(words) != std::string::npos; };
  return has("n_trials of") || has("iteration_limit of") || has("patience") || is_of_time(reason);
}

// Whether the best value was found late: then more trials may find more.
void on_convergence(const Json& contents, Json& out) {
  const Json best = contents["result"].value(Pointer("/best/trial"), Json());
  if (!best.is_number() || contents["trials"].size() < 20 || !is_open_ended(contents["result"])) return;
  const auto last = contents["trials"].back()["number"].get<double>();
  const double at = best.get<double>() / std::max(last, 1.0);
  if (at > 0.8)
    out.push_back(std::string("The best trial is one of the last: more trials (`") +
                  (is_in_memory(contents["result"]) ? "" : "--resume ") + "--set n_trials=…`) are likely to find a better one.");
  if (at < 0.4)
    out.push_back("The best trial came early and nothing beat it since: more trials of this space are unlikely to help.");
}

void on_parameters(const Json& contents, Json& out) {
  std::string without;
  std::set<std::string> idle;
  for (const auto& item : contents["importance"]) {
    if (item["share"].get<double>() >= 0.01) continue;
    const std::string name = item["name"];
    idle.insert(name);
    without += (without.empty() ? "" : ", ") + name;
  }
  if (!without.empty() && contents["trials"].size() >= 10)
    out.push_back("Hardly any effect on the objective (below 1 %): " + without +
                  ". Holding them fixed makes the search shorter.");
  const Json params = contents["result"].value(Pointer("/best/params"), Json::object());
  for (const auto& parameter : contents["parameters"]) {
    const std::string name = parameter["name"];
    if (parameter["kind"] == "choice" || idle.contains(name) || !params.contains(name) || !params[name].is_number()) continue;
    const double value = params[name].get<double>();
    if (value == parameter["low"].get<double>() || value == parameter["high"].get<double>())
      out.push_back("The best " + name + " (" + params[name].dump() +
                    ") lies at the end of its range: a wider range may hold a better one.");
  }
}

bool has_holdout(const Json& words) {
  const auto names = [&](const char* place) { return words.is_object() && !words.value(Pointer(place), Json()).is_null(); };
  return names("/holdout_data_reader") || names("/split/holdout");
}

void on_evidence(const Json& contents, Json& out) {
  const Json& result = contents["result"];
  const std::string status = result.value("status", "");
  const bool is_whole = result.contains(Pointer("/best/bytes"));  // and not what a study knows
  if (status == "running" || !is_whole) return;
  for (const auto& [name, facts] : contents["metrics"].items()) {
    if (!facts["proportion"].get<bool>()) continue;
    const Json score = result.value(Pointer("/best/metrics") / name, Json::object());
    const double half = (score.value("high", 0.0) - score.value("low", 0.0)) / 2;
    if (half < 0.02) continue;
    out.push_back(name + " is known to ±" + in_digits(100 * half) + " points only: " + std::to_string(score.value("samples", 0)) +
                  " evaluation samples cannot tell closer candidates apart.");
    break;
  }
  if (result["best"].contains("holdout")) return;
  if (!has_holdout(contents["words"]))
    out.push_back(
        "There are no hold-out samples. The winner was chosen on the evaluation samples, so its score there is a little too "
        "good; `holdout_data_reader` gives an unbiased one.");
  else if (status == "interrupted")
    out.push_back("The hold-out samples were not scored, as the search was interrupted.");
}

// The layers whose own results err most with optimized weights.
void on_rounded_layers(const Json& layers, bool takes_16_bits, Json& out) {
  constexpr size_t most = 3, least = 6;
  std::vector<std::pair<double, std::string>> errors;
  for (const auto& layer : layers) {
    const Json after = layer.value(Pointer("/error/after"), Json());
    if (after.is_number()) errors.emplace_back(after.get<double>(), layer["node"].get<std::string>());
  }
  if (errors.size() < least) return;
  std::ranges::stable_sort(errors, std::greater<>(), &std::pair<double, std::string>::first);
  std::string names;
  for (size_t i = 0; i < most; ++i)
    names += (i > 0 ? ", " : "") + errors[i].second + " (" + in_digits(100 * errors[i].first) + " % of its variance)";
  out.push_back("The layers whose own results err most after rounding was optimized: " + names +
                ". If more accuracy is needed, " + (takes_16_bits ? "give them 16 bits (`specific_layer_config`) or " : "") +
                "leave them in float (`exclude`).");
}

// The layers that cost most at the outputs when they alone are quantized, where that was measured.
void on_layers(const Json& contents, Json& out) {
  constexpr size_t most = 3, least = 6;
  std::vector<std::pair<double, std::string>> errors;
  double total = 0;
  const Json layers = contents["result"].value(Pointer("/best/layers"), Json::array());
  for (const auto& layer : layers) {
    const Json error = layer.value("output_error", Json());
    if (!error.is_number()) continue;
    errors.emplace_back(error.get<double>(), layer["node"].get<std::string>());
    total += errors.back().first * errors.back().first;
  }
  if (errors.empty()) return on_rounded_layers(layers, takes_16_bits(contents), out);
  if (errors.size() < least || !(total > 0)) return;
  std::ranges::stable_sort(errors, std::greater<>(), &std::pair<double, std::string>::first);
  double worst = 0;
  std::string names;
  for (size_t i = 0; i < most; ++i) {
    worst += errors[i].first * errors[i].first;
    names += (i > 0 ? ", " : "") + errors[i].second;
  }
  if (worst < 0.5 * total) return;
  out.push_back("Three layers bring " + in_digits(100 * worst / total) +
                " % of the squared error, each quantized alone: " + names + ". If more accuracy is needed, give them " +
                (takes_16_bits(contents) ? "16 bits (`specific_layer_config`), " : "") +
                "optimized rounding, or leave them in float (`exclude`).");
}

// Parts of values that one grid would lose.
void on_lost_parts(const Json& contents, Json& out) {
  for (const auto& note : contents["result"].value(Pointer("/best/lost_parts"), Json::array()))
    out.push_back(note.get<std::string>() + ".");
}

// About a model that is not faster. The gate has measured a model of 8 bits; where the best one takes longer, it has other forms.
std::string what_to_do(const Json& result, double time) {
  constexpr double alike = 1.1;
  const Json gated = result.value(Pointer("/speed_gate/gated"), Json());
  const std::string small = "smaller, which may be what you want.";
  if (gated.is_number() && time <= alike * gated.get<double>())
    return " Operators that are faster in float are there already; it is " + small;
  if (gated.is_number()) return " It is " + small;
  const double quantized = result.value(Pointer("/best/operators/quantized"), 1.0);
  if (quantized < result.value(Pointer("/best/operators/float"), 0.0))
    return " Most operators compute in float, and unpack weights of few bits at every run; 8 bits are faster. It is " + small;
  if (result.value(Pointer("/objectives/0/name"), "") == "bytes") return " It is " + small;
  return " `--set speed_gate=1.02` leaves operators in float that are faster there.";
}

// Who quantizes wants a smaller and faster model.
void on_costs(const Json& contents, Json& out) {
  const Json& result = contents["result"];
  const auto bytes = [&](const char* whose) { return result.value(Pointer(std::string(whose) + "/bytes"), 0.0); };
  if (bytes("/baseline") > 0 && bytes("/best") > bytes("/baseline"))
    out.push_back("The quantized model is larger than float: " + bytes_in_words(bytes("/best")) + " against " +
                  bytes_in_words(bytes("/baseline")) + ".");
  if (result.value("faster", Json()) != false) return;
  const double time = result.value(Pointer("/best/time_of_float/value"), 1.0);
  const Json on_all = result.value(Pointer("/best/time_of_float/on_all"), Json());
  std::string text =
      "The quantized model is not faster than float here: it takes " + in_digits(time, 3) + " × as long on one thread";
  if (!on_all.is_null())
    text +=
        ", " + in_digits(on_all.value("value", 1.0), 3) + " × on all " + std::to_string(on_all.value("threads", 1)) + " cores";
  text += ".";
  out.push_back(text + what_to_do(result, time));
}

}  // namespace

Json advice_on(const Json& contents) {
  Json out = Json::array();
  for (const auto part :
       {on_costs, on_outcome, on_warnings, on_trials, on_evidence, on_lost_parts, on_layers, on_convergence, on_parameters})
    part(contents, out);
  return out;
}

}  // namespace quasar::report
