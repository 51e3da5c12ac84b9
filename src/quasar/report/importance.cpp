#include "quasar/report/importance.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "quasar/report/forest.hpp"

namespace quasar::report {
namespace {

// The position of a value: of a choice its number, of a number its place in [0, 1] (on the logarithm where the range is).
struct Position {
  const Json& value;

  double operator()(const search::Categorical& some) const {
    const auto found = std::find(some.choices.begin(), some.choices.end(), value);
    return static_cast<double>(found - some.choices.begin());
  }
  double operator()(const search::Integer& some) const {
    return between(static_cast<double>(some.low), static_cast<double>(some.high), some.log);
  }
  double operator()(const search::Real& some) const { return between(some.low, some.high, some.log); }

  double between(double low, double high, bool log) const {
    const double x = value.get<double>();
    if (!(high > low)) return 0;
    return log ? std::log(x / low) / std::log(high / low) : (x - low) / (high - low);
  }
};

size_t choices_of(const search::Distribution& distribution) {
  const auto* some = std::get_if<search::Categorical>(&distribution);
  return some == nullptr ? 0 : some->choices.size();
}

struct TrialTable {
  std::vector<std::string> names;
  std::vector<Feature> features;
  std::vector<std::vector<double>> rows;
  std::vector<double> values;
};

// Of the first objective, trials that were given up tell what they had by then; without them the bad ones would be missing.
std::optional<double> value_of(const search::Trial& trial, size_t objective) {
  std::optional<double> value;
  if (trial.state == search::State::complete && objective < trial.values.size()) value = trial.values[objective];
  if (trial.state == search::State::pruned && objective == 0) {
    if (!trial.values.empty()) value = trial.values.front();
    if (!value && !trial.intermediate.empty()) value = trial.intermediate.rbegin()->second;
  }
  return value && std::isfinite(*value) ? value : std::nullopt;
}

size_t missing_in(const TrialTable& table, size_t feature) {
  return static_cast<size_t>(
      std::ranges::count_if(table.rows, [&](const auto& row) { return row[feature] == table.features[feature].absent(); }));
}

// Whether the values of these columns tell in which rows another one is there.
bool tell(const TrialTable& table, const std::vector<size_t>& parents, size_t child) {
  std::map<std::vector<double>, bool> there;
  for (const auto& row : table.rows) {
    std::vector<double> values;
    for (const size_t parent : parents) values.push_back(row[parent]);
    const bool has = row[child] != table.features[child].absent();
    if (there.emplace(values, has).first->second != has) return false;
  }
  return true;
}

// Whether one or two columns of choices that are there more often tell where this one is.
bool is_dependent(const TrialTable& table, size_t child) {
  const size_t missing = missing_in(table, child);
  if (missing == 0) return false;
  std::vector<size_t> parents;
  for (size_t i = 0; i < table.features.size(); ++i) {
    if (table.features[i].choices > 0 && missing_in(table, i) < missing) parents.push_back(i);
  }
  for (size_t i = 0; i < parents.size(); ++i) {
    if (tell(table, {parents[i]}, child)) return true;
    for (size_t j = 0; j < i; ++j) {
      if (tell(table, {parents[i], parents[j]}, child)) return true;
    }
  }
  return false;
}

bool has_one_value(const TrialTable& table, size_t feature) {
  std::set<double> values;
  for (const auto& row : table.rows) {
    if (row[feature] != table.features[feature].absent()) values.insert(row[feature]);
  }
  return values.size() < 2;
}

// What decides where they are has all of their effect.
void drop_dependents_of_one_value(TrialTable& table) {
  for (size_t i = table.features.size(); i-- > 0;) {
    if (!table.features[i].dependent || !has_one_value(table, i)) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    table.names.erase(table.names.begin() + at);
    table.features.erase(table.features.begin() + at);
    for (auto& row : table.rows) row.erase(row.begin() + at);
  }
}

// Parameters as columns; a value that a trial does not have is one more choice, and −1 where values are numbers.
TrialTable table_of(const std::vector<const search::Trial*>& trials, size_t objective) {
  std::map<std::string, search::DistributionPtr> parameters;
  for (const auto* trial : trials) {
    for (size_t i = 0; i < trial->distributions.size(); ++i)
      parameters.emplace(trial->point.values()[i].first, trial->distributions[i]);
  }
  TrialTable table;
  table.rows.resize(trials.size());
  for (const auto& [name, distribution] : parameters) {
    const size_t choices = choices_of(*distribution);
    const double inactive = Feature{choices}.absent();
    std::vector<double> column;
    for (const auto* trial : trials) {
      const Json* value = trial->point.find(name);
      column.push_back(value == nullptr ? inactive : std::visit(Position{*value}, *distribution));
    }
    if (choices >= max_choices || std::set<double>(column.begin(), column.end()).size() < 2) continue;
    table.names.push_back(name);
    const auto missing = static_cast<double>(std::count(column.begin(), column.end(), inactive));
    table.features.push_back({.choices = choices, .missing = missing / static_cast<double>(column.size())});
    for (size_t i = 0; i < column.size(); ++i) table.rows[i].push_back(column[i]);
  }
  for (size_t i = 0; i < table.features.size(); ++i) {
    if (!is_dependent(table, i)) continue;
    table.features[i].dependent = true;
    table.features[i].missing = 0;
  }
  drop_dependents_of_one_value(table);
  for (const auto* trial : trials) table.values.push_back(*value_of(*trial, objective));
  return table;
}

// Whether most trials have others that differ from them in this parameter alone, all of the same value: a forest of few rows
// makes a share of a few per cent of that.
bool has_no_effect(const TrialTable& table, size_t feature) {
  struct Alike {
    std::set<double> choices, values;
    size_t trials = 0;
  };
  std::map<std::vector<double>, Alike> groups;  // by the other parameters
  for (size_t i = 0; i < table.rows.size(); ++i) {
    std::vector<double> others = table.rows[i];
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(feature));
    Alike& group = groups[others];
    group.choices.insert(table.rows[i][feature]);
    group.values.insert(table.values[i]);
    ++group.trials;
  }
  size_t compared = 0;
  for (const auto& [others, group] : groups) {
    if (group.choices.size() < 2) continue;
    if (group.values.size() > 1) return false;
    compared += group.trials;
  }
  return 2 * compared > table.rows.size();
}

}  // namespace

std::vector<Importance> importance_of(std::span<const search::Trial> trials, const ImportanceOptions& options) {
  std::vector<const search::Trial*> valued;
  for (const auto& trial : trials) {
    if (value_of(trial, options.objective)) valued.push_back(&trial);
  }
  if (valued.size() > options.trials) valued.erase(valued.begin(), valued.end() - static_cast<std::ptrdiff_t>(options.trials));
  if (valued.size() < 4) return {};
  const TrialTable table = table_of(valued, options.objective);
  std::vector<double> shares = variance_shares({table.features, table.rows, table.values}, options.trees);
  for (size_t i = 0; i < shares.size(); ++i) {
    if (has_no_effect(table, i)) shares[i] = 0;
  }
  double total = 0;
  for (const double share : shares) total += share;
  if (!(total > 0)) return {};
  std::vector<Importance> out;
  for (size_t i = 0; i < shares.size(); ++i) out.push_back({table.names[i], shares[i] / total});
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.share > b.share; });
  return out;
}

Json importance_json(std::span<const search::Trial> trials) {
  Json out = Json::array();
  for (const auto& [name, share] : importance_of(trials)) out.push_back({{"name", name}, {"share", share}});
  return out;
}

}  // namespace quasar::report
