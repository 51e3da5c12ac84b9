#include "quasar/tune/flips.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace quasar::tune {
namespace {

struct Count {
  size_t samples = 0, changed = 0, gained = 0, lost = 0;
};

Json to_json(const Count& count, bool labelled) {
  Json out{{"samples", count.samples}, {"changed", count.changed}};
  if (labelled) {
    out["gained"] = count.gained;
    out["lost"] = count.lost;
  }
  return out;
}

Json classes_json(const std::map<int64_t, Count>& classes, bool labelled) {
  constexpr size_t most = 50;
  std::vector<std::pair<int64_t, Count>> sorted(classes.begin(), classes.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.changed > b.second.changed; });
  Json out = Json::array();
  for (const auto& [name, count] : sorted) {
    if (out.size() == most || count.changed == 0) break;
    Json entry{{"class", name}};
    entry.update(to_json(count, labelled));
    out.push_back(std::move(entry));
  }
  return out;
}

// Samples in the order in which a reader wants to see them.
std::vector<size_t> worst_first(const eval::Score& reference, const eval::Score& best) {
  std::vector<size_t> order(best.answers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto changed = [&](size_t i) { return reference.answers[i] != best.answers[i]; };
  const auto moved = [&](size_t i) { return std::abs(best.per_sample[i] - reference.per_sample[i]); };
  const size_t count = std::min<size_t>(20, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), [&](size_t a, size_t b) {
    if (changed(a) != changed(b)) return changed(a);
    return moved(a) != moved(b) ? moved(a) > moved(b) : a < b;
  });
  order.resize(count);
  return order;
}

}  // namespace

Json flips_of(const data::Dataset& samples, const eval::Score& reference, const eval::Score& best) {
  const size_t count = best.answers.size();
  if (count == 0 || reference.answers.size() != count || best.per_sample.size() != count || reference.per_sample.size() != count)
    return nullptr;
  const bool labelled = samples.label(0).has_value();
  Count all;
  std::map<int64_t, Count> classes;
  for (size_t i = 0; i < count; ++i) {
    const int64_t before = reference.answers[i], after = best.answers[i];
    const auto label = samples.label(i);
    for (Count* one : {&all, &classes[label.value_or(before)]}) {
      one->samples += 1;
      one->changed += before != after ? 1 : 0;
      one->gained += label && before != *label && after == *label ? 1 : 0;
      one->lost += label && before == *label && after != *label ? 1 : 0;
    }
  }
  Json out = to_json(all, labelled);
  out["classes"] = classes_json(classes, labelled);
  out["worst"] = Json::array();
  for (const size_t i : worst_first(reference, best)) {
    Json entry{{"sample", i}, {"float", reference.answers[i]}, {"best", best.answers[i]}, {"value", best.per_sample[i]}};
    if (const auto label = samples.label(i)) entry["label"] = *label;
    out["worst"].push_back(std::move(entry));
  }
  return out;
}

}  // namespace quasar::tune
