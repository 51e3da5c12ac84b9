#include "quasar/tune/flips.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/data/class_names.hpp"
#include "quasar/data/preview.hpp"

namespace quasar::tune {
namespace {

std::vector<std::pair<int64_t, Flips::Counts>> most_changed(const std::map<int64_t, Flips::Counts>& classes) {
  constexpr size_t most = 50;
  std::vector<std::pair<int64_t, Flips::Counts>> sorted(classes.begin(), classes.end());
  std::erase_if(sorted, [](const auto& one) { return one.second.changed == 0; });
  std::ranges::stable_sort(sorted, std::ranges::greater(), [](const auto& one) { return one.second.changed; });
  sorted.resize(std::min(sorted.size(), most));
  return sorted;
}

// Samples in the order in which a reader wants to see them.
std::vector<size_t> worst_first(const eval::Score& reference, const eval::Score& best) {
  std::vector<size_t> order(best.per_sample.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const bool answered = !best.answers.empty();
  const auto changed = [&](size_t i) { return answered && reference.answers[i] != best.answers[i]; };
  const auto moved = [&](size_t i) { return std::abs(best.per_sample[i] - reference.per_sample[i]); };
  const size_t count = std::min<size_t>(20, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), [&](size_t a, size_t b) {
    if (changed(a) != changed(b)) return changed(a);
    return moved(a) != moved(b) ? moved(a) > moved(b) : a < b;
  });
  order.resize(count);
  return order;
}

std::vector<Flips::Sample> worst_of(const data::Dataset& samples, const eval::Score& reference, const eval::Score& best) {
  std::vector<Flips::Sample> out;
  for (const size_t i : worst_first(reference, best)) {
    Flips::Sample sample{.number = i, .value = best.per_sample[i], .label = samples.label(i)};
    if (!best.answers.empty()) sample.answers = {reference.answers[i], best.answers[i]};
    out.push_back(std::move(sample));
  }
  return out;
}

// Of the classes that `flips` speaks of.
std::map<int64_t, std::string> names_of(const data::Dataset& samples, const Flips& flips) {
  std::set<int64_t> classes;
  for (const auto& [label, counts] : flips.classes) classes.insert(label);
  for (const auto& one : flips.worst) {
    if (one.label) classes.insert(*one.label);
    if (one.answers) classes.insert({one.answers->by_float, one.answers->best});
  }
  std::map<int64_t, std::string> out;
  for (const int64_t one : classes) {
    std::string name = data::class_name_of(samples, one);
    if (!name.empty()) out[one] = std::move(name);
  }
  return out;
}

Json to_json(const Flips::Counts& counts, bool labelled) {
  Json out{{"samples", counts.samples}, {"changed", counts.changed}};
  if (labelled) out.update({{"gained", counts.gained}, {"lost", counts.lost}});
  return out;
}

Json to_json(const Flips::Sample& sample) {
  Json out{{"sample", sample.number}};
  if (sample.answers) out.update({{"float", sample.answers->by_float}, {"best", sample.answers->best}});
  out["value"] = sample.value;
  if (sample.label) out["label"] = *sample.label;
  if (!sample.picture.empty()) out["picture"] = sample.picture;
  if (!sample.file.empty()) out["file"] = sample.file;
  return out;
}

constexpr const char *picture_begin = "sample_", *picture_end = ".jpg";

// Pictures of an earlier search in the same folder. A link in its place is taken away, and what it leads to left alone.
void remove_pictures(const std::filesystem::path& folder) {
  std::error_code code;
  if (std::filesystem::is_symlink(folder)) std::filesystem::remove(folder, code);
  for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
    if (is_picture_of_sample(entry.path())) std::filesystem::remove(entry.path(), code);
  }
}

std::string picture_of_sample(size_t sample) {
  return picture_begin + std::to_string(sample) + picture_end;
}

}  // namespace

bool is_picture_of_sample(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  return name.starts_with(picture_begin) && name.ends_with(picture_end);
}

std::optional<Flips> flips_of(const data::Dataset& samples, const eval::Score& reference, const eval::Score& best) {
  const size_t count = best.per_sample.size();
  if (count == 0 || reference.per_sample.size() != count) return std::nullopt;
  Flips out;
  out.of_classes = best.answers.size() == count && reference.answers.size() == count;
  if (!out.of_classes && (!best.answers.empty() || !reference.answers.empty())) return std::nullopt;
  out.worst = worst_of(samples, reference, best);
  out.all.samples = count;
  if (!out.of_classes) return out;
  out.labelled = samples.label(0).has_value();
  out.all = {};
  std::map<int64_t, Flips::Counts> classes;
  for (size_t i = 0; i < count; ++i) {
    const int64_t before = reference.answers[i], after = best.answers[i];
    const auto label = samples.label(i);
    for (Flips::Counts* one : {&out.all, &classes[label.value_or(before)]}) {
      one->samples += 1;
      one->changed += before != after ? 1 : 0;
      one->gained += label && before != *label && after == *label ? 1 : 0;
      one->lost += label && before == *label && after != *label ? 1 : 0;
    }
  }
  out.classes = most_changed(classes);
  out.names = names_of(samples, out);
  return out;
}

Json to_json(const Flips& flips) {
  Json out = flips.of_classes ? to_json(flips.all, flips.labelled) : Json{{"samples", flips.all.samples}};
  if (flips.of_classes) out["classes"] = Json::array();
  for (const auto& [label, counts] : flips.classes) {
    out["classes"].push_back({{"class", label}});
    out["classes"].back().update(to_json(counts, flips.labelled));
  }
  out["worst"] = Json::array();
  for (const auto& sample : flips.worst) out["worst"].push_back(to_json(sample));
  for (const auto& [label, name] : flips.names) out["names"][std::to_string(label)] = name;
  out["metric"] = flips.metric;
  return out;
}

void add_pictures(Flips& flips, const data::Dataset& samples, const std::filesystem::path& output_dir) {
  constexpr size_t most_pixels = 128;
  const std::filesystem::path folder = output_dir / worst_samples;
  remove_pictures(folder);
  std::atomic<bool> have_one = true;
  parallel_for(flips.worst.size(), 0, [&](size_t i) {
    Flips::Sample& sample = flips.worst[i];
    if (!have_one) return;
    std::string bytes, file;
    try {
      const auto picture = data::picture_of(samples, sample.number);
      if (!picture) have_one = false;  // nor have the others one
      if (!picture) return;
      bytes = data::thumbnail(picture->image, most_pixels);
      file = picture->file;
    } catch (const Error&) {  // it is gone since it was scored: the report goes without
      return;
    }
    std::error_code code;
    std::filesystem::create_directories(folder, code);
    const std::string name = picture_of_sample(sample.number);
    write_file(folder / name, bytes);
    sample.picture = std::string(worst_samples) + "/" + name;
    sample.file = file;
  });
}

}  // namespace quasar::tune
