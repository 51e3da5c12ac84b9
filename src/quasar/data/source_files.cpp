#include "quasar/data/source_files.hpp"

#include <algorithm>
#include <array>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/yaml.hpp"
#include "quasar/data/described.hpp"
#include "quasar/data/labels.hpp"
#include "quasar/data/options.hpp"
#include "quasar/data/reader.hpp"

namespace quasar::data {
namespace {

namespace fs = std::filesystem;

// Of samples that a program brings.
void add_guest(std::vector<fs::path>& places, const std::string& reader, const Json& class_names, const fs::path& base) {
  if (readers::table().try_find(reader) == nullptr) return;
  try {
    for (const fs::path& file : readers::table().make(reader)->files()) places.push_back(file);
  } catch (const Error&) {  // it needs a path, and has none: open() says it
  }
  if (class_names.is_string() && class_names != "") places.push_back(base / class_names.get<std::string>());
}

void add_mapping(std::vector<fs::path>& places, const Json& words, const fs::path& base) {
  const Json path = words.value("path", Json()), reader = words.value("reader", Json());
  if (!path.is_string()) {
    if (reader.is_string()) add_guest(places, reader.get<std::string>(), words.value("class_names", Json()), base);
    return;
  }
  const fs::path samples = base / path.get<std::string>();
  places.push_back(samples);
  for (const char* key : {"labels", "class_names"}) {  // labels may also be the name of an array
    const Json beside = words.value(key, Json());
    if (!beside.is_string() || beside == "") continue;
    const fs::path file = find_labels(beside.get<std::string>(), base, samples);
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) places.push_back(file);
  }
}

bool is_description(const fs::path& file) {
  static constexpr std::array extensions{".yaml", ".yml", ".json"};
  return std::ranges::find(extensions, file.extension().string()) != extensions.end();
}

}  // namespace

std::vector<fs::path> places_of(const Json& description, const fs::path& base) {
  std::vector<fs::path> places;
  if (description.is_object()) add_mapping(places, description, base);
  if (!description.is_string()) return places;
  const fs::path file = base / description.get<std::string>();
  std::error_code ignored;
  if (description == "random" && !fs::exists(file, ignored)) return places;
  places.push_back(file);
  if (!is_description(file)) return places;
  try {
    const Json words = read_yaml(file);
    if (words.is_object()) add_mapping(places, words, file.parent_path());
  } catch (const Error&) {  // open() says it
  }
  return places;
}

bool is_named_as_a_sample(const fs::path& file) {
  static constexpr std::array extensions{"npy", "npz", "pb", "jpg", "jpeg", "png"};
  const std::string extension = normalized(file.extension().string());
  return std::ranges::any_of(extensions, [&](const char* one) { return normalized(std::string(".") + one) == extension; });
}

namespace {

// The name that a folder or file has, also where its path ends in "." or "/".
std::string own_name(const fs::path& place) {
  const fs::path whole = fs::absolute(place).lexically_normal();
  const std::string name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
  return name.empty() ? "samples" : name;
}

// A file, or what readers of folders may take for samples of a folder. -> the name under which it is found there.
std::string move(std::map<std::string, fs::path>& files, const fs::path& place, const std::string& below) {
  const std::string name = below + "/" + own_name(place);
  if (!fs::is_directory(place)) {
    files[name] = place;
    return name;
  }
  constexpr int deepest = 1;  // classes, inputs and sets of a folder are folders in it
  using Entries = fs::recursive_directory_iterator;
  for (Entries entry(place, fs::directory_options::follow_directory_symlink); entry != Entries(); ++entry) {
    if (entry.depth() >= deepest) entry.disable_recursion_pending();
    if (entry->is_regular_file() && is_named_as_a_sample(entry->path()))
      files[name + "/" + entry->path().lexically_relative(place).generic_string()] = entry->path();
  }
  return name;
}

}  // namespace

std::optional<MovedSource> moved_source(const Json& description, const fs::path& base, const std::string& below) {
  const auto [words, folder] = described(description, base);
  MovedSource out{.words = words, .files = {}};
  const Json path = words.value("path", Json());
  if (!path.is_string() || path == "")
    return words.value("reader", Json()) == "random" ? std::optional(out) : std::nullopt;  // the others are a program's
  const fs::path samples = folder / path.get<std::string>();
  try {
    out.words["path"] = move(out.files, samples, below);
    for (const char* key : {"labels", "class_names"}) {  // labels may also be the name of an array
      const Json beside = words.value(key, Json());
      if (!beside.is_string() || beside == "") continue;
      const fs::path file =
          find_labels(beside.get<std::string>(), folder, fs::is_directory(samples) ? samples : samples.parent_path());
      if (fs::is_regular_file(file)) out.words[key] = move(out.files, file, below + "/" + key);
    }
  } catch (const fs::filesystem_error& error) {
    throw Error("the samples '" + samples.string() + "' cannot be read: " + error.code().message());
  }
  return out;
}

}  // namespace quasar::data
