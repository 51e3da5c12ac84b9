#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/yaml.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/data/described.hpp"
#include "quasar/data/fixed_batch.hpp"
#include "quasar/data/labels.hpp"
#include "quasar/data/options.hpp"
#include "quasar/data/raw_pictures.hpp"
#include "quasar/data/reader.hpp"
#include "quasar/data/view.hpp"

namespace quasar::data {
namespace {

// `constants`: {input: number or nested list}; null: none.
class Constants {
 public:
  // Throws Error: names that are no input, values that do not fit the input's type and shape, no input left.
  Constants(const Json& words, const std::vector<graph::Value>& inputs);

  bool any() const { return !values_.empty(); }
  std::vector<graph::Value> others() const;  // the inputs that samples must feed, in their order
  // Samples that feed the others, with the constants between them.
  DatasetPtr join(DatasetPtr samples) const;

 private:
  std::vector<graph::Value> inputs_;
  std::vector<std::pair<size_t, Tensor>> values_;  // place among the inputs
};

[[noreturn]] void fail(const graph::Value& input, const Json& word, const std::string& what) {
  throw Error("constants: " + word.dump() + " for the input '" + input.name + "' (" + std::string(name_of(input.type)) +
              text_of(input) + ") " + what);
}

// Shape and numbers of nested lists that are of equal lengths.
bool collect(const Json& word, size_t axis, Shape& shape, std::vector<double>& numbers) {
  if (!word.is_array()) {
    if (axis != shape.size() || !word.is_number()) return false;
    numbers.push_back(word.get<double>());
    return true;
  }
  if (word.empty()) return false;
  if (numbers.empty() && axis == shape.size()) shape.push_back(std::ssize(word));
  if (axis >= shape.size() || shape[axis] != std::ssize(word)) return false;
  return std::ranges::all_of(word, [&](const Json& one) { return collect(one, axis + 1, shape, numbers); });
}

// The input's own shape where it is known, the list's with leading axes of 1 otherwise.
Shape shape_for(const graph::Value& input, Shape given, size_t count, const Json& word) {
  if (!input.shape) return given;
  const Shape& wanted = *input.shape;
  const bool known = std::ranges::all_of(wanted, [](int64_t size) { return size >= 0; });
  if (known && count_of(wanted) == count) return wanted;
  while (given.size() < wanted.size()) given.insert(given.begin(), 1);
  bool fits = given.size() == wanted.size();
  for (size_t i = 0; fits && i < given.size(); ++i) fits = wanted[i] < 0 || wanted[i] == given[i];
  if (!fits) fail(input, word, "does not fit its shape");
  return given;
}

Tensor tensor_of(const graph::Value& input, const Json& word) {
  Shape shape;
  std::vector<double> numbers;
  if (word.is_boolean() || !collect(word, 0, shape, numbers)) fail(input, word, "must be a number or lists of numbers");
  if (!word.is_array() && input.shape) {  // a number fills the input
    shape = *input.shape;
    for (int64_t& size : shape) size = size < 0 ? 1 : size;
    check_room(input, DataType::float64, shape);
    numbers.assign(count_of(shape), numbers.front());
  }
  const Tensor exact = Tensor::of<double>(shape_for(input, shape, numbers.size(), word), numbers);
  const Tensor out = converted(exact, input.type);
  if (!is_floating(input.type) && to_doubles(out) != numbers) fail(input, word, "holds values that this type has not");
  return out;
}

class Joined final : public View {
 public:
  Joined(DatasetPtr samples, std::vector<std::pair<size_t, Tensor>> values)
      : View(std::move(samples)), values_(std::move(values)) {}
  Sample at(size_t index) const override {
    Sample sample = all().at(index);
    for (const auto& [place, value] : values_) sample.insert(sample.begin() + static_cast<std::ptrdiff_t>(place), value);
    return sample;
  }

 private:
  std::vector<std::pair<size_t, Tensor>> values_;  // ascending places
};

Constants::Constants(const Json& words, const std::vector<graph::Value>& inputs) : inputs_(inputs) {
  if (words.is_null()) return;
  if (!words.is_object()) throw Error("constants is " + words.dump() + ", but must be a mapping {input: value}");
  const std::vector<std::string> names = names_of(inputs);
  for (const auto& [name, value] : words.items()) {
    if (std::ranges::find(names, name) != names.end()) continue;
    throw Error("constants names '" + name + "', which is no input of the model; its inputs: " + joined(names) +
                did_you_mean(name, names));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (words.contains(inputs[i].name)) values_.emplace_back(i, tensor_of(inputs[i], words[inputs[i].name]));
  }
  if (!inputs.empty() && values_.size() == inputs.size()) throw Error("constants leaves no input for the samples to feed");
}

std::vector<graph::Value> Constants::others() const {
  std::vector<graph::Value> out;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const bool constant = std::ranges::any_of(values_, [&](const auto& one) { return one.first == i; });
    if (!constant) out.push_back(inputs_[i]);
  }
  return out;
}

DatasetPtr Constants::join(DatasetPtr samples) const {
  return any() ? std::make_shared<Joined>(std::move(samples), values_) : samples;
}

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
    if (!entry.is_directory() || entry.path().filename().string().starts_with('.')) continue;
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

// The reader of samples that a program brings; nullptr: no such description, or one that opening it will complain of.
std::unique_ptr<Reader> guest_of(Json description) {
  const Json name = description.is_object() && !description.contains("path") ? description.value("reader", Json()) : Json();
  if (!name.is_string() || readers::table().try_find(name.get<std::string>()) == nullptr) return nullptr;
  for (const char* word : {"reader", "constants", "batch_size"}) description.erase(word);
  try {
    return readers::table().make(name.get<std::string>(), description);
  } catch (const Error&) {
    return nullptr;
  }
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

DatasetPtr open(const Json& description, const std::vector<graph::Value>& inputs, const fs::path& base) {
  Described source = described(description, base);
  const std::string name = reader_of(source);
  source.words.erase("reader");
  const Constants constants(taken(source.words, "constants"), inputs);
  return constants.join(open_samples(name, source.words, constants.others(), source.base));
}

bool has_classes(const Json& description, const fs::path& base) {
  try {
    Described source = described(description, base);
    if (const Json labels = source.words.value("labels", Json()); labels.is_string())
      return !labels.get<std::string>().ends_with(".json");  // boxes of pictures
    const std::string name = reader_of(source);
    for (const char* word : {"reader", "constants", "batch_size"}) source.words.erase(word);
    return readers::table().make(name, source.words)->brings_classes();
  } catch (const Error&) {  // opening it will say what is wrong
    return false;
  }
}

std::vector<std::string> whole_arrays(const Json& description) {
  const auto reader = guest_of(description);
  return reader == nullptr ? std::vector<std::string>() : reader->whole_arrays();
}

std::vector<std::string> news_of_arrays(const Json& description, const std::vector<graph::Value>& inputs) {
  const auto reader = guest_of(description);
  if (reader == nullptr) return {};
  std::vector<std::string> out, known{"labels", "label", "y"};
  for (const auto& name : names_of(inputs)) known.push_back(name);
  for (const auto& name : reader->passed_over(Constants(description.value("constants", Json()), inputs).others())) {
    if (names_labels(name))
      out.push_back("samples: '" + name + "' holds texts, which are no numbers of classes, and is passed over");
    else
      out.push_back("samples: the array '" + name +
                    "' feeds no input of the model, and is passed over (labels stand under labels, " +
                    "label or y, or labels: ARRAY names them)" + did_you_mean(name, known));
  }
  return out;
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
