#include "quasar/data/memory.hpp"

#include <algorithm>

#include "quasar/data/conversion.hpp"
#include "quasar/data/labels.hpp"
#include "quasar/data/options.hpp"

namespace quasar::data {
namespace {

using Items = std::shared_ptr<const std::vector<Item>>;

// A row of an array, without copying: [1, the other axes].
Tensor row_of(const Tensor& array, size_t row) {
  Shape shape = array.shape();
  shape[0] = 1;
  const auto owner = std::make_shared<const Tensor>(array);
  const size_t size = bytes_of(array.type(), count_of(shape));
  return {array.type(), shape, owner, owner->bytes().data() + row * size};
}

struct Place {
  size_t item;
  int64_t row;  // −1: the item is one sample
};

class MemoryDataset final : public Labelled {
 public:
  MemoryDataset(std::string source, Items items, std::vector<Place> places,
                std::vector<std::pair<std::string, Conversion>> columns, Labels labels)
      : Labelled(std::move(labels)),
        source_(std::move(source)),
        items_(std::move(items)),
        places_(std::move(places)),
        columns_(std::move(columns)) {}

  size_t size() const override { return places_.size(); }
  std::string source() const override { return source_; }

  Sample at(size_t index) const override {
    const auto [item, row] = places_.at(index);
    Sample sample;
    for (const auto& [name, conversion] : columns_) {
      const Tensor& array = items_->at(item).at(name);
      sample.push_back(conversion.apply(row < 0 ? array : row_of(array, static_cast<size_t>(row)),
                                        source_ + ", sample " + std::to_string(index)));
    }
    return sample;
  }

 private:
  std::string source_;
  Items items_;
  std::vector<Place> places_;
  std::vector<std::pair<std::string, Conversion>> columns_;  // array, and how it becomes the input
};

class Memory final : public Reader {
 public:
  Memory(const Options& options, Items items, std::string source)
      : options_(options), items_(std::move(items)), source_(std::move(source)), owner_("samples of " + source_) {
    reject_batches(options, owner_);
  }

  DatasetPtr open(const std::vector<graph::Value>& inputs, const std::filesystem::path& base) const override {
    check_inputs(inputs);
    if (items_->empty()) throw Error(owner_ + ": there are none");
    check_input_names(options_, {"layout", "mean", "scale", "dtype"}, inputs, owner_);
    std::vector<std::pair<std::string, Conversion>> columns;
    for (const auto& input : inputs) columns.emplace_back(array_for(input, inputs), Conversion(input, options_, owner_));
    const std::string labels_name = labels_among(inputs);
    std::vector<Place> places;
    std::vector<int64_t> labels;
    for (size_t i = 0; i < items_->size(); ++i) add(i, columns, labels_name, places, labels);
    auto all = std::make_shared<MemoryDataset>(
        source_, items_, std::move(places), std::move(columns),
        Labels{with_offset(std::move(labels), options_), read_class_names(options_, base, base, owner_)});
    return limited(all, options_, owner_);
  }

 private:
  std::string where(size_t item) const { return owner_ + ", item " + std::to_string(item); }

  std::vector<std::string> names(const Item& item) const {
    std::vector<std::string> out;
    for (const auto& [name, array] : item) out.push_back(name.empty() ? "(without a name)" : name);
    return out;
  }

  bool is_label(const std::string& name, const std::vector<graph::Value>& inputs) const {
    const bool customary = name == "labels" || name == "label" || name == "y";
    return customary && std::ranges::none_of(inputs, [&](const auto& input) { return input.name == name; });
  }

  std::string labels_among(const std::vector<graph::Value>& inputs) const {
    for (const auto& [name, array] : items_->front()) {
      if (is_label(name, inputs)) return name;
    }
    return "";
  }

  // By its name; the only array of a model with one input may have any.
  std::string array_for(const graph::Value& input, const std::vector<graph::Value>& inputs) const {
    const Item& first = items_->front();
    if (first.contains(input.name)) return input.name;
    std::vector<std::string> others;
    for (const auto& [name, array] : first) {
      if (!is_label(name, inputs)) others.push_back(name);
    }
    if (inputs.size() == 1 && others.size() == 1) return others[0];
    throw Error(where(0) + " holds no array for the model's input '" + input.name + "'; it holds " + joined(names(first)) +
                "; the model's inputs: " + joined(names_of(inputs)));
  }

  // Samples of one item: the rows of a batch, or the item itself.
  int64_t rows_of(const Tensor& array, const graph::Value& input) const {
    if (!input.shape || input.shape->empty()) return -1;
    const bool one_at_a_time = input.shape->front() <= 1;
    if (!one_at_a_time || array.shape().size() != input.shape->size()) return -1;
    return array.shape()[0];
  }

  void add(size_t index, const std::vector<std::pair<std::string, Conversion>>& columns, const std::string& labels_name,
           std::vector<Place>& places, std::vector<int64_t>& labels) const {
    const Item& item = items_->at(index);
    std::optional<int64_t> rows;
    for (const auto& [name, conversion] : columns) {
      const auto found = item.find(name);
      if (found == item.end())
        throw Error(where(index) + " holds no array '" + name + "' as the first one does; it holds " + joined(names(item)));
      const int64_t count = rows_of(found->second, conversion.input());
      if (rows && *rows != count)
        throw Error(where(index) + ": its arrays hold different numbers of samples (first axis of '" + name + "')");
      rows = count;
      Shape one = found->second.shape();
      if (count >= 0) one[0] = 1;
      conversion.check(found->second.type(), one, where(index));
    }
    const size_t before = places.size();
    if (*rows < 0) places.push_back({index, -1});
    for (int64_t row = 0; row < *rows; ++row) places.push_back({index, row});
    if (labels_name.empty()) return;
    const auto found = item.find(labels_name);
    if (found == item.end()) throw Error(where(index) + " has no '" + labels_name + "' as the first one has");
    const Tensor flat = found->second.reshaped({static_cast<int64_t>(found->second.count())});
    const auto mine = labels_of(flat, where(index) + ", '" + labels_name + "'");
    if (mine.size() != places.size() - before)
      throw Error(where(index) + " holds " + std::to_string(places.size() - before) + " samples, but " +
                  std::to_string(mine.size()) + " labels");
    labels.insert(labels.end(), mine.begin(), mine.end());
  }

  Options options_;
  Items items_;
  std::string source_, owner_;
};

}  // namespace

Entry<Reader> memory(std::shared_ptr<const std::vector<Item>> items, const std::string& source) {
  return {.help = "Samples that the program holds in memory.",
          .make = [items, source](const Options& options) { return std::make_unique<Memory>(options, items, source); },
          .options = with_common({})};
}

}  // namespace quasar::data
