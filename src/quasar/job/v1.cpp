#include "quasar/job/v1.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/job/v1_names.hpp"
#include "quasar/job/v1_words.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "quasar/quant/config/usual_target.hpp"

namespace quasar::tune {
namespace {

using namespace v1;

const std::vector<std::string> v1_metrics{"L2", "L1", "cos", "psnr", "ssim"};

Json v1_metrics_of(const Json& given) {
  const Json list = given.is_null() ? Json::array({"L2"}) : choices_of(given);
  Json out = Json::array();
  for (const Json& name : list) {
    const auto known =
        std::ranges::find_if(v1_metrics, [&](const auto& m) { return name.is_string() && same(m, name.get<std::string>()); });
    out.push_back(known == v1_metrics.end() ? name : Json("v1_" + *known));
  }
  return out;
}

// NumIterations and LearningRate of an advanced_fastft_search: two elements are the ends of a range.
Json range_of(const std::string& key, const Json& ends) {
  const bool numbers = ends.is_array() && ends.size() == 2 && ends[0].is_number() && ends[1].is_number();
  if (!numbers) throw Error("advanced_fastft_search: " + key + " is " + ends.dump() + ", but must be [least, most]");
  const Json low = std::min(ends[0], ends[1]), high = std::max(ends[0], ends[1]);
  if (same(key, "NumIterations")) return {{"type", "int"}, {"low", low}, {"high", high}};
  return {{"type", "float"}, {"low", low}, {"high", high}, {"log", true}};
}

// Everything but the two ranges is the base configuration's.
Json advanced_space(const Json& space, const Json& base, std::vector<std::string>& notes) {
  Json ranges = Json::object();
  for (const auto& [key, value] : space.items()) {
    if (same(key, "include_fast_ft")) {
      if (value != true && value != Json::array({true}))
        throw Error("advanced_fastft_search: include_fast_ft is " + value.dump() + " in search_space, but must be true");
      continue;
    }
    if (!same(key, "extra_options") || !value.is_object() || value.size() != 1 || !value.contains("FastFinetune")) {
      throw Error("advanced_fastft_search searches NumIterations and LearningRate of extra_options.FastFinetune only; '" + key +
                  "' belongs into quant_config");
    }
    for (const auto& [name, ends] : value.at("FastFinetune").items()) {
      if (same(name, "NumIterLR"))
        throw Error("advanced_fastft_search: NumIterLR is not applicable; give NumIterations and LearningRate");
      if (!same(name, "NumIterations") && !same(name, "LearningRate"))
        throw Error("advanced_fastft_search: '" + name +
                    "' cannot be searched, only NumIterations and LearningRate; it belongs into quant_config");
      ranges[snake_case(name)] = range_of(name, ends);
    }
  }
  if (ranges.empty()) throw Error("advanced_fastft_search: search_space has neither NumIterations nor LearningRate");
  Json fixed = base;
  fixed["include_fast_ft"] = true;
  if (base.value("include_fast_ft", Json(true)) != true)
    throw Error("advanced_fastft_search needs include_fast_ft: true in quant_config");
  Translation translated = from_v1(Json::object(), fixed);
  notes.insert(notes.end(), translated.notes.begin(), translated.notes.end());
  Json& out = translated.space;
  for (const Json& method : Json(out["algorithms"])) {
    Json& group = out[method.get<std::string>() + "_params"];
    group["only_if"] = {{"algorithms", method}};
    for (const auto& [key, range] : ranges.items()) group[key] = range;
  }
  return out;
}

bool left_out(const Json& number) {
  return number.is_null() || number == 0;
}

// v1 has no n_trials: iteration_limit says how many points a random search draws.
void take_iterations(Json& words, std::vector<std::string>& notes) {
  const Json conditions = words.value("search_stop_condition", Json());
  if (!conditions.is_object() || !left_out(words.value("n_trials", Json())) || !left_out(conditions.value("n_trials", Json())))
    return;
  const Json limit = conditions.value("iteration_limit", Json());
  if (!limit.is_number_integer() || limit.get<int64_t>() <= 0) return;
  Json algo = words["search_algo"];
  if (algo.is_object()) algo = algo.value("name", Json());
  if (algo.is_string() && normalized(algo.get<std::string>()).starts_with("grid")) return;  // it tries every point in any case
  words["n_trials"] = limit;
  notes.push_back("n_trials is " + limit.dump() + ", as iteration_limit of a v1 search says");
}

// v1 calls every distance "minimize"; similarities know better. Of a user's score nothing else tells which way is better.
void read_direction(Json& words, const Json& direction, std::vector<std::string>& notes) {
  const Json evaluator = words.value("search_evaluator", Json()), given = words.value("direction", Json());
  const bool own = !evaluator.is_null() && !evaluator.is_string();
  if (direction == "minimize" && !own) return;
  if (own && !given.is_null() && given != direction)
    throw Error("advanced_fastft_params.direction is " + direction.dump() + ", but direction is " + given.dump() +
                "; keep one of them");
  words["direction"] = direction;
  if (direction == "minimize")
    notes.push_back("advanced_fastft_params.direction is 'minimize', so smaller values of search_evaluator are better");
}

void read_advanced(Json& words, std::vector<std::string>& notes) {
  const Json params = words.value("advanced_fastft_params", Json());
  words.erase("advanced_fastft_params");
  words.erase("advanced_fastft_search");
  if (!params.is_null() && !params.is_object()) throw Error("advanced_fastft_params must be a mapping, not " + params.dump());
  if (words.contains("search_algo"))
    notes.push_back("search_algo has no effect in advanced_fastft_search: advanced_fastft_params.sampler_algo does");
  words["search_algo"] = "TPE";
  const Json conditions = words.value("search_stop_condition", Json::object());
  if (left_out(words.value("n_trials", Json())) && (!conditions.is_object() || left_out(conditions.value("n_trials", Json()))))
    words["n_trials"] = 10;
  if (params.is_null()) return;
  static const std::vector<std::string> known{"sampler_algo", "direction", "n_trials"};
  for (const auto& [key, value] : params.items()) {
    if (same(key, "sampler_algo"))
      words["search_algo"] = value;
    else if (same(key, "n_trials")) {
      if (!left_out(value)) words["n_trials"] = value;
    } else if (same(key, "direction")) {
      if (!value.is_null()) read_direction(words, value, notes);
    } else
      throw Error("unknown key 'advanced_fastft_params." + key + "'; known: " + joined(known) + did_you_mean(key, known));
  }
}

// What a scheme says besides types and their parameters, where v1 has it: rounding in FastFinetune, the rest in extra_options.
void take_others(const Json& words, Json& base, Json& options) {
  for (const auto& [key, value] : words.items()) {
    if (key == "algorithms") {
      base["include_fast_ft"] = true;
      options["FastFinetune"]["OptimAlgorithm"] = value;
    } else if (key.starts_with("include_")) {
      base[key] = value;
    } else if (!key.starts_with("activation") && !key.starts_with("weight")) {
      options[key] = value;
    }
  }
}

// A mapping has no name that says so.
bool is_for_npus(const Json& words) {
  return quant::usual_target(words).name != quant::default_target && !words.contains("EnableNPUCnn");
}

}  // namespace

Json base_of(const Json& quant_config) {
  if (quant_config.is_object()) return quant_config;
  if (!quant_config.is_string())
    throw Error("quant_config is " + quant_config.dump() + ", but must be the name of a scheme or a mapping");
  const Json words = quant::words_of_scheme(quant_config.get<std::string>());
  const Json activation = words.value("activation", Json("Int8Spec")), weight = words.value("weight", Json("Int8Spec"));
  Json base{{"activation_type", activation}, {"weight_type", weight}}, options = Json::object();
  const Json values = words.value("activation_params", Json::object()), weights = words.value("weight_params", Json::object());
  const bool shifts = values.value("scale_type", "Float32") == "PowerOf2" || activation == "XInt8Spec";
  const std::string usual = shifts ? "MinMSE" : "Percentile";
  base["calibrate_method"] = (shifts ? "PowerOfTwoMethod." : "CalibrationMethod.") + values.value("calibration_method", usual);
  if (!quant::has_no_parameters(activation)) options["ActivationSymmetric"] = values.value("symmetric", shifts);
  if (!quant::has_no_parameters(weight)) {
    base["per_channel"] = weights.value("quant_granularity", "Tensor") == "Channel";
    options["WeightSymmetric"] = weights.value("symmetric", true);
    if (weights.value("quant_granularity", "Tensor") == "Group") base["weight_params"] = weights;
  }
  take_others(words, base, options);
  if (is_for_npus(words)) base["enable_npu_cnn"] = true;
  base["extra_options"] = options;
  return base;
}

namespace {

// v1's tolerance accepts everything unless the user says otherwise. It is filled in where something counts candidates: elsewhere
// it would only keep trials from being given up early.
void keep_tolerance(Json& words, std::vector<std::string>& notes) {
  constexpr double accepts_everything = 2.0e4;
  const auto given = [&](const char* key) { return !words.value(key, Json()).is_null(); };
  const Json stop = words.value("search_stop_condition", Json());
  if (!stop.is_object() || given("search_metric_tolerance") || given("accuracy_criterion") || given("objectives")) return;
  for (const auto& [key, value] : stop.items()) {
    if (!same(key, "find_n_candidates") && !same(key, "find_best_candidate")) continue;
    if (!value.is_number() || value == -1) continue;
    words["search_metric_tolerance"] = accepts_everything;
    notes.push_back(key + " without search_metric_tolerance: v1's default holds, 20000, which takes every trial for a candidate");
    return;
  }
}

// Spaces of both forms in one list: each v1 space is translated by itself, and what holds for all is the hierarchical form's.
void tell_of_mixture(const Json& words, std::vector<std::string>& notes) {
  const Json algo = words.value("search_algo", Json()), metric = words.value("search_metric", Json());
  notes.push_back("search_spaces holds spaces of both forms: v1's are translated, and search_algo (" +
                  (algo.is_null() ? "TPE" : algo.dump()) + ") and search_metric (" +
                  (metric.is_null() ? "parts" : metric.dump()) +
                  ") are those of the hierarchical form; v1's are grid_search and v1_L2");
}

// The words that v1 does without are ours, those that only v1 has go.
void take_defaults(Json& words, std::vector<std::string>& notes) {
  if (!words.contains("search_evaluator") || words["search_evaluator"].is_null() || words.contains("search_metric"))
    words["search_metric"] = v1_metrics_of(words.value("search_metric", Json()));
  keep_tolerance(words, notes);
}

// advanced_fastft_search is not on.
void drop_advanced(Json& words, std::vector<std::string>& notes) {
  words.erase("advanced_fastft_search");
  if (!words.value("advanced_fastft_params", Json()).is_null())
    notes.push_back("advanced_fastft_params has no effect: advanced_fastft_search is not true");
  words.erase("advanced_fastft_params");
}

void translate(Json& space, const Json& base, bool has_base, std::vector<std::string>& notes) {
  if (!is_v1(space) && !space.empty()) {
    if (has_base) throw Error("quant_config belongs to v1's spaces; this one is hierarchical: " + space.dump());
    return;
  }
  Translation translated = from_v1(space, base);
  space = std::move(translated.space);
  for (auto& note : translated.notes) {
    if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
  }
}

}  // namespace

JobTranslation job_from_v1(const Json& given) {
  JobTranslation out{given, false, {}};
  Json& words = out.words;
  const bool advanced = words.value("advanced_fastft_search", Json(false)) == true;
  const Json quant_config = words.value("quant_config", Json()), several = words.value("search_spaces", Json());
  Json spaces = several.is_array() ? several : Json::array();
  if (!words.value("search_space", Json()).is_null()) spaces.push_back(words["search_space"]);
  for (const Json& space : spaces) refuse_mixture(space);
  if (std::ranges::none_of(spaces, is_v1) && !advanced && quant_config.is_null()) {
    drop_advanced(words, out.notes);
    words.erase("quant_config");
    return out;
  }
  out.translated = true;
  Json base = quant_config.is_null() ? Json::object() : base_of(quant_config);
  if (quant_config.is_string()) {
    base.erase("enable_npu_cnn");  // the target follows from the name, where none is given
    if (std::string note = quant::note_on_scheme(quant_config.get<std::string>()); !note.empty())
      out.notes.push_back(std::move(note));
  }
  words.erase("quant_config");
  if (advanced) {
    if (spaces.size() != 1 || !several.is_null())
      throw Error("advanced_fastft_search needs one search_space; several are not possible");
    take_defaults(words, out.notes);
    read_advanced(words, out.notes);
    words["search_space"] = advanced_space(spaces[0], base, out.notes);
    return out;
  }
  drop_advanced(words, out.notes);
  if (std::ranges::all_of(spaces, [](const Json& space) { return space.empty() || is_v1(space); })) {
    take_defaults(words, out.notes);
    if (!words.contains("search_algo")) words["search_algo"] = "grid_search";
    take_iterations(words, out.notes);
  } else {
    tell_of_mixture(words, out.notes);
  }
  if (several.is_null() && spaces.empty()) words["search_space"] = Json::object();
  if (words.contains("search_space") && words["search_space"].is_object())
    translate(words["search_space"], base, !quant_config.is_null(), out.notes);
  if (several.is_array()) {
    for (Json& space : words["search_spaces"]) translate(space, base, !quant_config.is_null(), out.notes);
  }
  return out;
}

}  // namespace quasar::tune
