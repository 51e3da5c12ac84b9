#include <algorithm>

#include "quasar/base/yaml.hpp"
#include "quasar/data/constants.hpp"
#include "quasar/data/fixed_batch.hpp"
#include "quasar/data/raw_pictures.hpp"
#include "quasar/data/reader.hpp"

namespace quasar::data {
namespace {

namespace fs = std::filesystem;

bool has_file(const fs::path& folder, const std::string& extension) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (normalized(entry.path().extension().string()) == normalized(extension)) return true;
  }
  return false;
}

bool has_picture(const fs::path& folder) {
  return has_file(folder, ".jpg") || has_file(folder, ".jpeg") || has_file(folder, ".png");
}

// The reader that a path calls for.
std::string reader_for(const fs::path& path) {
  if (!fs::exists(path)) throw Error("data '" + path.string() + "': no such file or folder");
  if (!fs::is_directory(path)) {
    if (path.extension() == ".npz") return "npz";
    throw Error("data '" + path.string() +
                "': expected a .npz file, a folder of .npy files, of pictures or of test_data_set_*, random, or a " +
                ".yaml or .json file with a reader");
  }
  if (has_file(path, ".npy")) return "npy";
  if (fs::exists(path / "input_0.pb")) return "pb";
  if (has_picture(path)) return "images";
  for (const auto& entry : fs::directory_iterator(path)) {
    if (!entry.is_directory()) continue;
    if (entry.path().filename().string().starts_with("test_data_set_")) return "pb";
    if (has_file(entry.path(), ".npy")) return "npy";
    if (has_picture(entry.path())) return "images";
  }
  throw Error("data '" + path.string() +
              "': the folder holds neither .npy files nor pictures (or subfolders of them) nor test_data_set_*");
}

Json taken(Json& options, const std::string& name) {
  Json out = options.value(name, Json());
  options.erase(name);
  return out;
}

// Of axes of three values only a picture's channels are left as they are.
bool may_be_channels(const std::vector<graph::Value>& inputs, int64_t batch) {
  return std::ranges::any_of(inputs, [&](const auto& input) {
    return batch == 3 && input.shape && input.shape->size() == 3 && input.shape->front() == 3;
  });
}

// Where the model fixes a batch of several samples, stored samples may be such batches, or single ones, which fill it.
DatasetPtr open_samples(const std::string& name, Json options, const std::vector<graph::Value>& inputs, const fs::path& base) {
  const int64_t batch = fixed_batch(inputs);
  const auto reader = [&](const Json& words) { return readers::table().make(name, words); };
  const auto filled = [&](const Json& words) {
    return repeated(reader(words)->open(one_at_a_time(inputs, batch), base), inputs, batch);
  };
  if (batch > 1 && options.value("batch_size", Json()) == batch) {
    options.erase("batch_size");
    return filled(options);
  }
  try {
    return reader(options)->open(inputs, base);
  } catch (const Error&) {
    if (batch == 1 || may_be_channels(inputs, batch)) throw;
    DatasetPtr found;
    try {
      found = filled(options);
    } catch (const Error&) {  // the first error speaks of the model as it is
    }
    if (found == nullptr) throw;
    return found;
  }
}

// A description in full: the reader's words, and the folder that relative paths start from.
struct Described {
  Json words;
  fs::path base;
};

Described described(const Json& description, const fs::path& base) {
  if (description.is_object()) return {description, base};
  if (!description.is_string()) throw Error("data: expected a text or a mapping with a reader, found " + description.dump());
  const std::string text = description.get<std::string>();
  const fs::path path = base / text;
  if (text == "random" && !fs::exists(path)) return {{{"reader", "random"}}, base};
  const std::string extension = path.extension().string();
  if (extension != ".yaml" && extension != ".yml" && extension != ".json")
    return {{{"reader", reader_for(path)}, {"path", text}}, base};
  Json mapping = read_yaml(path);
  if (!mapping.is_object())
    throw Error("'" + path.string() + "' must hold a mapping with a reader, such as {reader: npz, path: calib.npz}");
  return {std::move(mapping), path.parent_path()};
}

std::string reader_of(const Described& source) {
  const Json& words = source.words;
  if (words.contains("reader")) {
    if (!words["reader"].is_string()) throw Error("data: 'reader' is " + words["reader"].dump() + ", but must be a name");
    return words["reader"].get<std::string>();
  }
  if (words.contains("path") && words["path"].is_string()) return reader_for(source.base / words["path"].get<std::string>());
  throw Error("data: a reader is missing, such as {reader: npz, path: calib.npz}; known: " + joined(readers::table().names()));
}

}  // namespace

DatasetPtr open(const Json& description, const std::vector<graph::Value>& inputs, const fs::path& base) {
  Described source = described(description, base);
  const std::string name = reader_of(source);
  source.words.erase("reader");
  const Constants constants(taken(source.words, "constants"), inputs);
  return constants.join(open_samples(name, source.words, constants.others(), source.base));
}

std::optional<RawPictures> raw_pictures(const Json& description, const fs::path& base) {
  Described source = described(description, base);
  const std::string name = reader_of(source);
  if (normalized(name) != "images") return std::nullopt;
  for (const auto& [key, value] : source.words.items()) {
    const std::string plain = normalized(key);
    const bool says = plain == "mean" || plain == "scale" || plain == "std" || (plain == "asis" && value != false);
    if (says && !value.is_null()) return std::nullopt;
  }
  source.words["reader"] = "images";
  return RawPictures{std::move(source.words), std::move(source.base)};
}

}  // namespace quasar::data
