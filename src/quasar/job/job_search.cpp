// The keys of a configuration that say what may vary, and who decides what is tried next.
#include <algorithm>
#include <iterator>
#include <map>

#include "quasar/base/names.hpp"
#include "quasar/job/job_parts.hpp"
#include "quasar/job/preset.hpp"
#include "quasar/job/settled_options.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/quant/config/config_keys.hpp"
#include "quasar/quant/config/recipes.hpp"
#include "quasar/quant/config/rounding_config.hpp"
#include "quasar/search/pruner.hpp"
#include "quasar/search/sampler.hpp"
#include "quasar/search/space.hpp"

namespace quasar::tune {
namespace {

// What the sampler of this name will be in a later version.
const std::vector<std::string> later_samplers{"PartialFixed"};

}  // namespace

// The sampler by name, or as {name: …, option: value}: options are checked here, before anything runs.
Named sampler_of(const Json& words) {
  Json options = words.is_object() ? words : Json{{"name", words}};
  const Json name = options.value("name", Json());
  if (!name.is_string()) throw Error("search_algo is " + words.dump() + ", but must be a name or {name: ..., option: value}");
  options.erase("name");
  Named out{search::samplers::table().resolve(name.get<std::string>(), later_samplers), options};
  search::samplers::table().make(out.name, out.options);
  return out;
}

// A name, or {name: …, option: value}: checked here, so that a wrong option is found before anything runs.
Named pruner_of(const Json& words) {
  Json options = words.is_object() ? words : Json{{"name", words}};
  const Json name = options.value("name", Json());
  if (!name.is_string()) throw Error("pruner is " + words.dump() + ", but must be a name or {name: ..., option: value}");
  options.erase("name");
  search::pruners::table().make(name.get<std::string>(), options);
  return {search::pruners::table().resolve(name.get<std::string>()), options};
}

Json with_named_spaces(Json words) {
  if (!words.contains("search_spaces") || !words["search_spaces"].is_array()) return words;
  for (Json& space : words["search_spaces"]) {
    if (space.is_string()) space = presets::table().make(space.get<std::string>())->words().value("search_space", Json::object());
  }
  return words;
}

namespace {

// Recipes that the user decides are single choices of the search space.
void fix_recipes(Json& space, const Json& recipes) {
  if (!recipes.is_object()) throw Error("recipes must be a mapping, not " + recipes.dump());
  Json rest = Json::object();
  for (const auto& [name, value] : recipes.items()) {
    if (name == smooth_quant) {
      space["include_sq"] = Json::array({value});
    } else if (name == smooth_quant_args) {
      for (const auto& [option, given] : value.items()) {
        if (option != "alpha") throw Error("unknown key 'recipes.smooth_quant_args." + option + "'; known: alpha");
        space["SmoothAlpha"] = smooth_alphas_of(given);
      }
    } else {
      rest[name] = value;
    }
  }
  quant::recipes_off(rest);
  for (const auto& [name, value] : rest.items()) space[name] = Json::array({value});
}

// First-level keys of a space; groups called *_options hold more of them.
void check_names(const Json& space) {
  std::vector<std::string> known = quant::config_keys();
  known.insert(known.end(), {"calibration_sampling_size", "calibrate_method"});
  check_nested("search_space", space, known);
  std::map<std::string, std::string> seen;
  for (const auto& [key, value] : space.items()) {
    if (const auto [before, fresh] = seen.emplace(normalized(key), key); !fresh)
      throw Error("search_space." + key + " is given twice (as '" + before->second + "' too)");
    const auto same = [&](const std::string& name) { return normalized(name) == normalized(key); };
    if (std::ranges::any_of(known, same) || (value.is_object() && normalized(key).ends_with("options"))) continue;
    const std::string hint = quant::hint_of_foreign_key(key);
    throw Error("unknown key '" + key + "' in search_space" + (hint.empty() ? known_names(key, known) : hint));
  }
}

// CalibDataSize is a parameter wherever it is written: at the top level, where it holds for every space, or in a space.
void read_sampling_size(Json& space, const Options& keys) {
  if (!keys.has("calibration_sampling_size")) return;
  for (const auto& [key, value] : space.items()) {
    if (normalized(key) != "calibdatasize" && normalized(key) != "calibrationsamplingsize") continue;
    throw Error("search_space." + key + " is given, and calibration_sampling_size at the top level too; keep one of them");
  }
  const Json sizes = keys.json("calibration_sampling_size");
  space["CalibDataSize"] = sizes.is_array() ? sizes : Json::array({sizes});
}

// The same for what is done about sums of 16 bits.
void read_saturation(Json& space, const Options& keys) {
  if (!keys.has("saturation")) return;
  for (const auto& [key, value] : space.items()) {
    if (normalized(key) != "saturation" && normalized(key) != "reducerange") continue;
    throw Error("search_space." + key + " is given, and saturation at the top level too; keep one of them");
  }
  space["saturation"] = Json::array({name_of(quant::parse_saturation(keys.json("saturation")))});
}

bool has_group_of(const Json& space, const Json& preset_space) {
  return std::ranges::any_of(preset_space.items(), [&](const auto& item) {
    return item.value().is_object() && space.value(item.key(), Json()) == item.value() &&
           !quant::notes_on_inert_options({{item.key(), item.value()}}).empty();
  });
}

Json space_of_preset(const std::string& name) {
  return presets::table().make(name)->words().value("search_space", Json::object());
}

// The preset whose parameters a space has: the one that is named, or one that a script has copied into its own dictionary.
Json preset_behind(const Json& space, const Json& named) {
  if (named.is_string()) return named;
  for (const auto& name : presets::table().names()) {
    if (has_group_of(space, space_of_preset(name))) return name;
  }
  return nullptr;
}

// What acts nowhere. Of a preset's own parameters one line is enough: the user has not written them.
std::vector<std::string> notes_on_inert(const Json& space, const Json& named) {
  const Json preset = preset_behind(space, named);
  if (!preset.is_string()) return quant::notes_on_inert_options(space);
  const Json original = space_of_preset(preset.get<std::string>());
  Json own = space;
  for (const auto& [group, parameters] : original.items()) {
    if (!parameters.is_object() || !own.contains(group) || !own[group].is_object()) continue;
    for (const auto& [name, value] : parameters.items()) {
      if (name != "only_if" && own[group].value(name, Json()) == value) own[group].erase(name);
    }
  }
  std::vector<std::string> notes = quant::notes_on_inert_options(own);
  if (notes.size() < quant::notes_on_inert_options(space).size())
    notes.push_back(
        (named.is_string() ? "preset " + named.get<std::string>() : std::string("the preset that this space is from")) +
        " names parameters that have no effect: docs/rounding.md says which, and why");
  return notes;
}

// Trials go to models that differ.
void settle(Job& job, Json& space) {
  const Json before = space;
  const std::vector<std::string> names = settle_options(space);
  for (Json& configuration : job.enqueue) settle_configuration(configuration, before, space);
  if (names.empty() || preset_behind(before, job.words.value("preset", Json())).is_string()) return;  // told in one line
  job.warnings.push_back("values that make the same model are tried once: " + joined(names));
}

}  // namespace

void read_spaces_key(Job& job, const Options& keys, const StrategyFacts& strategy) {
  const Json several = keys.json("search_spaces");
  if (!several.is_null()) {
    if (keys.has("search_space")) throw Error("search_space and search_spaces are given; keep one of them");
    if (!several.is_array() || several.empty())
      throw Error("search_spaces must be a list of search spaces, not " + several.dump());
    for (const Json& space : several) job.spaces.push_back(space);
  } else {
    job.spaces.push_back(keys.has("search_space") ? keys.json("search_space") : strategy.default_space(job));
  }
  // A strategy that makes its own space takes them into it.
  const bool written = keys.has("search_space") || !several.is_null() || !job.spaces[0].empty();
  if (job.spaces[0].is_null())
    throw Error("search_space is required: write one, or name a preset, for ONNX Runtime's CPU cpu_int8_search (all: " +
                joined(presets::table().names()) + ")");
  for (const auto& configuration : keys.json("enqueue")) job.enqueue.push_back(configuration);
  for (Json& space : job.spaces) {
    if (!space.is_object()) throw Error("search_space must be a mapping, not " + space.dump());
    check_names(space);
    // The models of a pipeline are there in every combination.
    if (space.contains("models") && space["models"].is_object() && !space["models"].contains("only_if"))
      space["models"]["only_if"] = true;
    search::write_lists(space);
    if (written) read_sampling_size(space, keys);
    if (written) read_saturation(space, keys);
    quant::join_pairs(space, job.warnings);
    auto notes = notes_on_inert(space, job.words.value("preset", Json()));
    std::ranges::move(quant::notes_on_misplaced_groups(space), std::back_inserter(notes));
    for (auto& note : notes) {
      if (std::ranges::find(job.warnings, note) == job.warnings.end()) job.warnings.push_back(std::move(note));
    }
    settle(job, space);
  }
  if (!keys.has("recipes") || job.spaces[0].empty()) return;  // the strategy makes its own space, recipes and all
  for (Json& space : job.spaces) fix_recipes(space, keys.json("recipes"));
}

std::string strategy_of(const Options& keys, const TuningKeys& tuning, const KnownStrategies& strategies) {
  const bool has_space = keys.has("search_space") || keys.has("search_spaces");
  std::string name = keys.has("budget") ? "budget" : keys.has("accuracy_criterion") && !has_space ? "repair" : "flat";
  if (!tuning.strategy.empty()) name = tuning.strategy;
  if (keys.has("strategy")) name = keys.text("strategy");
  if (!keys.flag("two_stage_search")) return strategies.resolve(name);
  const bool named = !tuning.strategy.empty() || keys.has("strategy");
  if (named && !strategies.of(name)->in_stages())
    throw Error(std::string("two_stage_search: true is strategy two_stage, but ") +
                (keys.has("strategy")      ? "strategy"
                 : keys.has("quant_level") ? "quant_level"
                                           : "tuning_criterion.strategy") +
                " says " + name + "; keep one of them");
  return "two_stage";
}

// Without fine-tuning there is one stage only; without a choice of calibration the first would be one trial.
void check_stages(Job& job, const StrategyFacts& strategy) {
  if (!strategy.in_stages()) return;
  const auto one = [](const Json& space) { return calibration_part(space).size() == 1U; };
  const bool fine_tuning = std::ranges::any_of(job.spaces, has_fine_tuning);
  if (fine_tuning && std::ranges::count_if(job.spaces, one) < std::ssize(job.spaces)) return;  // reads each of them
  job.strategy = "flat";
  job.warnings.push_back(std::string("two_stage_search: the space has no ") + (fine_tuning ? "calibration" : "fine-tuning") +
                         " part, so this is a flat search");
}

namespace {

// The strategy that this key of strategy_kwargs is for.
std::string owner_of(const std::string& keyword, const KnownStrategies& strategies) {
  const auto has_it = [&](const std::string& name) {
    return std::ranges::any_of(strategies.of(name)->kwargs(),
                               [&](const auto& own) { return normalized(own) == normalized(keyword); });
  };
  return *std::ranges::find_if(strategies.names, has_it);
}

// One of the two would be overruled without a word.
void check_named_once(const Job& job, const Options& keys, const KnownStrategies& strategies) {
  if (!keys.has("strategy") || job.tuning.strategy.empty()) return;
  const std::string given = keys.text("strategy");
  if (strategies.resolve(given) == strategies.resolve(job.tuning.strategy)) return;
  throw Error("strategy is " + given + ", but tuning_criterion.strategy says " + job.tuning.strategy + "; keep one of them");
}

}  // namespace

void check_tuning_keys(Job& job, const Options& keys, const KnownStrategies& strategies) {
  if (keys.has("quant_level") && keys.has("strategy"))
    throw Error("quant_level and strategy both name a strategy; keep one of them");
  check_named_once(job, keys, strategies);
  if (!job.spaces.front().empty() && (keys.has("op_type_dict") || keys.has("op_name_dict"))) {
    throw Error("op_type_dict and op_name_dict narrow the space that tuning strategies make (basic, mse, auto ...); strategy " +
                job.strategy + " has a space of its own");
  }
  if (job.tuning.approach != Approach::static_ranges && (keys.has("search_space") || keys.has("search_spaces"))) {
    throw Error("approach: " + keys.text("approach") +
                " is for strategies that make their own space (repair, basic, auto ...); in a search space write " +
                (job.tuning.approach == Approach::weight_only ? "scheme: [RTN_G32ASYM, GPTQ_G32ASYM, ...]"
                                                              : "activation: [DynamicSpec]"));
  }
  if (std::string note = strategies.of(job.strategy)->note(job); !note.empty()) job.warnings.push_back(std::move(note));
  if (!keys.has("tuning_criterion")) return;
  const Json kwargs = keys.json("tuning_criterion").value("strategy_kwargs", Json::object());
  for (const auto& [name, value] : kwargs.items()) {
    const std::string owner = owner_of(name, strategies);
    if (owner != job.strategy)
      throw Error("strategy_kwargs." + name + " is for strategy " + owner + "; it has no effect on " + job.strategy);
  }
}

}  // namespace quasar::tune
