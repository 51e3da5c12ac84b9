#include "quasar/strategy/fallback.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace quasar::tune {
namespace {

// Types in order of appearance, with the options that all of their operators have.
std::vector<std::pair<std::string, std::vector<Json>>> options_by_type(const TuningSpace& space) {
  std::vector<std::pair<std::string, std::vector<Json>>> types;
  for (const auto& node : space.nodes) {
    if (node.options.empty()) continue;
    const auto known = std::find_if(types.begin(), types.end(), [&](const auto& type) { return type.first == node.op_type; });
    if (known == types.end()) {
      types.emplace_back(node.op_type, node.options);
    } else {
      std::erase_if(known->second, [&](const Json& option) {
        return std::find(node.options.begin(), node.options.end(), option) == node.options.end();
      });
    }
  }
  std::erase_if(types, [](const auto& type) { return type.second.empty(); });
  return types;
}

}  // namespace

std::vector<TuneConfig> by_op_type(const TuningSpace& space, size_t most) {
  const auto types = options_by_type(space);
  std::vector<size_t> digits(types.size(), 0);
  std::vector<TuneConfig> out;
  while (out.size() < most) {
    size_t place = digits.size();
    while (place > 0 && ++digits[place - 1] == types[place - 1].second.size()) digits[--place] = 0;
    if (place == 0) break;  // back at the default
    TuneConfig config;
    for (const auto& node : space.nodes) {
      for (size_t t = 0; t < types.size(); t++) {
        if (node.options.empty()) continue;  // the dictionaries keep it in float
        if (types[t].first == node.op_type && digits[t] > 0) config.nodes[node.name] = types[t].second[digits[t]];
      }
    }
    out.push_back(std::move(config));
  }
  return out;
}

std::vector<TuneConfig> with_dynamic(const TuneConfig& config, const TuningSpace& space) {
  std::vector<TuneConfig> out;
  size_t ways = 0;
  for (const auto& node : space.nodes) ways = std::max(ways, node.dynamic.size());
  for (size_t way = 0; way < ways; way++) {
    TuneConfig changed = config;
    for (const auto& node : space.nodes) {
      if (!node.dynamic.empty()) changed.nodes[node.name] = node.dynamic[std::min(way, node.dynamic.size() - 1)];
    }
    out.push_back(std::move(changed));
  }
  return out;
}

Attempt best_of(Tuner& tuner, Attempt before, std::span<const TuneConfig> others) {
  auto trials = tuner.evaluate(others);
  for (size_t i = 0; i < trials.size(); i++) {
    if (tuner.better(trials[i], before.trial)) before = {others[i], std::move(trials[i])};
  }
  return before;
}

Attempt first_attempt(Tuner& tuner) {
  std::vector<TuneConfig> starts;
  for (const auto& alpha : tuner.context().job.tuning.smooth_alphas) starts.push_back({{}, {{"SmoothAlpha", alpha}}});
  tuner.tell(starts.empty() ? "default configuration" : "SmoothQuant alpha");
  if (starts.empty()) starts.emplace_back();
  const auto trials = tuner.evaluate(starts);
  const auto best = std::ranges::min_element(trials, [&](const auto& a, const auto& b) { return tuner.better(a, b); });
  return {starts[static_cast<size_t>(best - trials.begin())], *best};
}

Attempt best_options(Tuner& tuner, size_t combinations) {
  Attempt best = first_attempt(tuner);
  std::vector<TuneConfig> options = by_op_type(tuner.space(), combinations);
  for (auto& config : options) config.settings = best.config.settings;
  tuner.tell("options by operator type");
  best = best_of(tuner, std::move(best), options);
  tuner.tell("dynamic for what can");
  const auto dynamic = with_dynamic(best.config, tuner.space());
  return best_of(tuner, std::move(best), dynamic);
}

namespace {

bool is_quantized(const TunedNode& node, const TuneConfig& config) {
  const auto set = config.nodes.find(node.name);
  if (set == config.nodes.end()) return !node.all_options().empty();
  return !set->second.is_string() || set->second == quantized;
}

// Its place among the node's float types, from the cheapest; -1 where the node is quantized.
ptrdiff_t rank_of(const TunedNode& node, const TuneConfig& config) {
  if (is_quantized(node, config)) return -1;
  const auto set = config.nodes.find(node.name);
  if (set == config.nodes.end()) return 0;  // it has no options
  return std::ranges::find(node.floats, set->second.get<std::string>()) - node.floats.begin();
}

// "" where the node is in this type, in a dearer one, or can be in none.
std::string next_type(const TunedNode& node, const TuneConfig& config, const std::string& type) {
  const std::string wanted = float_type_of(node, type);
  const auto place = std::ranges::find(node.floats, wanted) - node.floats.begin();
  return wanted.empty() || place <= rank_of(node, config) ? "" : wanted;
}

}  // namespace

std::string float_type_of(const TunedNode& node, const std::string& type) {
  if (node.floats.empty()) return "";
  return std::ranges::find(node.floats, type) == node.floats.end() ? node.floats.front() : type;
}

TuneConfig with_float(TuneConfig config, const TuningSpace& space, const std::vector<std::string>& nodes,
                      const std::string& type) {
  for (const auto& node : space.nodes) {
    if (std::ranges::find(nodes, node.name) == nodes.end()) continue;
    if (const std::string next = next_type(node, config, type); !next.empty()) config.nodes[node.name] = next;
  }
  return config;
}

std::vector<std::string> fallible_nodes(const TuneConfig& config, const TuningSpace& space, const std::string& type) {
  std::vector<std::string> names;
  for (const auto& node : space.nodes) {
    if (!next_type(node, config, type).empty()) names.push_back(node.name);
  }
  return names;
}

std::vector<std::vector<std::string>> at_most(std::vector<std::vector<std::string>> groups, size_t most) {
  while (groups.size() > std::max<size_t>(most, 1)) {
    for (size_t i = 0; i + 1 < groups.size(); i += 2) {
      std::ranges::move(groups[i + 1], std::back_inserter(groups[i]));
      groups[i + 1].clear();
    }
    std::erase_if(groups, [](const auto& group) { return group.empty(); });
  }
  return groups;
}

std::vector<std::string> fallback_types(const TuningSpace& space) {
  std::vector<std::string> out;
  const auto same = [&](const std::string& a, const std::string& b) {
    return std::ranges::all_of(space.nodes, [&](const auto& node) { return float_type_of(node, a) == float_type_of(node, b); });
  };
  for (const auto& type : space.floats()) {
    if (std::ranges::none_of(out, [&](const auto& earlier) { return same(earlier, type); })) out.push_back(type);
  }
  return out;
}

void accumulate(Tuner& tuner, TuneConfig config, const std::vector<std::vector<std::string>>& groups, const std::string& type) {
  std::vector<TuneConfig> together;
  std::string computed = tuner.computed(config);
  for (const auto& group : groups) {
    config = with_float(std::move(config), tuner.space(), group, type);
    const bool something = std::ranges::any_of(tuner.space().nodes, [&](const auto& node) { return is_quantized(node, config); });
    if (!something) break;
    if (!tuner.why_impossible(config).empty()) continue;
    if (std::string next = tuner.computed(config); next != std::exchange(computed, next)) together.push_back(config);
    if (together.size() < tuner.at_once()) continue;
    tuner.evaluate(together);
    together.clear();
  }
  if (!together.empty()) tuner.evaluate(together);
}

void leave_another(Tuner& tuner, const TuneConfig& config, const std::vector<std::vector<std::string>>& groups,
                   const std::string& type) {
  constexpr size_t most_tried = 3, most_looked_at = 32;
  const size_t count = groups.size();
  size_t tried = 0;
  for (size_t back = 2; back <= std::min(count, most_looked_at) && tried < most_tried && !tuner.met(); back++) {
    TuneConfig others = config;
    for (size_t i = 0; i < count; i++) {
      if (i != count - back) others = with_float(std::move(others), tuner.space(), groups[i], type);
    }
    if (!tuner.why_impossible(others).empty()) continue;
    tuner.evaluate(others);
    tried++;
  }
}

namespace {

// As `other` has it.
void copy_choice(TuneConfig& config, const std::string& node, const TuneConfig& other) {
  const auto choice = other.nodes.find(node);
  if (choice == other.nodes.end()) {
    config.nodes.erase(node);
  } else {
    config.nodes[node] = choice->second;
  }
}

void take_back(Tuner& tuner, const TuneConfig& start, const std::vector<std::string>& least_first) {
  const search::Point met = tuner.success()->point, from = tuner.point_of(start);
  for (const auto& [name, value] : met.values()) {  // another way led there, such as an earlier strategy's
    if (!name.starts_with(precision_of("")) && value != *from.find(name)) return;
  }
  TuneConfig config = start;
  std::vector<std::string> fallen;
  for (const auto& node : least_first) {
    const Json now = precision_at(met, node);
    if (now == precision_at(from, node)) continue;
    config.nodes[node] = now;
    fallen.push_back(node);
  }
  if (fallen.size() < 2) return;  // without the only one it is the start, which was tried
  tuner.tell("take back");
  for (const auto& node : fallen) {
    TuneConfig back = config;
    copy_choice(back, node, start);
    if (tuner.explore(back).is_candidate()) config = std::move(back);
  }
}

}  // namespace

void fall_back_with_return(Tuner& tuner, const TuneConfig& start, const std::function<void()>& fall_back,
                           const std::function<std::vector<std::string>()>& least_first) {
  try {
    fall_back();
  } catch (const Tuner::Over&) {  // the goal is met
    take_back(tuner, start, least_first());
    throw;
  }
  if (tuner.success()) take_back(tuner, start, least_first());
}

void fall_back_in_order(Tuner& tuner, const TuneConfig& start, const std::vector<std::string>& most_first,
                        const std::string& step) {
  std::vector<std::vector<std::string>> groups;
  for (const auto& node : most_first) groups.push_back({node});
  const auto fall_back = [&] {
    for (const auto& type : fallback_types(tuner.space())) {
      tuner.tell(step + (type == in_float ? std::string() : " to " + type));
      accumulate(tuner, start, groups, type);
      leave_another(tuner, start, groups, type);
    }
  };
  fall_back_with_return(tuner, start, fall_back, [&] { return std::vector(most_first.rbegin(), most_first.rend()); });
}

std::vector<std::string> ranked(std::vector<std::pair<std::string, double>> costs) {
  std::stable_sort(costs.begin(), costs.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> names;
  for (const auto& cost : costs) names.push_back(cost.first);
  return names;
}

}  // namespace quasar::tune
