#include "quasar/strategy/come_down.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "quasar/job/precision.hpp"
#include "quasar/trial/ranking.hpp"

namespace quasar::tune {
namespace {

constexpr size_t most_refused = 8;  // in a row

class ComingDown {
 public:
  ComingDown(const search::Space& space, search::Sequence& sequence, RepairNotes& notes)
      : space_(space), sequence_(sequence), notes_(notes) {}

  // To 8 bits, then those that cannot to the cheapest rung. What that changes may let others have 8 bits.
  void run() {
    int64_t settled = -1;
    for (bool in_pieces = true; notes_.ground().number != settled; in_pieces = false) {
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

  // How many of the least harmful may return together, by bisection; then single ones. Not half of them: where so many could,
  // fewer would have been given up.
  void come(const Step& step, bool in_pieces) {
    std::vector<std::string> left = above(step);
    for (size_t size = in_pieces ? left.size() / 4 : 0; size > 1; size /= 2) returns(step, left, left.size() - size, left.size());
    one_by_one(step, left);
  }

  // The least harmful first, twice as many with each success until that fails, over and over, as one that returns may make room
  // for another; until the same model has refused all that are left, or so many in a row that more harmful ones need not be
  // asked. Not for those that were out of reach with more given up.
  void one_by_one(const Step& step, std::vector<std::string>& left) {
    size_t next = left.size(), size = 1, more = 2;
    for (size_t refused = 0; refused < std::min(left.size(), most_refused);) {
      if (next == 0) next = left.size();
      const size_t begin = next - std::min(size, next);
      const bool comes = (size > 1 || !was_out_of_reach(step, left[begin])) && returns(step, left, begin, next);
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
  std::map<std::pair<std::string, std::string>, search::Trial> out_of_reach_;  // by operator and what it was to become
};

}  // namespace

void come_down(const search::Space& space, search::Sequence& sequence, RepairNotes& notes) {
  ComingDown(space, sequence, notes).run();
}

}  // namespace quasar::tune
