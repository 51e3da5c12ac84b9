#include "quasar/data/constants.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/data/options.hpp"
#include "quasar/data/view.hpp"

namespace quasar::data {
namespace {

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

}  // namespace

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

}  // namespace quasar::data
