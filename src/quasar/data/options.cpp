#include "quasar/data/options.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/machine.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/rng.hpp"

namespace quasar::data {

OptionSpec limit_option() {
  return {"limit", 0, "number of samples at most; 0: all", 0};
}

OptionSpec batch_size_option() {
  return {"batch_size", 1,
          "samples per run of the model: 1, or the batch that the model fixes, which each sample then fills with copies", 1};
}

OptionSpec constants_option() {
  return {"constants", nullptr, "inputs that are the same for every sample: {input: number or nested lists}"};
}

std::vector<OptionSpec> with_common(std::vector<OptionSpec> own) {
  const std::vector<OptionSpec> common = {
      constants_option(),
      limit_option(),
      {"seed", nullptr,
       "a whole number: samples in a seeded random order (limit then takes a random choice); left out: as stored"},
      batch_size_option(),
      {"layout", nullptr,
       "order of a stored sample's axes, such as NHWC or HWC; the model gets NCHW. One text, or {input: text}"},
      {"mean", nullptr, "subtracted first, x' = (x - mean) * scale: a number or one per channel (axis 1), or {input: ...}"},
      {"scale", nullptr, "multiplied next, x' = (x - mean) * scale: a number or one per channel (axis 1), or {input: ...}"},
      {"dtype", nullptr, "the model's type, given to allow conversions that change values (fractions, range). Or {input: type}"},
      {"label_offset", 0, "added to every label: 1 for models with a background class"},
      {"class_names", nullptr,
       "what reports call the classes, numbered as labels are: a list, {label: name}, or a file (.yaml or .json with one of "
       "these, "
       "else one name per line)"},
  };
  own.insert(own.end(), common.begin(), common.end());
  return own;
}

int64_t integer_option(const Options& options, const std::string& name, int64_t fallback) {
  return options.has(name) ? options.integer(name) : fallback;
}

int64_t with_offset(int64_t label, int64_t offset) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(label, offset, &sum)) return sum;
  throw Error("the label " + std::to_string(label) + " with label_offset " + std::to_string(offset) + " is no number of a class");
}

std::vector<int64_t> with_offset(std::vector<int64_t> labels, const Options& options) {
  for (auto& label : labels) label = with_offset(label, integer_option(options, "label_offset", 0));
  return labels;
}

std::string text_option(const Options& options, const std::string& name, const std::string& owner) {
  const Json& value = options.json(name);
  if (value.is_string() && !value.get<std::string>().empty()) return value.get<std::string>();
  throw Error(owner + ": option '" + name + "' is " + value.dump() + ", but must be a name");
}

void reject_batches(const Options& options, const std::string& owner) {
  const int64_t size = integer_option(options, "batch_size", 1);
  if (size == 1) return;
  throw Error(owner + ": batch_size " + std::to_string(size) +
              " is not yet supported; samples are run one at a time (batch_size: 1), or in the batch that the model fixes");
}

const Json* option_for(const Options& options, const std::string& name, const graph::Value& input) {
  if (!options.has(name)) return nullptr;
  const Json& value = options.json(name);
  if (!value.is_object()) return &value;
  const auto found = value.find(input.name);
  return found == value.end() || found->is_null() ? nullptr : &*found;
}

void check_input_names(const Options& options, const std::vector<std::string>& names, const std::vector<graph::Value>& inputs,
                       const std::string& owner) {
  const std::vector<std::string> known = names_of(inputs);
  for (const auto& name : names) {
    if (!options.has(name) || !options.json(name).is_object()) continue;
    for (const auto& [key, value] : options.json(name).items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      throw Error(owner + ": option '" + name + "' names '" + key +
                  "', which is no input of the model; its inputs: " + joined(known) + did_you_mean(key, known));
    }
  }
}

void check_room(const graph::Value& input, DataType type, const Shape& shape) {
  const std::string what = "input '" + input.name + "'";
  size_t bytes = 0;
  try {
    bytes = bytes_of(type, count_of(shape));
  } catch (const Error& e) {  // more than a number holds
    throw Error(what + ": " + e.what());
  }
  check_memory(bytes, what + " of shape " + to_string(shape));
}

void check_inputs(const std::vector<graph::Value>& inputs) {
  if (inputs.empty()) throw Error("the model has no inputs, so there is nothing to feed");
  for (const auto& input : inputs) {
    if (input.type == DataType::undefined || bits_of(input.type) < 8 || bits_of(input.type) > 64 ||
        input.type == DataType::complex64) {
      throw Error("the model's input '" + input.name + "' is not a tensor of numbers; Quasar cannot feed it");
    }
  }
}

DatasetPtr limited(DatasetPtr all, const Options& options, const std::string& owner) {
  const size_t count = all->size();
  const auto limit = static_cast<size_t>(integer_option(options, "limit", 0));
  const size_t kept = limit == 0 ? count : std::min(limit, count);
  if (options.has("seed")) {
    const Json& seed = options.json("seed");
    const bool whole = seed.is_number_unsigned() || (seed.is_number_integer() && seed.get<int64_t>() >= 0);
    if (!whole) throw Error(owner + ": option 'seed' is " + seed.dump() + ", but must be a whole number of at least 0");
    std::vector<size_t> order = Rng(seed.get<uint64_t>()).permutation(count);
    order.resize(kept);
    return subset(std::move(all), std::move(order));
  }
  return kept == count ? all : first(std::move(all), kept);
}

std::filesystem::path path_of(const Options& options, const std::string& name, const std::filesystem::path& base,
                              const std::string& owner) {
  if (!options.has(name) || options.text(name).empty()) throw Error(owner + ": option '" + name + "' is missing");
  return base / options.text(name);
}

std::filesystem::path find_labels(const std::string& name, const std::filesystem::path& base,
                                  const std::filesystem::path& folder) {
  const std::filesystem::path here = base / name, there = folder / name;
  return !std::filesystem::exists(here) && std::filesystem::exists(there) ? there : here;
}

bool is_floating(DataType type) {
  return type == DataType::float32 || type == DataType::float64 || type == DataType::float16 || type == DataType::bfloat16;
}

std::vector<std::string> names_of(const std::vector<graph::Value>& inputs) {
  std::vector<std::string> names;
  for (const auto& input : inputs) names.push_back(input.name);
  return names;
}

std::string text_of(const graph::Value& input) {
  if (!input.shape) return "[...]";
  std::string out;
  for (const int64_t size : *input.shape) out += (out.empty() ? "" : ",") + (size < 0 ? std::string("?") : std::to_string(size));
  return "[" + out + "]";
}

}  // namespace quasar::data
