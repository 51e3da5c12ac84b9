#include "quasar/studies/kept_files.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "quasar/base/digits.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/data/source_files.hpp"
#include "quasar/graph/files_of.hpp"
#include "quasar/search/file_store.hpp"
#include "quasar/studies/attributes.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

constexpr std::array keys_of_files{"model_input", "calib_data_reader", "eval_data_reader", "data_reader"};

std::string megabytes(uintmax_t bytes) {
  return in_digits(static_cast<double>(bytes) / 1e6) + " MB";
}

data::MovedSource moved_model(const fs::path& model, const std::string& below) {
  const std::string name = below + "/" + model.filename().string();
  data::MovedSource out{.words = name, .files = {{name, model}}};
  for (const auto& [location, file] : graph::external_files_of(model))
    out.files[below + "/" + fs::path(location).lexically_normal().generic_string()] = file;
  return out;
}

// What a key of the words names, as if it lay below that folder. nullopt: its samples come from a program.
std::optional<data::MovedSource> moved(const std::string& key, const Json& value, const fs::path& base,
                                       const std::string& below) {
  return key == keys_of_files.front() ? moved_model(base / value.get<std::string>(), below)
                                      : data::moved_source(value, base, below);
}

std::vector<search::FileToStore> hashed(const data::MovedSource& source) {
  std::vector<search::FileToStore> out;
  for (const auto& [name, place] : source.files) {
    std::error_code code;
    const uintmax_t bytes = fs::file_size(place, code);
    if (code) throw Error("'" + place.string() + "' cannot be read: " + code.message());
    out.push_back({.as = {.name = name, .hash = hash_of_file(place), .bytes = bytes}, .place = place});
  }
  return out;
}

uintmax_t size_of(const data::MovedSource& source) {
  uintmax_t bytes = 0;
  for (const auto& [name, place] : source.files) bytes += fs::file_size(place);
  return bytes;
}

// Two keys with the same samples name the same files.
std::string folder_of(const Json& words, const std::string& key) {
  if (key == keys_of_files.front()) return "model";
  const auto same =
      std::ranges::find_if(keys_of_files, [&](const char* other) { return words.value(other, Json()) == words.at(key); });
  return std::string("samples/") + *same;
}

// What is kept so far, and what for.
struct Keeping {
  uintmax_t room;  // bytes
  std::map<std::string, search::FileToStore> files;
  Json told = Json::object();  // the attribute
  std::vector<std::string> kept, absent;
};

void keep(Keeping& all, const std::string& key, const Json& words, const Job& job) {
  const auto leave_out = [&](const std::string& why) {
    all.told[key] = {{"why", why}};
    all.absent.push_back(key + " (" + why + ")");
  };
  const std::string below = folder_of(words, key);
  const auto source = moved(key, words.at(key), job.base, below);
  if (!source) return leave_out("its samples come from a program");
  const bool is_there = std::ranges::all_of(source->files, [&](const auto& one) { return all.files.contains(one.first); });
  const uintmax_t bytes = is_there ? 0 : size_of(*source);
  if (bytes > all.room)
    return leave_out(megabytes(bytes) + ", and study_files_limit is " + megabytes(job.study.files_limit) +
                     (all.kept.empty() ? "" : " in all"));
  if (!is_there) {
    for (auto& file : hashed(*source)) all.files.emplace(file.as.name, file);
  }
  all.room -= bytes;
  all.told[key] = {{"words", source->words}, {"below", below}};
  all.kept.push_back(key + (is_there ? "" : " (" + megabytes(bytes) + ")"));
}

}  // namespace

std::vector<std::string> files_beyond_limit(const Job& job) {
  uintmax_t room = job.study.files_limit;
  std::set<std::string> seen;
  std::vector<std::string> out;
  for (const char* key : keys_of_files) {
    const Json value = job.words.value(key, Json());
    if (value.is_null() || !seen.insert(value.dump()).second) continue;
    try {
      const auto source = moved(key, value, job.base, "files");
      const uintmax_t bytes = source ? size_of(*source) : 0;
      if (bytes > room)
        out.push_back(std::string(key) + " (" + megabytes(bytes) + ")");
      else
        room -= bytes;
    } catch (const Error&) {  // it is not here, and nobody knows
    } catch (const fs::filesystem_error&) {
    }
  }
  return out;
}

void keep_files(search::Study& study, search::Storage& storage, const Job& job, const Log& log) {
  search::FileStore* const store = study.is_shared() ? storage.sharing()->files() : nullptr;
  if (store == nullptr) return;
  Keeping all{.room = job.study.files_limit, .files = {}, .kept = {}, .absent = {}};
  try {
    for (const char* key : keys_of_files) {
      if (!job.words.value(key, Json()).is_null()) keep(all, key, job.words, job);
    }
    std::vector<search::FileToStore> files;
    for (const auto& [name, file] : all.files) files.push_back(file);
    if (!files.empty() || !store->stored_files(study.id()).empty()) store->store_files(study.id(), files);
  } catch (const Error& error) {
    for (const char* key : keys_of_files) all.told[key] = {{"why", "it could not be stored"}};
    tell(log, Level::warning,
         std::string("model and samples are not kept in the study, so that workers need them in files: ") + error.what());
    study.set_attribute(kept_attribute, all.told);
    return;
  }
  study.set_attribute(kept_attribute, all.told);
  if (!all.kept.empty()) tell(log, Level::info, "kept in the study, for workers without these files: " + joined(all.kept));
  if (!all.absent.empty()) tell(log, Level::warning, "not kept in the study, workers need it in files: " + joined(all.absent));
}

namespace {

// Of what a study says of a key, the part that is a text; "": there is none.
std::string told_of(const Json& attributes, const std::string& key, const char* part) {
  const Json all = attributes.value(kept_attribute, Json());
  const Json of_key = all.is_object() ? all.value(key, Json()) : Json();
  const Json text = of_key.is_object() ? of_key.value(part, Json()) : Json();
  return text.is_string() ? text.get<std::string>() : "";
}

// Relative, below the folder, and as plain as this module writes them.
bool is_safe(const std::string& name) {
  const fs::path path(name);
  return !name.empty() && path.is_relative() && path.lexically_normal() == path && *path.begin() != ".." && path.has_filename() &&
         name.find('\0') == std::string::npos;
}

bool is_below(const std::string& name, const std::string& folder) {
  return name == folder || name.starts_with(folder + "/");
}

// Whether the words, from that folder, lead to files with just these bytes.
bool is_here(const std::string& key, const Json& value, const fs::path& base, const std::string& below,
             const std::vector<search::StoredFile>& there) {
  try {
    const auto source = moved(key, value, base, below);
    if (!source || source->files.size() != there.size()) return false;
    for (const auto& file : there) {  // sizes first, which cost nothing
      const auto here = source->files.find(file.name);
      if (here == source->files.end() || fs::file_size(here->second) != file.bytes) return false;
    }
    return std::ranges::all_of(there, [&](const auto& file) { return hash_of_file(source->files.at(file.name)) == file.hash; });
  } catch (const Error&) {
    return false;
  } catch (const fs::filesystem_error&) {
    return false;
  }
}

void expect_room(const std::vector<search::StoredFile>& files, const fs::path& folder, const std::string& study) {
  uintmax_t bytes = 0;
  for (const auto& file : files) bytes += file.bytes;
  std::error_code code;
  const auto space = fs::space(folder, code);
  if (code || bytes <= space.available) return;
  throw Error("the files that the study '" + study + "' keeps have " + megabytes(bytes) + ", but '" +
                  folder.parent_path().string() + "' has room for " + megabytes(space.available) +
                  ": name another folder (TMPDIR), or give --model, --calib and --eval",
              Blame::world);
}

// What a key says of its files, with paths into the folder. Throws Error for a path that is not among them.
Json rooted(Json value, const std::string& below, const fs::path& folder, const std::string& study) {
  const auto root = [&](Json& path) {
    const std::string name = path.is_string() ? path.get<std::string>() : "";
    if (!is_safe(name) || !is_below(name, below) || !fs::exists(folder / name))
      throw Error("the study '" + study + "' is damaged: it keeps no file for " + path.dump());
    path = (folder / name).string();
  };
  if (value.is_string()) root(value);
  if (!value.is_object()) return value;
  for (const char* key : {"path", "labels", "class_names"}) {
    const Json file = value.value(key, Json());
    const bool is_file = file.is_string() && (std::string(key) == "path" || is_below(file.get<std::string>(), below));
    if (is_file) root(value[key]);
  }
  return value;
}

}  // namespace

std::string why_not_kept(const Json& study_attributes, const std::string& key) {
  const std::string why = told_of(study_attributes, key, "why");
  return why.empty() ? "" : ", and the study does not keep it (" + printable_name(why) + ")";
}

Json with_kept_files(Json words, const search::StudyRecord& study, search::FileStore& store, const KeptFilesWanted& wanted,
                     const Log& log) {
  std::optional<std::vector<search::StoredFile>> all;
  std::vector<std::string> fetched;
  std::set<std::string> places;
  for (const char* key : keys_of_files) {
    const std::string below = told_of(study.user_attributes, key, "below");
    if (below.empty() || wanted.given.contains(key) || words.value(key, Json()).is_null()) continue;
    if (!all) all = store.stored_files(study.id);
    std::vector<search::StoredFile> files = *all;
    std::erase_if(files, [&](const auto& file) { return !is_below(file.name, below); });
    if (is_here(key, words.at(key), wanted.base, below, files)) continue;
    for (const auto& file : files) {
      if (!is_safe(file.name))
        throw Error("the study '" + study.name + "' names the file '" + printable_name(file.name) +
                    "', which would lie elsewhere: nothing is fetched");
    }
    std::erase_if(files, [&](const auto& file) { return places.contains(file.name); });
    expect_room(files, wanted.folder, study.name);
    uintmax_t bytes = 0;
    for (const auto& file : files) {
      fs::create_directories((wanted.folder / file.name).parent_path());
      store.fetch_file(file, wanted.folder / file.name);
      places.insert(file.name);
      bytes += file.bytes;
    }
    fetched.push_back(std::string(key) + (files.empty() ? "" : " (" + megabytes(bytes) + ")"));
    words[key] =
        rooted(study.user_attributes.at(kept_attribute).at(key).value("words", Json()), below, wanted.folder, study.name);
  }
  if (!fetched.empty()) tell(log, Level::info, "from the study: " + joined(fetched));
  return words;
}

}  // namespace quasar::tune
