#include "quasar/tune/flips.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/data/class_names.hpp"
#include "quasar/data/preview.hpp"

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

Json worst_json(const data::Dataset& samples, const eval::Score& reference, const eval::Score& best) {
  Json out = Json::array();
  for (const size_t i : worst_first(reference, best)) {
    Json entry{{"sample", i}};
    if (!best.answers.empty()) entry.update(Json{{"float", reference.answers[i]}, {"best", best.answers[i]}});
    entry["value"] = best.per_sample[i];
    if (const auto label = samples.label(i)) entry["label"] = *label;
    out.push_back(std::move(entry));
  }
  return out;
}

// {"3": "cat"} of the classes in `flips` that have a name.
Json names_json(const data::Dataset& samples, const Json& flips) {
  std::set<int64_t> classes;
  for (const auto& one : flips.value("classes", Json::array())) classes.insert(one["class"].get<int64_t>());
  for (const auto& one : flips["worst"]) {
    for (const char* key : {"label", "float", "best"}) {
      if (one.contains(key)) classes.insert(one[key].get<int64_t>());
    }
  }
  Json out = Json::object();
  for (const int64_t one : classes) {
    const std::string name = data::class_name_of(samples, one);
    if (!name.empty()) out[std::to_string(one)] = name;
  }
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

Json flips_of(const data::Dataset& samples, const eval::Score& reference, const eval::Score& best) {
  const size_t count = best.per_sample.size();
  if (count == 0 || reference.per_sample.size() != count) return nullptr;
  if (best.answers.size() != count || reference.answers.size() != count) {
    if (!best.answers.empty() || !reference.answers.empty()) return nullptr;
    return {{"samples", count}, {"worst", worst_json(samples, reference, best)}};
  }
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
  out["worst"] = worst_json(samples, reference, best);
  if (const Json names = names_json(samples, out); !names.empty()) out["names"] = names;
  return out;
}

void add_pictures(Json& flips, const data::Dataset& samples, const std::filesystem::path& output_dir) {
  constexpr size_t most_pixels = 128;
  const std::filesystem::path folder = output_dir / worst_samples;
  remove_pictures(folder);
  if (!flips.is_object()) return;
  Json& worst = flips["worst"];
  std::atomic<bool> have_one = true;
  parallel_for(worst.size(), 0, [&](size_t i) {
    Json& entry = worst[i];
    const auto sample = entry["sample"].get<size_t>();
    if (!have_one) return;
    std::string bytes, file;
    try {
      const auto picture = data::picture_of(samples, sample);
      if (!picture) have_one = false;  // nor have the others one
      if (!picture) return;
      bytes = data::thumbnail(picture->image, most_pixels);
      file = picture->file;
    } catch (const Error&) {  // it is gone since it was scored: the report goes without
      return;
    }
    std::error_code code;
    std::filesystem::create_directories(folder, code);
    const std::string name = picture_of_sample(sample);
    write_file(folder / name, bytes);
    entry["picture"] = std::string(worst_samples) + "/" + name;
    if (!file.empty()) entry["file"] = file;
  });
}

}  // namespace quasar::tune
