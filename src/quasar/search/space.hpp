// The search space: parameters, what each may be, and when it exists at all.
//
// Written in two levels. Level 1 holds lists of choices (a bare value is one choice) and groups; a group maps names to lists
// or ranges {type: int | float, low, high, step, log} and says in `only_if` when it exists:
//
//   activation: [Int8Spec, Int16Spec]
//   activation_params: {symmetric: [true, false], only_if: activation}        activation was chosen and is not null
//   algorithms: [adaround, null]
//   adaround_params: {NumIterLR: [[3000, 0.1]], only_if: {algorithms: adaround}}     all pairs of the mapping must hold,
//                                                                               of a list any value
//
// In a study a level-1 list is a parameter of that name and a group's member is `<group>_<member>`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/search/distribution.hpp"

namespace quasar::search {

// What a sampler chose: the active parameters with their values, in the order of the space.
class QUASAR_API Point {
 public:
  Point() = default;
  Point(std::initializer_list<std::pair<std::string, Json>> values) : values_(values) {}

  void set(std::string name, Json value) { values_.emplace_back(std::move(name), std::move(value)); }  // a new name
  const Json* find(std::string_view name) const;                                                       // nullptr: not active
  const std::vector<std::pair<std::string, Json>>& values() const { return values_; }
  bool operator==(const Point&) const = default;

 private:
  std::vector<std::pair<std::string, Json>> values_;
};

// `parent` is active and has one of these values; without values: is active and not null.
struct Condition {
  std::string parent;  // name of a parameter
  std::vector<Json> values;
  bool allows(const Json& value) const {
    return values.empty() ? !value.is_null() : std::ranges::find(values, value) != values.end();
  }
  bool operator==(const Condition&) const = default;
};

struct Parameter {
  std::string name;    // in the study: "symmetric" of group "activation_params" is "activation_params_symmetric"
  std::string group;   // "" at level 1
  std::string member;  // its key within the group, or at level 1
  DistributionPtr distribution;
  std::vector<Condition> conditions;   // all must hold
  std::optional<Json> pinned;          // held at this value; the distribution stays, so that one study can hold both
  DistributionPtr recorded = nullptr;  // what a study stores: the union over the spaces that share it; nullptr: the distribution

  const DistributionPtr& in_study() const { return recorded ? recorded : distribution; }
};

// {type: categorical, choices: [...]} inside groups as the list that it stands for. Throws Error for other keys beside it.
QUASAR_API void write_lists(Json& space);

// Why a point cannot be tried; "" for one that can.
using Refusal = std::function<std::string(const Point&)>;

class QUASAR_API Space {
 public:
  Space() = default;

  // Reads the two-level form. Throws Error for everything that could not work: an empty list, a choice given twice, a range at
  // level 1, a group without only_if, an only_if that names nothing, or a value that its parent cannot have, or that is
  // circular. Order in the file does not matter.
  static Space parse(const Json& words);

  // Parents before the parameters that depend on them, otherwise as in the file.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const Parameter* find(std::string_view name) const;
  bool empty() const { return parameters_.empty(); }

  // The names of parameters given as ranges (not pinned): a grid cannot have any.
  std::vector<std::string> ranges() const;

  // Whether the parameter exists, given the values of its parents in `point`.
  bool is_active(const Parameter& parameter, const Point& point) const;

  // Number of different points, where what is not active does not count; nullopt: a continuum, or more than 2^62.
  std::optional<uint64_t> size() const;

  // The points in product order, the last parameter fastest; index below size().
  Point at(uint64_t index) const;

  // The inverse of at(); nullopt for a point that is not one of this finite space.
  std::optional<uint64_t> index_of(const Point& point) const;

  // Every active parameter drawn on its own, uniformly from its distribution.
  Point sample(Rng& rng) const;

  // Throws Error unless the point has exactly the active parameters with values they can have.
  void check(const Point& point) const;

  // Whether check() passes and nothing refuses the point.
  bool has(const Point& point) const;

  // The point as a configuration in the words of the file: {"activation": "Int8Spec", "activation_params": {"symmetric":
  // true}}, with active parameters only and without only_if.
  Json decode(const Point& point) const;

  // The inverse of decode; flat study names are understood too. A parameter that is left out has its first choice, or the low end
  // of its range. Throws Error for unknown names, values that are not in the space, and parameters that do not exist with these.
  Point encode(const Json& words) const;

  // The point nearest to a configuration: its values where the space has them, the first choice (the low end of a range)
  // elsewhere. Never fails: a default configuration need not lie in the space.
  Point nearest_to(const Json& words) const;

  // The same space with the parameters of `point` that it knows held at these values. Throws Error for a value that the
  // parameter cannot have.
  Space pinned(const Point& point) const;

  // Adds a parameter of level 1 that has this value in every point. Throws std::logic_error for a name that the space has.
  void hold(const std::string& name, const Json& value);

  // Takes out the points that `refusal` refuses: those of a space of at most `most_looked_through` points at once, those of a
  // larger one when they are drawn.
  static constexpr uint64_t most_looked_through = 20000;
  void forbid(Refusal refusal);
  // The same for what `part` refuses, a space with some of this one's parameters: the others do not matter to it. Nothing where
  // this one lacks a parameter of it.
  void forbid_as(const Space& part);
  const Space* part() const { return part_.get(); }  // of the last forbid_as(); nullptr: there was none
  std::string refused(const Point& point) const { return refusal_ ? refusal_(point) : ""; }

  // Indices of the refused points, where the space was looked through; empty otherwise.
  const std::unordered_set<uint64_t>& forbidden() const { return forbidden_; }

  // size() without the refused points that are known.
  std::optional<uint64_t> valid() const;

  // A point with these values and the parents that they need, the rest drawn; nullopt where values contradict each other. The
  // point may be refused.
  std::optional<Point> with(const std::map<std::string, Json>& values, Rng& rng) const;

  // Points that show every pair of values (of a range: both ends) that can stand together; where that would be too many,
  // every single value.
  std::vector<Point> cover() const;

  // All parameters of several spaces that share a study, to decode and record the points of any of them: choices are united,
  // ranges enclose each other's. Throws Error where one has a list and another a range, or ranges of different kinds.
  static Space together(const std::vector<Space>& spaces);

  // The same space, recorded in a study as `shared` (from together()) says.
  Space recorded_as(const Space& shared) const;

 private:
  class Counter;  // numbers the points of a finite space

  void count_points();
  std::vector<std::pair<std::string, Json>> flattened(const Json& words) const;  // a configuration by study names

  std::vector<Parameter> parameters_;
  std::vector<std::string> order_;  // level-1 keys and groups as in the file
  Refusal refusal_;
  std::shared_ptr<const Space> part_;
  std::unordered_set<uint64_t> forbidden_;
  std::shared_ptr<const Counter> counter_;  // shared by copies of the space, never changed; nullptr: not finite
};

}  // namespace quasar::search
