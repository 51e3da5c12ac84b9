#include "quasar/data/items.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "quasar/data/labels.hpp"
#include "quasar/data/options.hpp"
#include "quasar/data/recorded_inputs.hpp"

namespace quasar::data {
namespace {

// A row of an array, without copying: [1, the other axes], or the other axes alone.
Tensor row_of(const Tensor& array, size_t row, bool with_axis = true) {
  Shape shape = array.shape();
  if (with_axis)
    shape[0] = 1;
  else
    shape.erase(shape.begin());
  const auto owner = std::make_shared<const Tensor>(array);
  const size_t size = bytes_of(array.type(), count_of(shape));
  return {array.type(), shape, owner, owner->bytes().data() + row * size};
}

std::vector<std::string> names(const Item& item) {
  std::vector<std::string> out;
  for (const auto& [name, array] : item) out.push_back(name.empty() ? "(without a name)" : name);
  return out;
}

bool feeds(const std::string& name, const std::vector<graph::Value>& inputs) {
  return std::ranges::any_of(inputs, [&](const auto& input) { return input.name == name; });
}

bool is_label(const std::string& name, const std::vector<graph::Value>& inputs) {
  return names_labels(name) && !feeds(name, inputs);
}

// Whether the input's first axis counts samples, as far as its size and its name tell.
bool has_batch_axis(const graph::Value& input) {
  if (!input.shape || input.shape->empty() || input.shape->front() > 1) return false;
  const std::string name = input.symbols.empty() ? "" : normalized(input.symbols.front());
  const auto has = [&](const char* word) { return name.find(word) != std::string::npos; };
  constexpr std::array samples{"batch", "sample", "sequences"};
  constexpr std::array others{"height", "width", "len", "time", "frame", "seq", "token", "voxel", "point"};
  return std::ranges::any_of(samples, has) || std::ranges::none_of(others, has);
}

// Whether the array has an axis more than the input, which counts samples then.
bool is_stacked(const Tensor& array, const graph::Value& input) {
  return input.shape && array.shape().size() == input.shape->size() + 1;
}

// Whether one value may be that of every sample, as a rate or a threshold is.
bool is_one_value(const Tensor& array, const graph::Value& input) {
  return input.shape && *input.shape == Shape{1} && array.count() == 1;
}

// Samples of an array: the rows of a batch, or −1 where it is one. nullopt: the input has no axis of samples, and so one array
// for all.
std::optional<int64_t> rows_of(const Tensor& array, const graph::Value& input) {
  if (!input.shape) return -1;
  if (is_stacked(array, input)) return array.shape()[0];
  if (!has_batch_axis(input)) return std::nullopt;
  return array.shape().size() == input.shape->size() ? array.shape()[0] : -1;
}

}  // namespace

ItemForm::ItemForm(const Item& first, const std::vector<graph::Value>& inputs, const Options& options, std::string owner)
    : owner_(std::move(owner)) {
  check_input_names(options, {"layout", "mean", "scale", "dtype"}, inputs, owner_);
  std::vector<std::string> others;
  const std::string said = options.has("labels") ? text_option(options, "labels", owner_) : "";
  labels_ = said;
  if (!said.empty() && !first.contains(labels_))
    throw Error(where(0) + " holds no array '" + labels_ + "' for the labels; it holds " + joined(names(first)) +
                did_you_mean(labels_, names(first)));
  boxes_ = first.contains("boxes") && !feeds("boxes", inputs);
  for (const auto& [name, array] : first) {
    if (array.type() == DataType::string) {  // no numbers: beside what feeds a model it is passed over
      if (!said.empty() && name == said) throw Error(where(0) + ": labels '" + name + "' are texts, but must be whole numbers");
      if (is_label(name, inputs)) passed_over_.push_back(name);
      continue;
    }
    const bool of_boxes = boxes_ && (name == "boxes" || name == "iscrowd");
    const bool is_option = options.given(name) && !feeds(name, inputs);  // a number that a program holds beside its arrays
    const bool is_said = !said.empty() && name == said && !feeds(name, inputs);
    if (!is_label(name, inputs) && !is_said && !of_boxes && !is_option) others.push_back(name);
    if (is_label(name, inputs) && labels_.empty() && !has_fractions(array)) labels_ = name;
  }
  if (boxes_ && labels_.empty()) throw Error(where(0) + " holds boxes without labels, the class of each");
  for (const auto& input : inputs) {  // by its name; the only array of a model with one input may have any
    const bool only = inputs.size() == 1 && others.size() == 1;
    if (!first.contains(input.name) && !only)
      throw Error(where(0) + " holds no array of numbers for the model's input '" + input.name + "'; it holds " +
                  joined(names(first)) + "; the model's inputs: " + joined(names_of(inputs)) + how_to_record(input));
    columns_.emplace_back(first.contains(input.name) ? input.name : others[0], Conversion(input, options, owner_));
  }
  for (const auto& name : others) {
    if (std::ranges::find(columns_, name, [](const auto& column) { return column.first; }) == columns_.end())
      passed_over_.push_back(name);
  }
}

int64_t ItemForm::rows(const Item& item, size_t index) const {
  std::optional<int64_t> rows, alone;  // by the arrays of several values, and by one value
  const std::pair<const std::string, Tensor>* first = nullptr;
  for (const auto& [name, conversion] : columns_) {
    const auto found = item.find(name);
    if (found == item.end())
      throw Error(where(index) + " holds no array '" + name + "' as the first one does; it holds " + joined(names(item)));
    if (found->second.type() == DataType::string)
      throw Error(where(index) + ": '" + name + "' holds texts, objects or lists of different lengths, which feed no model");
    const std::optional<int64_t> count = rows_of(found->second, conversion.input());
    const bool one_value = is_one_value(found->second, conversion.input());
    if (one_value) alone = count;
    if (!one_value && rows && count && *rows != *count)
      throw Error(where(index) + ": its arrays hold different numbers of samples: '" + first->first + "' has the shape " +
                  to_string(first->second.shape()) + ", '" + name + "' " + to_string(found->second.shape()) +
                  "; what is the same for every sample stands in constants: {INPUT: VALUE}");
    if (!one_value && count && !rows) first = &*found;
    if (!one_value && count) rows = count;
    Shape one = found->second.shape();
    if (is_stacked(found->second, conversion.input()))
      one.erase(one.begin());
    else if (count.value_or(-1) >= 0)
      one[0] = 1;
    conversion.check(found->second.type(), one, where(index));
  }
  if (!rows) rows = alone;
  if (boxes_ && rows.value_or(-1) > 1)
    throw Error(where(index) + " is a batch of " + std::to_string(*rows) + " samples, but boxes stand beside one sample each");
  return rows.value_or(-1);
}

Sample ItemForm::sample(const Item& item, int64_t row, const std::string& where) const {
  Sample out;
  for (const auto& [name, conversion] : columns_) {
    const auto found = item.find(name);
    if (found == item.end()) throw Error(where + " holds no array '" + name + "' as the first one does");
    const bool one_value = is_one_value(found->second, conversion.input());
    const bool has_rows = row >= 0 && !one_value && rows_of(found->second, conversion.input()).value_or(-1) >= 0;
    const bool with_axis = !is_stacked(found->second, conversion.input());
    out.push_back(conversion.apply(has_rows ? row_of(found->second, static_cast<size_t>(row), with_axis) : found->second, where));
  }
  return out;
}

Boxes ItemForm::boxes(const Item& item, int64_t label_offset, const std::string& where) const {
  const auto array = [&](const std::string& name) -> const Tensor& {
    const auto found = item.find(name);
    if (found == item.end()) throw Error(where + " has no '" + name + "' as the first one has");
    return found->second;
  };
  const size_t count = array(labels_).count();
  if (array("boxes").count() != 4 * count || (count > 0 && array("boxes").shape().back() != 4))
    throw Error(where + ": 'boxes' has the shape " + to_string(array("boxes").shape()) + ", but must be [" +
                std::to_string(count) + ",4] as there are " + std::to_string(count) + " labels");
  const auto labels =
      count == 0 ? std::vector<int64_t>() : labels_of(array(labels_).reshaped({static_cast<int64_t>(count)}), where);
  const auto corners = to_doubles(array("boxes"));
  const auto crowd = item.contains("iscrowd") ? to_doubles(item.at("iscrowd")) : std::vector<double>(count);
  if (crowd.size() != count) throw Error(where + ": 'iscrowd' has " + std::to_string(crowd.size()) + " values");
  Boxes out;
  for (size_t i = 0; i < count; ++i) {
    const double* at = &corners[4 * i];
    out.push_back({at[0], at[1], at[2], at[3], with_offset(labels[i], label_offset), crowd[i] != 0});
  }
  return out;
}

bool ItemForm::has_targets(const Item& item, size_t samples) const {
  const auto found = has_labels() ? item.find(labels_) : item.end();
  if (found == item.end() || samples == 0) return false;
  const Shape& shape = found->second.shape();
  const bool each = samples == 1 || (!shape.empty() && shape[0] == static_cast<int64_t>(samples));
  return each && found->second.count() > samples;
}

Tensor ItemForm::target(const Item& item, int64_t row, size_t samples, const std::string& where) const {
  const auto found = item.find(labels_);
  if (found == item.end()) throw Error(where + " has no '" + labels_ + "' as the first one has");
  const Tensor& labels = found->second;
  if (is_floating(labels.type()))
    throw Error(where + ": labels must be whole numbers, found " + std::string(name_of(labels.type())));
  const Shape& shape = labels.shape();
  if (row < 0 || (samples == 1 && !shape.empty() && shape[0] != 1)) return converted(labels, DataType::int64);
  if (shape.empty() || shape[0] != static_cast<int64_t>(samples))
    throw Error(where + ": its item holds " + std::to_string(samples) + " samples, but labels of shape " + to_string(shape));
  const Tensor mine = row_of(labels, static_cast<size_t>(row));
  return converted(mine.reshaped({mine.shape().begin() + 1, mine.shape().end()}), DataType::int64);
}

std::vector<int64_t> ItemForm::labels(const Item& item, size_t index, size_t samples) const {
  const auto found = item.find(labels_);
  if (found == item.end()) throw Error(where(index) + " has no '" + labels_ + "' as the first one has");
  const Tensor flat = found->second.reshaped({static_cast<int64_t>(found->second.count())});
  const auto out = labels_of(flat, where(index) + ", '" + labels_ + "'");
  if (out.size() != samples)
    throw Error(where(index) + " holds " + std::to_string(samples) + " samples, but " + std::to_string(out.size()) + " labels");
  return out;
}

}  // namespace quasar::data
