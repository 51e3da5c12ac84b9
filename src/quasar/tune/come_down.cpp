#include "quasar/tune/come_down.hpp"

#include <algorithm>

#include "quasar/tune/precision.hpp"

namespace quasar::tune {
namespace {

class ComingDown {
 public:
  ComingDown(const search::Space& space, search::Sequence& sequence, RepairNotes& notes)
      : space_(space), sequence_(sequence), notes_(notes) {}

  // Operators on rung `from` or above. `to` gives null for one that cannot be there.
  void run(const std::function<Json(const std::string&)>& to, size_t from) {
    std::vector<std::string> left = above(to, from);
    for (size_t size = std::max<size_t>(left.size() / 2, left.empty() ? 0 : 1); size > 0; size = size == 1 ? 0 : (size + 1) / 2) {
      for (size_t end = left.size(); end > 0;) {
        const size_t begin = end > size ? end - size : 0;
        Changes changes;
        for (size_t i = begin; i < end; i++) changes.emplace_back(precision_of(left[i]), to(left[i]));
        const search::Trial trial = sequence_.evaluate(changed(space_, notes_.ground().point, changes));
        notes_.note(trial, "take back", changes);
        if (notes_.holds(trial)) {
          left.erase(left.begin() + static_cast<ptrdiff_t>(begin), left.begin() + static_cast<ptrdiff_t>(end));
        } else if (end - begin == 1 && from == 0) {
          notes_.note_without(left[begin], trial);
        }
        end = begin;
      }
    }
  }

 private:
  // Those that can go, the most sensitive first.
  std::vector<std::string> above(const std::function<Json(const std::string&)>& to, size_t from) const {
    std::vector<std::string> nodes;
    for (const auto& [name, value] : notes_.ground().point.values()) {
      const auto rung = std::ranges::find(notes_.rungs(), value, &Rung::choice) - notes_.rungs().begin();
      if (!name.starts_with(precision_of("")) || rung < static_cast<ptrdiff_t>(from) || rung == std::ssize(notes_.rungs()))
        continue;
      const std::string node = name.substr(precision_of("").size());
      if (!to(node).is_null() && to(node) != value) nodes.push_back(node);
    }
    const auto place = [&](const std::string& node) {
      return std::ranges::find_if(notes_.units(), [&](const UnitError& error) { return error.unit.node == node; }) -
             notes_.units().begin();
    };
    std::ranges::stable_sort(nodes, {}, place);
    return nodes;
  }

  const search::Space& space_;
  search::Sequence& sequence_;
  RepairNotes& notes_;
};

}  // namespace

void come_down(const search::Space& space, search::Sequence& sequence, RepairNotes& notes) {
  ComingDown way(space, sequence, notes);
  way.run([&](const std::string& node) { return notes.cheapest(node); }, 0);
  for (size_t r = 0; r + 1 < notes.rungs().size(); r++) {
    const Rung& rung = notes.rungs()[r];
    way.run([&](const std::string& node) { return rung.nodes.contains(node) ? rung.choice : Json(); }, r + 1);
  }
}

}  // namespace quasar::tune
