#include "quasar/data/in_memory.hpp"

#include <algorithm>
#include <atomic>
#include <functional>

#include "quasar/data/annotations.hpp"
#include "quasar/data/fixed_batch.hpp"
#include "quasar/data/items.hpp"
#include "quasar/data/labels.hpp"
#include "quasar/data/options.hpp"

namespace quasar::data {
namespace {

using Items = std::shared_ptr<const std::vector<Item>>;

struct Place {
  size_t item, samples;  // and how many the item holds
  int64_t row;           // −1: the item is one sample
};

// Throws Error for an item that is the batch which the model fixes, with a label for each sample of it: open() then tries again.
bool has_targets(const ItemForm& form, const Item& item, size_t samples, const std::vector<graph::Value>& inputs) {
  if (!form.has_targets(item, samples)) return false;
  if (samples == 1 && form.label_shape(item) == Shape{fixed_batch(inputs)})
    throw Error("an item holds labels for each sample of the model's batch");
  return true;
}

class MemoryDataset final : public Labelled, public Truths {
 public:
  MemoryDataset(std::string source, Items items, std::vector<Place> places, ItemForm form, Labels labels, bool targets,
                int64_t label_offset)
      : Labelled(std::move(labels)),
        source_(std::move(source)),
        items_(std::move(items)),
        places_(std::move(places)),
        form_(std::move(form)),
        targets_(targets),
        label_offset_(label_offset) {}

  size_t size() const override { return places_.size(); }
  std::string source() const override { return source_; }
  Sample at(size_t index) const override { return form_.sample(item(index), places_[index].row, where(index)); }
  std::optional<Tensor> target(size_t index) const override {
    if (!targets_) return std::nullopt;
    return form_.target(item(index), places_[index].row, places_[index].samples, where(index));
  }
  std::optional<Boxes> boxes(size_t index) const override {
    if (!form_.has_boxes()) return std::nullopt;
    return form_.boxes(item(index), label_offset_, where(index));
  }

 private:
  const Item& item(size_t index) const { return items_->at(places_.at(index).item); }
  std::string where(size_t index) const { return source_ + ", sample " + std::to_string(index); }

  std::string source_;
  Items items_;
  std::vector<Place> places_;
  ItemForm form_;
  bool targets_;
  int64_t label_offset_;
};

// `said`: the array that the user names; "": by its usual name. nullptr: none.
const Tensor* labels_in(const Item& item, const std::string& said) {
  const auto found =
      said.empty() ? std::ranges::find_if(item, [](const auto& array) { return names_labels(array.first); }) : item.find(said);
  return found == item.end() ? nullptr : &found->second;
}

std::string said_labels(const Options& options, const std::string& owner) {
  return options.has("labels") ? text_option(options, "labels", owner) : "";
}

std::vector<std::string> whole_arrays_of(const Item& item) {
  std::vector<std::string> out;
  for (const auto& [name, array] : item) {
    const Shape& shape = array.shape();
    const bool one_each =
        shape.size() < 2 || (shape.size() == 2 && shape.back() == 1);  // others of fractions are too many to read
    if (array.type() == DataType::string) continue;
    if (!is_floating(array.type()) || (one_each && !has_fractions(array))) out.push_back(name);
  }
  return out;
}

// The item that tells what labels are: 0.0 beside fractions is no class, and neither is a text of one letter beside longer ones.
const Item& telling(size_t count, const std::function<const Item&(size_t)>& item, const std::string& said) {
  const Item* longest = &item(0);
  for (size_t i = 0; i < count; ++i) {
    const Tensor* labels = labels_in(item(i), said);
    if (labels == nullptr) continue;
    if (has_fractions(*labels)) return item(i);
    const Tensor* most = labels_in(*longest, said);
    if (most == nullptr || (most->count() <= 1 && labels->count() > 1)) longest = &item(i);
  }
  return *longest;
}

// One for each sample. Of items with boxes labels are the classes of these, and of others there may be one per pixel or place.
bool has_class(const Item& item) {
  const auto labels = std::ranges::find_if(item, [](const auto& array) { return names_labels(array.first); });
  if (labels == item.end() || item.contains("boxes") || is_floating(labels->second.type()) ||
      labels->second.type() == DataType::string)
    return false;
  const size_t count = labels->second.count();
  return count == 1 || std::ranges::any_of(item, [&](const auto& array) {
           const Shape& shape = array.second.shape();
           return !names_labels(array.first) && shape.size() > 1 && static_cast<size_t>(shape.front()) == count;
         });
}

class InMemory final : public Reader {
 public:
  InMemory(const Options& options, Items items, std::string source, Files files = {})
      : options_(options),
        items_(std::move(items)),
        source_(std::move(source)),
        owner_("samples of " + source_),
        files_(std::move(files)) {
    reject_batches(options, owner_);
  }

  DatasetPtr open(const std::vector<graph::Value>& inputs, const std::filesystem::path& base) const override {
    check_inputs(inputs);
    if (items_->empty())
      throw Error(owner_ +
                  ": there are none; a reader or iterator that was read before gives nothing again: make a new one, or give "
                  "it rewind()");
    ItemForm form(typical(), inputs, options_, owner_);
    const int64_t typical_rows = form.rows(typical(), 0);
    const bool targets = has_targets(form, typical(), typical_rows < 0 ? 1 : static_cast<size_t>(typical_rows), inputs);
    std::vector<Place> places;
    std::vector<int64_t> labels;
    for (size_t i = 0; i < items_->size(); ++i) {
      const int64_t rows = form.rows(items_->at(i), i);
      const size_t samples = rows < 0 ? 1 : static_cast<size_t>(rows);
      for (int64_t row = rows < 0 ? -1 : 0; row < rows || row < 0; ++row) places.push_back({i, samples, row});
      if (!form.has_labels() || targets) continue;
      const auto mine = form.labels(items_->at(i), i, samples);
      labels.insert(labels.end(), mine.begin(), mine.end());
    }
    auto all = std::make_shared<MemoryDataset>(
        source_, items_, std::move(places), std::move(form),
        Labels{with_offset(std::move(labels), options_), read_class_names(options_, base, base, owner_)}, targets,
        integer_option(options_, "label_offset", 0));
    return limited(all, options_, owner_);
  }
  bool brings_classes() const override { return !items_->empty() && has_class(typical()); }
  std::vector<std::string> whole_arrays() const override {
    return items_->empty() ? std::vector<std::string>() : whole_arrays_of(typical());
  }
  std::vector<std::string> passed_over(const std::vector<graph::Value>& inputs) const override {
    if (items_->empty()) return {};
    return ItemForm(typical(), inputs, options_, owner_).passed_over();
  }
  Files files() const override { return files_; }

 private:
  const Item& typical() const {
    return telling(
        items_->size(), [&](size_t i) -> const Item& { return items_->at(i); }, said_labels(options_, owner_));
  }

  Options options_;
  Items items_;
  std::string source_, owner_;
  Files files_;
};

class StreamDataset final : public Labelled, public Truths {
 public:
  // `row`: of the sample in its item, 0 or −1.   `targets`: whether items have several labels.
  StreamDataset(std::string source, Stream stream, ItemForm form, Labels labels, int64_t offset, int64_t row, bool targets)
      : Labelled(std::move(labels)),
        source_(std::move(source)),
        stream_(std::move(stream)),
        form_(std::move(form)),
        offset_(offset),
        row_(row),
        targets_(targets),
        known_(stream_.labels.empty() && form_.has_labels() && !targets ? stream_.size : 0),
        labels_(known_.size()) {}

  size_t size() const override { return stream_.size; }
  std::string source() const override { return source_; }

  Sample at(size_t index) const override {
    const Item item = stream_.item(index);
    if (const int64_t rows = form_.rows(item, index); rows > 1)
      throw Error(where(index) + " holds " + std::to_string(rows) +
                  " samples, and the first one of the data set holds one; give one sample at a time, or a list of all batches");
    learn(index, item);
    return form_.sample(item, row_, where(index));
  }

  std::optional<Tensor> target(size_t index) const override {
    if (!targets_) return std::nullopt;
    return form_.target(stream_.item(index), row_, 1, where(index));
  }
  std::optional<Boxes> boxes(size_t index) const override {
    if (!form_.has_boxes()) return std::nullopt;
    return form_.boxes(stream_.item(index), offset_, where(index));
  }

  // Of an item that nobody has read so far it has to be read for its label.
  std::optional<int64_t> label(size_t index) const override {
    if (known_.empty()) return Labelled::label(index);
    if (!known_.at(index).load()) learn(index, stream_.item(index));
    return labels_[index].load();
  }

 private:
  std::string where(size_t index) const { return source_ + ", sample " + std::to_string(index); }

  void learn(size_t index, const Item& item) const {
    if (!stream_.labels.empty() && form_.has_labels() && form_.labels(item, index, 1).front() != stream_.labels[index])
      throw Error(where(index) + ": its label is not the one that the data set's list of labels has for it");
    if (known_.empty() || known_.at(index).load()) return;
    labels_[index] = form_.labels(item, index, 1).front() + offset_;
    known_[index] = true;
  }

  std::string source_;
  Stream stream_;
  ItemForm form_;
  int64_t offset_, row_;
  bool targets_;
  mutable std::vector<std::atomic<bool>> known_;  // of each item's label; empty: there are none, or all are known
  mutable std::vector<std::atomic<int64_t>> labels_;
};

class Streamed final : public Reader {
 public:
  Streamed(const Options& options, Stream stream, std::string source, Files files)
      : options_(options),
        stream_(std::move(stream)),
        source_(std::move(source)),
        owner_("samples of " + source_),
        files_(std::move(files)) {
    reject_batches(options, owner_);
  }

  DatasetPtr open(const std::vector<graph::Value>& inputs, const std::filesystem::path& base) const override {
    check_inputs(inputs);
    if (stream_.size == 0) throw Error(owner_ + ": there are none");
    const std::vector<Item> some = first_items();
    const Item& first = some.front();
    const Item& typical = telling(
        some.size(), [&](size_t i) -> const Item& { return some[i]; }, said_labels(options_, owner_));
    ItemForm form(typical, inputs, options_, owner_);
    const int64_t rows = form.rows(first, 0);
    if (rows > 1) {
      auto items = std::make_shared<std::vector<Item>>();
      for (size_t i = 0; i < stream_.size; ++i) items->push_back(stream_.item(i));
      return InMemory(options_, items, source_).open(inputs, base);
    }
    const bool targets = has_targets(form, typical, 1, inputs);
    Stream stream = stream_;
    const bool denied =
        form.has_labels() && !targets && !stream.labels.empty() && form.labels(first, 0, 1).front() != stream.labels[0];
    if (denied || targets) stream.labels.clear();  // a list of something else
    Labels labels{with_offset(stream.labels, options_), read_class_names(options_, base, base, owner_)};
    auto all = std::make_shared<StreamDataset>(source_, std::move(stream), std::move(form), std::move(labels),
                                               integer_option(options_, "label_offset", 0), rows < 0 ? -1 : 0, targets);
    return limited(all, options_, owner_);
  }
  bool brings_classes() const override { return stream_.size > 0 && (!stream_.labels.empty() || has_class(stream_.item(0))); }
  std::vector<std::string> whole_arrays() const override {
    return stream_.size == 0 ? std::vector<std::string>() : whole_arrays_of(stream_.item(0));
  }
  std::vector<std::string> passed_over(const std::vector<graph::Value>& inputs) const override {
    if (stream_.size == 0) return {};
    return ItemForm(stream_.item(0), inputs, options_, owner_).passed_over();
  }
  Files files() const override { return files_; }

 private:
  // The first one; of labels that are floating, and so may be fractions, as many as show it.
  std::vector<Item> first_items() const {
    constexpr size_t few = 16;
    std::vector<Item> out{stream_.item(0)};
    const Tensor* labels = labels_in(out.front(), said_labels(options_, owner_));
    const bool may_be_fractions = labels != nullptr && is_floating(labels->type());
    for (size_t i = 1; may_be_fractions && i < std::min(few, stream_.size); ++i) out.push_back(stream_.item(i));
    return out;
  }

  Options options_;
  Stream stream_;
  std::string source_, owner_;
  Files files_;
};

std::vector<OptionSpec> in_memory_options() {
  return with_common({{"labels", nullptr, "the array of labels; left out: labels, label or y"}});
}

}  // namespace

Entry<Reader> memory(std::shared_ptr<const std::vector<Item>> items, const std::string& source, Files files) {
  const auto make = [items, source, files = std::move(files)](const Options& options) {
    return std::make_unique<InMemory>(options, items, source, files);
  };
  return {.help = "Samples that the program holds in memory.", .make = make, .options = in_memory_options()};
}

Entry<Reader> streamed(Stream stream, const std::string& source, Files files) {
  const auto make = [stream, source, files = std::move(files)](const Options& options) {
    return std::make_unique<Streamed>(options, stream, source, files);
  };
  return {.help = "Samples that the program gives one by one.", .make = make, .options = in_memory_options()};
}

}  // namespace quasar::data
