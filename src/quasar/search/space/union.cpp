// Several spaces in one study. Optuna's schema knows one set of choices per parameter, so that of all spaces is recorded.
#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/search/space.hpp"

namespace quasar::search {
namespace {

std::optional<Distribution> united(const Categorical& a, const Categorical& b) {
  Categorical out = a;
  for (const Json& choice : b.choices) {
    if (!position_of(out, choice)) out.choices.push_back(choice);
  }
  return out;
}

// Both of one kind and step; a stepped range must also be in step.
std::optional<Distribution> united(const Integer& a, const Integer& b) {
  if (a.log != b.log || a.step != b.step || (a.low - b.low) % a.step != 0) return std::nullopt;
  return Integer{.low = std::min(a.low, b.low), .high = std::max(a.high, b.high), .step = a.step, .log = a.log};
}

std::optional<Distribution> united(const Real& a, const Real& b) {
  if (a.log != b.log || a.step != b.step || (a.step && a.low != b.low)) return std::nullopt;
  return Real{.low = std::min(a.low, b.low), .high = std::max(a.high, b.high), .step = a.step, .log = a.log};
}

template <class A, class B>
std::optional<Distribution> united(const A&, const B&) {
  return std::nullopt;
}

}  // namespace

Space Space::together(const std::vector<Space>& spaces) {
  Space out;
  for (const Space& space : spaces) {
    for (const Parameter& p : space.parameters_) {
      const auto same = std::ranges::find(out.parameters_, p.name, &Parameter::name);
      if (same == out.parameters_.end()) {
        out.parameters_.push_back(p);
        out.parameters_.back().pinned.reset();
        continue;
      }
      if (same->group != p.group) throw Error("the spaces have '" + p.name + "' both in a group and at level 1; rename one");
      const auto both =
          std::visit([](const auto& a, const auto& b) { return united(a, b); }, *same->distribution, *p.distribution);
      if (!both) {
        throw Error("the spaces have '" + p.name +
                    "' with distributions that no study can hold together (a list here, a range there, or other steps); write "
                    "both as lists, or both as ranges of one kind");
      }
      same->distribution = std::make_shared<Distribution>(*both);
    }
    for (const std::string& key : space.order_) {
      if (std::ranges::find(out.order_, key) == out.order_.end()) out.order_.push_back(key);
    }
  }
  return out;
}

Space Space::recorded_as(const Space& shared) const {
  Space out = *this;
  for (Parameter& p : out.parameters_) {
    if (const Parameter* other = shared.find(p.name)) p.recorded = other->distribution;
  }
  return out;
}

}  // namespace quasar::search
