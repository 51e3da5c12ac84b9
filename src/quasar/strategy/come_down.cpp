#include "quasar/strategy/come_down.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "quasar/job/precision.hpp"
#include "quasar/trial/ranking.hpp"

namespace quasar::tune {
namespace {

constexpr size_t most_refused = 8;         // in a row
constexpr size_t most_refused_really = 6;  // the same of those that foresight nearly promises
// Parts of the loss foreseen that are tried all the same: it is estimated on some of the samples; and where a trial rounds anew,
// so much is gained by rounding for the model as it is then.
constexpr double nearly_enough = 0.97, nearly_enough_anew = 0.9;

class ComingDown {
 public:
  ComingDown(const search::Space& space, search::Sequence& sequence, RepairNotes& notes, Foresight& foresight)
      : space_(space), sequence_(sequence), notes_(notes), foresight_(foresight) {}

  // -> whether it can be foreseen
  bool begin() {
    for (bool in_halves = true; foresee(); in_halves = false) {
      if (!come_as_foreseen(in_halves)) break;
    }
    return foreseeing_;
  }

  // To 8 bits, then those that cannot to the cheapest rung. What that changes may let others have 8 bits.
  void run() {
    begin();
    int64_t settled = -1;
    for (bool in_pieces = !foreseeing_; notes_.ground().number != settled; in_pieces = false) {
      come({[&](const std::string& node) { return notes_.cheapest(node); }, 0}, in_pieces);
      settled = notes_.ground().number;
      for (size_t r = 0; r + 1 < notes_.rungs().size(); r++) {
        const Rung& rung = notes_.rungs()[r];
        come({[&](const std::string& node) { return rung.nodes.contains(node) ? rung.choice : Json(); }, r + 1}, in_pieces);
      }
    }
  }

 private:
  // What operators on rung `from` or above become; null for one that cannot.
  struct Step {
    std::function<Json(const std::string& node)> to;
    size_t from = 0;
  };

  bool foresee() { return foreseeing_ = foresight_.begin(notes_.ground()); }

  // As far as foresight promises, or the greatest part of that way that holds. -> whether any trial on it did
  bool come_as_foreseen(bool in_halves) {
    const Step step{[&](const std::string& node) { return notes_.cheapest(node); }, 0};
    const search::Point from = notes_.ground().point;
    const std::vector<Changes> way = foreseen_way(step, from, in_halves);
    const int64_t before = notes_.ground().number;
    greatest(way.size(), [&](size_t count) {
      if (count == 0) return true;
      Changes changes;
      for (size_t i = 0; i < count; i++) changes.insert(changes.end(), way[i].begin(), way[i].end());
      const search::Trial trial = sequence_.evaluate(changed(space_, from, changes), "take back");
      notes_.note(trial, "take back", changes);
      return notes_.holds(trial);
    });
    return notes_.ground().number != before;
  }

  // What would return one after the other, as in come(), if every trial ended as foreseen. Halves are asked on the first way: of
  // those that are left behind it hardly any go together.
  std::vector<Changes> foreseen_way(const Step& step, const search::Point& from, bool in_halves) {
    const std::vector<std::string> all = above(step);
    std::vector<Changes> way;
    foresight_.go([&](const Foresight::Asking& meets) {
      std::vector<std::string> left = all;
      search::Point at = from;
      way.clear();
      const auto returns = [&](size_t begin, size_t end) {
        Changes changes;
        for (size_t i = begin; i < end; i++) changes.emplace_back(precision_of(left[i]), step.to(left[i]));
        search::Point point = changed(space_, at, changes);
        if (!meets(point, 1)) return false;
        at = std::move(point);
        way.push_back(std::move(changes));
        left.erase(left.begin() + static_cast<ptrdiff_t>(begin), left.begin() + static_cast<ptrdiff_t>(end));
        return true;
      };
      for (size_t size = in_halves ? left.size() / 2 : 0; size > 1; size /= 2) returns(left.size() - size, left.size());
      ask_one_by_one(left, most_refused, returns);
    });
    return way;
  }

  // How many of the least harmful may return together, by bisection; then single ones. Not half of them: where so many could,
  // fewer would have been given up.
  void come(const Step& step, bool in_pieces) {
    std::vector<std::string> left = above(step);
    for (size_t size = in_pieces ? left.size() / 4 : 0; size > 1; size /= 2) returns(step, left, left.size() - size, left.size());
    one_by_one(step, left);
  }

  // The least harmful first, twice as many with each success until that fails, over and over, as one that returns may make room
  // for another; until the same model has refused all that are left, or so many in a row that more harmful ones need not be
  // asked. Not for those that were out of reach with more given up, and none that foresight does not nearly promise.
  void one_by_one(const Step& step, std::vector<std::string>& left) {
    size_t asked = 0;  // in vain, really
    ask_one_by_one(left, foreseeing_ ? left.size() : most_refused, [&](size_t begin, size_t end) {
      const bool single = end - begin == 1;
      if (foreseeing_ && (asked == most_refused_really || !promises(step, left, begin, end))) return false;
      if (single && was_out_of_reach(step, left[begin])) return false;
      const bool comes = returns(step, left, begin, end);
      if (single || comes) asked = comes ? 0 : asked + 1;
      if (comes && foreseeing_) foresee();
      return comes;
    });
  }

  bool promises(const Step& step, const std::vector<std::string>& left, size_t begin, size_t end) {
    Changes changes;
    for (size_t i = begin; i < end; i++) changes.emplace_back(precision_of(left[i]), step.to(left[i]));
    const search::Point& from = notes_.ground().point;
    const Json* fallback = from.find(fallback_parameter);
    const bool anew = fallback != nullptr && *fallback == fallback_before_rounding;
    const search::Point point = changed(space_, from, changes);
    bool promised = false;
    foresight_.go([&](const Foresight::Asking& meets) { promised = meets(point, anew ? nearly_enough_anew : nearly_enough); });
    return promised;
  }

  // `returns`: whether left[begin, end) do; then they are left no longer.
  static void ask_one_by_one(const std::vector<std::string>& left, size_t most,
                             const std::function<bool(size_t, size_t)>& returns) {
    size_t next = left.size(), size = 1, more = 2;
    for (size_t refused = 0; refused < std::min(left.size(), most);) {
      if (next == 0) next = left.size();
      const size_t begin = next - std::min(size, next);
      const bool comes = returns(begin, next);
      if (comes) refused = 0;
      if (!comes && size == 1) refused++;
      if (!comes && size > 1) more = 1;
      if (comes || size == 1) next = begin;
      size = comes ? more * size : 1;
    }
  }

  bool was_out_of_reach(const Step& step, const std::string& node) {
    const auto found = out_of_reach_.find({node, step.to(node).dump()});
    if (found == out_of_reach_.end()) return false;
    if (step.from == 0) notes_.note_without(node, found->second);
    return true;
  }

  // Whether left[begin, end) may; then they are left no longer.
  bool returns(const Step& step, std::vector<std::string>& left, size_t begin, size_t end) {
    Changes changes;
    for (size_t i = begin; i < end; i++) changes.emplace_back(precision_of(left[i]), step.to(left[i]));
    const search::Trial trial = sequence_.evaluate(changed(space_, notes_.ground().point, changes), "take back");
    notes_.note(trial, "take back", changes);
    const bool gains = notes_.ground().number == trial.number;  // not where both ways cost the same
    if (gains) {
      left.erase(left.begin() + static_cast<ptrdiff_t>(begin), left.begin() + static_cast<ptrdiff_t>(end));
    } else if (end - begin == 1 && !notes_.holds(trial)) {
      if (step.from == 0) notes_.note_without(left[begin], trial);
      if (trial.state == search::State::pruned) out_of_reach_.insert_or_assign({left[begin], step.to(left[begin]).dump()}, trial);
    }
    return gains;
  }

  // Those that can go, the most harmful first.
  std::vector<std::string> above(const Step& step) const {
    std::vector<std::string> nodes;
    for (const auto& [name, value] : notes_.ground().point.values()) {
      const auto rung = std::ranges::find(notes_.rungs(), value, &Rung::choice) - notes_.rungs().begin();
      if (!name.starts_with(precision_of("")) || rung < static_cast<ptrdiff_t>(step.from) || rung == std::ssize(notes_.rungs()))
        continue;
      const std::string node = name.substr(precision_of("").size());
      if (const Json to = step.to(node); !to.is_null() && to != value) nodes.push_back(node);
    }
    const std::vector<std::string> harmless = by_least_harm(notes_.units());
    const auto harm = [&](const std::string& node) { return std::ranges::find(harmless, node) - harmless.begin(); };
    std::ranges::stable_sort(nodes, std::ranges::greater(), harm);
    return nodes;
  }

  const search::Space& space_;
  search::Sequence& sequence_;
  RepairNotes& notes_;
  Foresight& foresight_;
  bool foreseeing_ = false;
  std::map<std::pair<std::string, std::string>, search::Trial> out_of_reach_;  // by operator and what it was to become
};

}  // namespace

void come_down(const search::Space& space, search::Sequence& sequence, RepairNotes& notes, Foresight& foresight) {
  ComingDown(space, sequence, notes, foresight).run();
}

bool come_down_as_foreseen(const search::Space& space, search::Sequence& sequence, RepairNotes& notes, Foresight& foresight) {
  return ComingDown(space, sequence, notes, foresight).begin();
}

}  // namespace quasar::tune
