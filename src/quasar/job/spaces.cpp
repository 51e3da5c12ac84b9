#include "quasar/job/spaces.hpp"

#include <algorithm>
#include <set>

#include "quasar/job/precision.hpp"
#include "quasar/quant/codes/range.hpp"
#include "quasar/quant/codes/scheme_words.hpp"
#include "quasar/quant/config/idle_keys.hpp"
#include "quasar/quant/config/rounding_config.hpp"
#include "quasar/quant/npu/npu.hpp"
#include "quasar/quant/target.hpp"

namespace quasar::tune {
namespace {

// The configuration of a point. Throws Error for what the target cannot have either, whatever the model.
quant::Config config_at(const Json& words, const quant::Target* target) {
  quant::Config config = quant::parse_config(words);
  if (target == nullptr) return config;
  if (target->shifts()) quant::check_forms_for_shifts(config);
  quant::saturation_on(*target, config.saturation);
  quant::check_taken(*target, config);
  return config;
}

const std::string form_key = "form";

bool has_real_zero_points(const quant::Config& config) {
  return quant::ranges::table().make(config.weight.range_method)->of_blocks() == quant::BlockRange::half_quadratic;
}

std::string said_of_names(const quant::Config& config) {
  Json overrides = Json::array();
  for (const auto& [name, own] : config.tensors) overrides.push_back(name);
  return Json(config.exclude).dump() + to_json(config.layers).dump() + to_json(config.selection).dump() + overrides.dump() +
         quant::to_json(config.fixed_shapes).dump() + (config.optimize_model ? "" : "raw");
}

std::string contradiction(const Json& words, const quant::Target* target) {
  try {
    config_at(words, target);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

// A choice must be possible in some combination: {parameter, value} -> why its first combination was not.
class RefusedChoices {
 public:
  void add(const search::Point& point, const std::string& why) {
    for (const auto& [name, value] : point.values()) {
      auto [place, is_new] = why_.try_emplace({name, value.dump()}, why);
      if (why.empty()) place->second.clear();
    }
  }

  // Choices that stood in no possible combination so far are tried in more, when not all were looked at.
  void try_harder(const search::Space& space, const quant::Target* target) {
    Rng rng(0);
    for (auto& [choice, why] : why_) {
      for (int i = 0; i < 100 && !why.empty(); ++i) {
        const auto point = space.with({{choice.first, parse_json(choice.second, choice.first)}}, rng);
        if (point) why = contradiction(words_of(space, *point), target);
      }
    }
  }

  void throw_if_any() const {
    for (const auto& [choice, why] : why_) {
      if (!why.empty()) throw Error(why);
    }
  }

 private:
  std::map<std::pair<std::string, std::string>, std::string> why_;
};

// Keys that have no effect wherever a point has them.
class IdleKeys {
 public:
  void add(const Json& words, const quant::Config& config) {
    const auto open = [this](const auto& item) { return !acting_.contains(item.key()); };
    if (std::ranges::none_of(words.items(), open)) return;
    std::map<std::string, std::string> here;
    for (auto& note : quant::notes_on_idle_keys(words, config)) {
      std::string key = note.substr(0, note.find(' '));
      here.emplace(std::move(key), std::move(note));
    }
    for (const auto& [key, value] : words.items()) {
      if (value.is_null()) continue;
      const auto found = here.find(key);
      if (found == here.end()) {
        acting_.insert(key);
      } else {
        idle_.insert(*found);
      }
    }
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> out;
    for (const auto& [key, note] : idle_) {
      if (!acting_.contains(key)) out.push_back(note);
    }
    return out;
  }

 private:
  std::set<std::string> acting_;
  std::map<std::string, std::string> idle_;
};

std::vector<search::Point> looked_at(const search::Space& space) {
  const auto size = space.size();
  if (!size || *size > search::Space::most_looked_through) return space.cover();
  std::vector<search::Point> out;
  for (uint64_t i = 0; i < *size; ++i) out.push_back(space.at(i));
  return out;
}

// The configuration's words without what a plan does not depend on.
std::string essence(quant::Config config) {
  config.rounding.inert = Json::object();  // recorded, without effect
  return quant::to_json(config).dump();
}

class Reading {
 public:
  // A job that was made by hand may have no target yet.
  explicit Reading(const Job& job) {
    if (!job.target.empty()) target_ = quant::targets::table().make(job.target);
    for (const Json& words : job.spaces) {
      out_.each.push_back(search::Space::parse(words));
      out_.calibration.push_back(separable(words) ? calibration_part(words) : out_.each.back());
      out_.fine_tuning.push_back(has_fine_tuning(words));
    }
    out_.other_forms.resize(out_.each.size());
    out_.all = search::Space::together(out_.each);
    for (size_t i = 0; i < out_.each.size(); ++i) {
      if (job.spaces[i].empty()) {
        out_.facts.push_back(Json::object());  // the strategy makes its own
      } else {
        look_through(i);
      }
    }
  }

  Spaces result() { return std::move(out_); }

 private:
  static bool separable(const Json& words) {
    try {
      calibration_part(words);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  // Rounding needs no statistics, contradicts nothing else, and may be continuous: it is left out here where it can be.
  void look_through(size_t i) {
    const search::Space& space = out_.calibration[i];
    std::set<std::string> distinct;
    std::map<std::string, size_t> reasons;
    RefusedChoices refused;
    IdleKeys idle;
    size_t invalid = 0;
    // Scales that are found at run time leave nothing to round for, zero points that are no integers no codes.
    bool rounds_in_vain = false;
    const auto points = looked_at(space);
    for (const auto& point : points) {
      std::string why;
      try {
        const Json words = words_of(space, point);
        const quant::Config config = config_at(words, target_.get());
        idle.add(words, config);
        rounds_in_vain = rounds_in_vain || (out_.fine_tuning[i] && (config.activation.dynamic || has_real_zero_points(config)));
        out_.needs.add(config);
        for (const auto& rule : config.layers) out_.node_forms.insert(quant::form_of(rule.activation));
        out_.node_forms.insert(quant::form_of(config.activation));
        out_.names.emplace(said_of_names(config), config);
        distinct.insert(essence(config));
      } catch (const Error& e) {
        why = e.what();
        ++invalid;
        ++reasons[why];
      }
      refused.add(point, why);
    }
    const auto calibrations = out_.calibration[i].size();
    const bool all_seen = calibrations && *calibrations == points.size();
    if (!all_seen) refused.try_harder(space, target_.get());
    refused.throw_if_any();
    for (const auto& note : idle.notes()) {
      if (std::ranges::find(out_.notes, note) == out_.notes.end()) out_.notes.push_back(note);
    }
    if (invalid > 0 || rounds_in_vain) forbid(out_.each[i]);
    if (invalid > 0) forbid(out_.calibration[i]);
    out_.each[i] = out_.each[i].recorded_as(out_.all);
    out_.calibration[i] = out_.calibration[i].recorded_as(out_.all);
    part_forms(i);
    const auto in_first_form = out_.calibration[i].size();
    const auto size = out_.each[i].size();
    out_.facts.push_back({{"points", size ? Json(*size) : Json()},
                          {"calibrations", in_first_form ? Json(*in_first_form) : Json()},
                          {"invalid", all_seen ? Json(invalid) : Json()},
                          {"why", reasons},
                          {"distinct", out_.fine_tuning[i] ? distinct_configurations(out_.each[i], 5000)
                                       : all_seen          ? Json(distinct.size())
                                                           : Json()}});
  }

  void part_forms(size_t i) {
    const std::vector<Json> forms = forms_of(out_.calibration[i]);
    if (forms.size() < 2) return;
    const search::Space every = out_.calibration[i];
    out_.calibration[i] = with_form(every, forms[0]);
    for (size_t k = 1; k < forms.size(); ++k) out_.other_forms[i].push_back(with_form(every, forms[k]));
  }

  static std::vector<Json> forms_of(const search::Space& space) {
    const search::Parameter* forms = space.find(form_key);
    const auto* choices = forms == nullptr ? nullptr : std::get_if<search::Categorical>(forms->distribution.get());
    return choices == nullptr ? std::vector<Json>{} : choices->choices;
  }

  static search::Space with_form(const search::Space& space, const Json& form) {
    search::Point point;
    point.set(form_key, form);
    return space.pinned(point);
  }

  void forbid(search::Space& space) const {
    space.forbid([plain = space, target = target_](const search::Point& point) {
      return contradiction(words_of(plain, point), target.get());
    });
  }

  std::shared_ptr<const quant::Target> target_;  // nullptr: none is known
  Spaces out_;
};

// v1 names one method: a PowerOfTwoMethod gives both sides power-of-two scales, and the weights its ranges too.
void resolve_calibrate_method(Json& words) {
  const Json method = words.value("calibrate_method", Json());
  words.erase("calibrate_method");
  if (method.is_null()) return;
  if (!method.is_string()) throw Error("calibrate_method is " + method.dump() + ", but must be the name of a method");
  const std::string text = method.get<std::string>(), name = last_word(text);
  const bool shifts = normalized(text).starts_with("poweroftwo") || normalized(name) == "nonoverflow";
  bool weights_named = false;  // by the option that is another name of weight_params.calibration_method
  for (const auto& [key, value] : words.items())
    weights_named = weights_named || (normalized(key) == "weightcalibratemethod" && !value.is_null());
  for (const std::string side : {"activation", "weight"}) {
    if (!quant::may_have_parameters(words.value(side, Json("Int8Spec")))) continue;
    Json& group = words[side + "_params"];
    if (group.is_null()) group = Json::object();
    if (!group.contains("scale_type")) group["scale_type"] = shifts ? "PowerOf2" : "Float32";
    const bool weights = side == "weight";
    if (!group.contains("calibration_method") && !(weights && weights_named))
      group["calibration_method"] = shifts || !weights ? name : "MinMax";
  }
}

}  // namespace

Json invalid_combinations(const search::Space& space, uint64_t most) {
  const auto size = space.size();
  if (!size || *size > most) return nullptr;
  std::map<std::string, uint64_t> why;
  uint64_t count = 0;
  for (uint64_t k = 0; k < *size; ++k) {
    const search::Point point = space.at(k);
    std::string reason = space.refused(point);
    if (reason.empty()) reason = contradiction(words_of(space, point), nullptr);
    if (reason.empty()) continue;
    ++count;
    ++why[reason];
  }
  return {{"invalid", count}, {"why", why}};
}

Json distinct_configurations(const search::Space& space, uint64_t most) {
  const auto size = space.size();
  if (!size || *size > most) return nullptr;
  std::set<std::string> distinct;
  for (uint64_t k = 0; k < *size; ++k) {
    const search::Point point = space.at(k);
    if (!space.refused(point).empty()) continue;
    try {
      distinct.insert(essence(quant::parse_config(words_of(space, point))));
    } catch (const Error&) {  // wrong only with this rounding: the trial will fail, and say why
    }
  }
  return distinct.size();
}

void Spaces::extend(const std::function<Json(size_t)>& words) {
  std::vector<search::Space> extended;
  bool changed = false;
  for (size_t i = 0; i < each.size(); ++i) {
    search::Space space = search::Space::parse(words(i));
    changed = changed || space.parameters().size() != each[i].parameters().size();
    extended.push_back(std::move(space));
  }
  if (!changed) return;
  all = search::Space::together(extended);
  for (size_t i = 0; i < each.size(); ++i) {
    const search::Space before = std::move(each[i]);
    each[i] = extended[i].recorded_as(all);
    each[i].forbid_as(before);
  }
}

std::string Spaces::form_of(const search::Space& space) {
  const search::Parameter* form = space.find(form_key);
  return form == nullptr || !form->pinned || !form->pinned->is_string() ? "" : form->pinned->get<std::string>();
}

std::optional<double> Spaces::time_of(const search::Point& point) const {
  const Json* form = point.find(form_key);
  const std::string name = form != nullptr && form->is_string() ? form->get<std::string>() : form_of(calibration.front());
  const auto found = form_times.find(name);
  return found == form_times.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::string> Spaces::names_of_other_forms() const {
  std::vector<std::string> out;
  for (const auto& forms : other_forms) {
    for (const auto& space : forms) {
      const std::string name = form_of(space);
      if (!name.empty() && std::ranges::find(out, name) == out.end()) out.push_back(name);
    }
  }
  return out;
}

void Spaces::leave_out(const std::string& form, const std::string& why) {
  for (auto& forms : other_forms) std::erase_if(forms, [&](const search::Space& space) { return form_of(space) == form; });
  for (search::Space& space : each) {
    space.forbid([before = space, form, why](const search::Point& point) {
      const Json* own = point.find(form_key);
      return own != nullptr && *own == form ? "form " + form + " " + why : before.refused(point);
    });
  }
}

void Spaces::hold(const std::string& name, const Json& value) {
  for (auto* spaces : {&each, &calibration}) {
    for (search::Space& space : *spaces) space.hold(name, value);
  }
  for (auto& forms : other_forms) {
    for (search::Space& space : forms) space.hold(name, value);
  }
  all.hold(name, value);
  held.emplace_back(name, value);
}

Json words_of(const search::Space& space, const search::Point& point) {
  Json out = Json::object();
  const Json words = config_words(space, point);
  for (const auto& [key, value] : words.items()) {
    if (!normalized(key).ends_with("options") || !value.is_object()) {
      out[key] = value;
      continue;
    }
    for (const auto& [member, inner] : value.items()) out[member] = inner;
  }
  resolve_calibrate_method(out);
  return out;
}

bool has_fine_tuning(const Json& search_space) {
  for (const auto& [name, choices] : search_space.items()) {
    if (normalized(name) != "algorithms") continue;
    const auto acts = [](const Json& choice) { return !choice.is_null(); };
    if (choices.is_array() ? std::any_of(choices.begin(), choices.end(), acts) : acts(choices)) return true;
  }
  return false;
}

search::Space calibration_part(const Json& search_space) {
  try {
    return search::Space::parse(quant::without_rounding(search_space));
  } catch (const Error& error) {
    const std::string why = error.what();
    const size_t missing = why.find(", which is not in the space");
    if (missing == std::string::npos) throw;
    throw Error(why.substr(0, missing) +
                ", which the second of two stages decides; leave two_stage_search out, or that condition");
  }
}

Spaces read_spaces(const Job& job) {
  return Reading(job).result();
}

}  // namespace quasar::tune
