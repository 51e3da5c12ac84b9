#include "quasar/data/checked_ids.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/data/view.hpp"

namespace quasar::data {
namespace {

// What hands on the values that it is given, in another shape or type of whole numbers.
bool hands_on(const graph::Node& node) {
  static const std::set<std::string> all{"Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"};
  return node.domain.empty() && all.contains(node.op_type);
}

// Tables that `value` is looked up in, itself or handed on.
void add_tables(const std::string& value, const graph::Index& index, std::vector<IdTable>& out) {
  for (const graph::Node* node : index.consumers(value)) {
    if (!node->inside.empty() || node->inputs.empty()) continue;
    if (hands_on(*node) && node->inputs[0] == value && !node->outputs.empty()) add_tables(node->outputs[0], index, out);
    if (!node->is("Gather") || node->inputs.size() < 2 || node->inputs[1] != value || node->integer("axis", 0) != 0) continue;
    const Tensor* table = index.model().initializer(node->inputs[0]);
    if (table != nullptr && !table->shape().empty()) out.push_back({node->inputs[0], table->shape()[0]});
  }
}

std::string place_in(const Shape& shape, size_t at) {
  std::vector<std::string> axes(shape.size());
  for (size_t k = shape.size(); k-- > 0;) {
    const auto size = static_cast<size_t>(std::max<int64_t>(1, shape[k]));
    axes[k] = std::to_string(at % size);
    at /= size;
  }
  return "[" + joined(axes, ",") + "]";
}

// Where ids of this input come from, as far as its name tells.
std::string advice(const std::string& input, int64_t id) {
  const std::string word = normalized(input);
  if (id < 0)
    return "; -100 and the like mark places that do not count in labels only: fill the input with the tokenizer's padding token, "
           "and attention_mask with 0 there";
  if (word.find("position") != std::string::npos) return "; the model knows no text that long";
  if (word.find("id") != std::string::npos || word.find("token") != std::string::npos)
    return "; the tokenizer that made the ids is another model's, or has tokens that were added later";
  return "; look at how this input was made";
}

class CheckedIds final : public View {
 public:
  struct Checked {
    size_t place;  // among the model's inputs
    std::string input;
    IdTable table;
  };

  CheckedIds(DatasetPtr samples, std::vector<Checked> inputs, std::shared_ptr<NegativeIds> negative)
      : View(std::move(samples)), inputs_(std::move(inputs)), negative_(std::move(negative)) {}

  Sample at(size_t index) const override {
    Sample sample = all().at(index);
    for (const Checked& checked : inputs_) {
      if (checked.place >= sample.size()) continue;
      const Tensor& ids = sample[checked.place];
      if (ids.type() == DataType::int64) check(checked, ids, ids.as<int64_t>(), index);
      if (ids.type() == DataType::int32) check(checked, ids, ids.as<int32_t>(), index);
    }
    return sample;
  }

 private:
  template <class Ids>
  void check(const Checked& checked, const Tensor& tensor, const Ids& ids, size_t index) const {
    const auto& [table, rows] = checked.table;
    for (size_t i = 0; i < ids.size(); ++i) {
      const int64_t id = ids[i];
      if (id >= 0 && id < rows) continue;
      const std::string found = source() + ", sample " + std::to_string(index) + ": input '" + checked.input + "' holds the id " +
                                std::to_string(id) + " at " + place_in(tensor.shape(), i);
      const std::string size =
          "'" + table + "', which has " + std::to_string(rows) + " rows (ids 0 to " + std::to_string(rows - 1) + ")";
      if (id >= rows || id < -rows)
        throw Error(found + ", but the model looks it up in the table " + size + advice(checked.input, id));
      if (negative_)
        negative_->add(checked.input, found + ", which counts from the end of the table " + size + advice(checked.input, id));
    }
  }

  std::vector<Checked> inputs_;
  std::shared_ptr<NegativeIds> negative_;
};

}  // namespace

std::map<std::string, IdTable> id_tables(const graph::Model& model) {
  std::map<std::string, IdTable> out;
  std::optional<graph::Index> index;
  for (const auto& input : model.inputs) {
    if (input.type != DataType::int64 && input.type != DataType::int32) continue;
    if (!index) index.emplace(model);
    std::vector<IdTable> tables;
    add_tables(input.name, *index, tables);
    if (!tables.empty()) out[input.name] = *std::ranges::min_element(tables, {}, &IdTable::rows);
  }
  return out;
}

void NegativeIds::add(const std::string& input, const std::string& sentence) {
  const std::lock_guard lock(lock_);
  if (kept_.emplace(input, sentence).second) untold_.push_back(sentence);
}

std::vector<std::string> NegativeIds::news() {
  const std::lock_guard lock(lock_);
  return std::exchange(untold_, {});
}

DatasetPtr with_checked_ids(DatasetPtr samples, const graph::Model& model, std::shared_ptr<NegativeIds> negative) {
  const auto tables = id_tables(model);
  if (samples == nullptr || tables.empty()) return samples;
  std::vector<CheckedIds::Checked> inputs;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    const auto found = tables.find(model.inputs[i].name);
    if (found != tables.end()) inputs.push_back({i, found->first, found->second});
  }
  return std::make_shared<CheckedIds>(std::move(samples), std::move(inputs), std::move(negative));
}

}  // namespace quasar::data
