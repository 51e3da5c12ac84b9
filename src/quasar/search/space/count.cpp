// Numbering the points of a finite space.
//
// n(i, live)   number of ways to complete a point from parameter i on, given the values of the parents before i that
//              parameters from i on still ask for. n(last + 1) = 1; a parameter that is not active contributes one way:
//                n(i, live) = Σ_v n(i + 1, live ∪ {i: v})       over its values v when i is a parent, else |values| · n(i + 1,
//                live)
// The point of an index follows by descending from parameter 0, as digits of a number in a mixed radix.
#include <algorithm>
#include <map>
#include <set>

#include "quasar/search/space.hpp"

namespace quasar::search {
namespace {

constexpr uint64_t most_points = uint64_t{1} << 62;
constexpr size_t most_states = 1 << 20;

}  // namespace

class Space::Counter {
 public:
  // nullptr when the space is not finite or too large to number.
  static std::shared_ptr<const Counter> of(const std::vector<Parameter>& parameters) {
    auto out = std::make_shared<Counter>();
    for (const Parameter& p : parameters) {
      if (!out->add(p, parameters)) return nullptr;
    }
    for (size_t i = 0; i < out->slots_.size(); ++i) {
      for (const Wish& wish : out->slots_[i].wishes) {
        for (size_t j = wish.parent + 1; j <= i; ++j) out->live_[j].insert(wish.parent);
        out->slots_[wish.parent].is_parent = true;
      }
    }
    std::vector<int64_t> values(out->slots_.size(), -1);
    out->size_ = out->fill(0, values);
    return out->size_ <= most_points ? out : nullptr;
  }

  uint64_t size() const { return size_; }

  Point at(uint64_t index, const std::vector<Parameter>& parameters) const {
    Point out;
    std::vector<int64_t> values(slots_.size(), -1);
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (!active(i, values)) continue;
      values[i] = 0;
      if (!slots_[i].is_parent) {
        const uint64_t rest = ways(i + 1, values);
        values[i] = static_cast<int64_t>(index / rest);
        index %= rest;
      } else {
        for (uint64_t rest; index >= (rest = ways(i + 1, values)); ++values[i]) index -= rest;
      }
      const Parameter& p = parameters[i];
      out.set(p.name, p.pinned ? *p.pinned : value_at(*p.distribution, static_cast<uint64_t>(values[i])));
    }
    return out;
  }

  std::optional<uint64_t> index_of(const Point& point, const std::vector<Parameter>& parameters) const {
    uint64_t index = 0;
    size_t used = 0;
    std::vector<int64_t> values(slots_.size(), -1);
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (!active(i, values)) continue;
      const Json* value = point.find(parameters[i].name);
      if (value == nullptr) return std::nullopt;
      ++used;
      const Parameter& p = parameters[i];
      const auto position =
          p.pinned ? position_of(Categorical{std::vector<Json>(1, *p.pinned)}, *value) : position_of(*p.distribution, *value);
      if (!position) return std::nullopt;
      values[i] = 0;
      if (!slots_[i].is_parent) {
        index += *position * ways(i + 1, values);
      } else {
        for (uint64_t v = 0; v < *position; ++v, ++values[i]) index += ways(i + 1, values);
      }
      values[i] = static_cast<int64_t>(*position);
    }
    return used == point.values().size() ? std::optional(index) : std::nullopt;
  }

 private:
  // A condition in positions of the parent's values; empty `allowed`: never holds.
  struct Wish {
    size_t parent;
    std::vector<bool> holds;  // by position
  };
  struct Slot {
    uint64_t count = 0;
    std::vector<Wish> wishes = {};
    bool is_parent = false;
  };

  bool add(const Parameter& p, const std::vector<Parameter>& parameters) {
    const auto count = p.pinned ? std::optional<uint64_t>(1) : cardinality(*p.distribution);
    if (!count) return false;
    Slot slot{.count = *count};
    for (const Condition& condition : p.conditions) {
      size_t parent = 0;
      while (parameters[parent].name != condition.parent) ++parent;
      if (slots_[parent].count > most_states) return false;
      Wish wish{parent, std::vector<bool>(slots_[parent].count)};
      const Parameter& q = parameters[parent];
      for (uint64_t v = 0; v < slots_[parent].count; ++v) {
        const Json value = q.pinned ? *q.pinned : value_at(*q.distribution, v);
        wish.holds[v] = condition.allows(value);
      }
      slot.wishes.push_back(std::move(wish));
    }
    slots_.push_back(std::move(slot));
    live_.resize(slots_.size() + 1);
    ways_.resize(slots_.size() + 1);
    return true;
  }

  bool active(size_t i, const std::vector<int64_t>& values) const {
    for (const Wish& wish : slots_[i].wishes) {
      if (values[wish.parent] < 0 || !wish.holds[static_cast<size_t>(values[wish.parent])]) return false;
    }
    return true;
  }

  std::vector<int64_t> key(size_t i, const std::vector<int64_t>& values) const {
    std::vector<int64_t> out;
    for (const size_t parent : live_[i]) out.push_back(values[parent]);
    return out;
  }

  uint64_t ways(size_t i, const std::vector<int64_t>& values) const {
    return i == slots_.size() ? 1 : ways_[i].at(key(i, values));
  }

  // Sums stay at most_points + 1 once they exceed it.
  uint64_t fill(size_t i, std::vector<int64_t>& values) {
    if (i == slots_.size()) return 1;
    const auto found = ways_[i].find(key(i, values));
    if (found != ways_[i].end()) return found->second;
    if (++states_ > most_states) return most_points + 1;
    uint64_t out = 0;
    if (!active(i, values)) {
      out = fill(i + 1, values);
    } else if (!slots_[i].is_parent) {
      values[i] = 0;
      const uint64_t rest = fill(i + 1, values);
      out = rest > most_points / slots_[i].count ? most_points + 1 : rest * slots_[i].count;
    } else {
      for (uint64_t v = 0; v < slots_[i].count && out <= most_points; ++v) {
        values[i] = static_cast<int64_t>(v);
        out = std::min(out + fill(i + 1, values), most_points + 1);
      }
    }
    values[i] = -1;
    ways_[i][key(i, values)] = out;
    return out;
  }

  std::vector<Slot> slots_;
  std::vector<std::set<size_t>> live_;                          // parents that parameters from i on ask for
  std::vector<std::map<std::vector<int64_t>, uint64_t>> ways_;  // n(i, ·)
  size_t states_ = 0;
  uint64_t size_ = 0;
};

void Space::count_points() {
  counter_ = Counter::of(parameters_);
}

std::optional<uint64_t> Space::size() const {
  if (parameters_.empty()) return 1;
  return counter_ ? std::optional(counter_->size()) : std::nullopt;
}

Point Space::at(uint64_t index) const {
  return counter_ ? counter_->at(index, parameters_) : Point();
}

std::optional<uint64_t> Space::index_of(const Point& point) const {
  if (parameters_.empty()) return point.values().empty() ? std::optional<uint64_t>(0) : std::nullopt;
  return counter_ ? counter_->index_of(point, parameters_) : std::nullopt;
}

}  // namespace quasar::search
