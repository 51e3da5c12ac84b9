// NumPy archives: one array per model input, the first axis counts the samples.
#include <algorithm>
#include <map>
#include <optional>

#include "quasar/data/annotations.hpp"
#include "quasar/data/archive.hpp"
#include "quasar/data/conversion.hpp"
#include "quasar/data/labels.hpp"
#include "quasar/data/npy.hpp"
#include "quasar/data/options.hpp"
#include "quasar/data/reader.hpp"
#include "quasar/data/recorded_inputs.hpp"

namespace quasar::data::readers {
namespace {

constexpr const char* npz_reader = "reader npz";

struct ArrayColumn {
  Conversion conversion;
  NpyArray array;
};

class NpzDataset : public Labelled, public Truths {
 public:
  NpzDataset(std::string source, std::vector<ArrayColumn> columns, Labels labels, std::optional<NpyArray> targets)
      : Labelled(std::move(labels)), source_(std::move(source)), columns_(std::move(columns)), targets_(std::move(targets)) {}

  size_t size() const override { return static_cast<size_t>(columns_[0].array.shape()[0]); }
  std::string source() const override { return source_; }

  Sample at(size_t index) const override {
    Sample sample;
    for (const auto& [conversion, array] : columns_) {
      sample.push_back(conversion.apply(array.row(index), array.where() + ", sample " + std::to_string(index)));
    }
    return sample;
  }

  std::optional<Tensor> target(size_t index) const override {
    if (!targets_) return std::nullopt;
    const Tensor row = targets_->row(index);
    return converted(row.reshaped({row.shape().begin() + 1, row.shape().end()}), DataType::int64);
  }

 private:
  std::string source_;
  std::vector<ArrayColumn> columns_;
  std::optional<NpyArray> targets_;
};

// Which array feeds which input, and which holds the labels.
class Assignment {
 public:
  Assignment(const std::vector<graph::Value>& inputs, const Options& options, const Archive& archive, std::string file)
      : file_(std::move(file)) {
    for (const auto& name : archive.names()) {
      if (name.ends_with(".npy")) arrays_.push_back(name.substr(0, name.size() - 4));
    }
    if (arrays_.empty()) throw Error(file_ + " holds no array (.npy)");
    find_named(inputs, options);
    find_labels(options);
    find_the_rest(inputs, !options.json("inputs").empty() || options.has("labels"));
  }

  const std::string& array_of(const graph::Value& input) const { return of_input_.at(input.name); }
  const std::string& labels() const { return labels_; }  // "" when there are none

 private:
  bool has(const std::string& name) const { return std::find(arrays_.begin(), arrays_.end(), name) != arrays_.end(); }

  const std::string& existing(const std::string& name, const std::string& purpose) const {
    const auto found = std::find(arrays_.begin(), arrays_.end(), name);
    if (found != arrays_.end()) return *found;
    throw Error(file_ + " holds no array '" + name + "' for " + purpose + "; its arrays: " + joined(arrays_) +
                did_you_mean(name, arrays_));
  }

  bool used(const std::string& array) const {
    const auto feeds = [&](const auto& item) { return item.second == array; };
    return array == labels_ || std::any_of(of_input_.begin(), of_input_.end(), feeds);
  }

  void find_named(const std::vector<graph::Value>& inputs, const Options& options) {
    for (const auto& input : inputs) {
      const Json* array = option_for(options, "inputs", input);
      if (array != nullptr && !array->is_string()) {
        throw Error(std::string(npz_reader) + ": option 'inputs' must map input names to array names");
      }
      if (array != nullptr) {
        of_input_[input.name] = existing(array->get<std::string>(), "the model's input '" + input.name + "'");
      } else if (has(input.name)) {
        of_input_[input.name] = input.name;
      }
    }
  }

  // Named, or else an array of a customary name that feeds no input.
  void find_labels(const Options& options) {
    if (options.has("labels")) {
      labels_ = existing(text_option(options, "labels", npz_reader), "the labels");
      return;
    }
    for (const char* name : {"labels", "label", "y"}) {
      if (labels_.empty() && has(name) && !used(name)) labels_ = name;
    }
  }

  // One input and one array left over belong together, whatever the array's name.
  void find_the_rest(const std::vector<graph::Value>& inputs, bool named) {
    std::vector<std::string> open, spare;
    for (const auto& input : inputs) {
      if (!of_input_.contains(input.name)) open.push_back(input.name);
    }
    for (const auto& array : arrays_) {
      if (!used(array)) spare.push_back(array);
    }
    if (open.size() == 1 && spare.size() == 1) {
      of_input_[open[0]] = spare[0];
      return;
    }
    if (!open.empty()) {
      throw Error(file_ + " holds no array for the model's input '" + open[0] + "'; its arrays: " + joined(arrays_) +
                  ". Name it with inputs: {" + open[0] + ": ARRAY}" +
                  how_to_record(*std::ranges::find(inputs, open[0], &graph::Value::name)));
    }
    if (!spare.empty() && !named) {
      throw Error(file_ + " holds arrays that feed no input: " + joined(spare) +
                  "; the model's inputs: " + joined(names_of(inputs)) +
                  ". Say what is meant with inputs: {INPUT: ARRAY} or labels: ARRAY, then others are passed over");
    }
  }

  std::string file_;
  std::vector<std::string> arrays_;
  std::map<std::string, std::string> of_input_;
  std::string labels_;
};

class Npz : public Reader {
 public:
  explicit Npz(const Options& options) : options_(options) { reject_batches(options, npz_reader); }

  DatasetPtr open(const std::vector<graph::Value>& inputs, const std::filesystem::path& base) const override {
    check_inputs(inputs);
    check_input_names(options_, {"inputs", "layout", "mean", "scale", "dtype"}, inputs, npz_reader);
    const std::filesystem::path path = path_of(options_, "path", base, npz_reader);
    const std::string file = "'" + path.string() + "'";
    const Archive archive(path);
    const Assignment assignment(inputs, options_, archive, file);
    std::vector<ArrayColumn> columns;
    for (const auto& input : inputs) {
      columns.push_back({Conversion(input, options_, npz_reader), array_in(archive, file, assignment.array_of(input))});
      check(columns);
    }
    Labels labels{.of = {}, .names = read_class_names(options_, base, path.parent_path(), npz_reader)};
    std::optional<NpyArray> targets;
    if (!assignment.labels().empty() && !is_passed_over(array_in(archive, file, assignment.labels()))) {
      const NpyArray array = array_in(archive, file, assignment.labels());
      if (has_targets(array)) {
        targets = array;
      } else {
        labels.of = with_offset(labels_of(array.all(), array.where()), options_);
      }
      check_size(array, array.shape().empty() ? 1 : static_cast<size_t>(array.shape()[0]), columns[0].array);
    }
    return limited(std::make_shared<NpzDataset>(file, std::move(columns), std::move(labels), std::move(targets)), options_,
                   npz_reader);
  }

 private:
  // An array that only has a customary name may hold what a regression is to answer.
  bool is_passed_over(const NpyArray& labels) const { return !options_.has("labels") && has_fractions(labels); }

  // Many labels per sample: of pixels, or of the places of a sequence.
  bool has_targets(const NpyArray& labels) const {
    const Shape& shape = labels.shape();
    if (shape.size() < 2 || (shape.size() == 2 && shape[1] == 1)) return false;
    if (is_floating(labels.type()))
      throw Error(labels.where() + ": labels must be whole numbers, found " + std::string(name_of(labels.type())));
    if (integer_option(options_, "label_offset", 0) != 0)
      throw Error(std::string(npz_reader) + ": label_offset is for one label per sample, but " + labels.where() +
                  " has the shape " + to_string(shape));
    return true;
  }

  static NpyArray array_in(const Archive& archive, const std::string& file, const std::string& name) {
    return {archive.open(name + ".npy"), file + ", array '" + name + "'"};
  }

  // The last column by itself and against the first.
  static void check(const std::vector<ArrayColumn>& columns) {
    const auto& [conversion, array] = columns.back();
    Shape row = array.shape();
    if (row.empty()) throw Error(array.where() + ": is a single value; its first axis must count the samples");
    if (row[0] == 0) throw Error(array.where() + ": holds no samples (shape " + to_string(row) + ")");
    check_size(array, static_cast<size_t>(row[0]), columns[0].array);
    constexpr int64_t most_without_values = 1'000'000;  // which cost a file nothing
    if (row[0] > most_without_values && count_of(row) == 0)
      throw Error(array.where() + ": holds " + std::to_string(row[0]) + " samples without values (shape " + to_string(row) +
                  "); at most " + std::to_string(most_without_values) + " are read");
    row[0] = 1;
    conversion.check(array.type(), row, array.where());
  }

  static void check_size(const NpyArray& array, size_t count, const NpyArray& reference) {
    if (count == static_cast<size_t>(reference.shape()[0])) return;
    throw Error(array.where() + ": holds " + std::to_string(count) + " samples, but " + reference.where() + " holds " +
                std::to_string(reference.shape()[0]));
  }

  Options options_;
};

}  // namespace

Entry<Reader> npz() {
  return {.help = "NumPy archive (.npz): one array per model input, the first axis counts the samples",
          .make = make_as<Npz, Reader>,
          .options = with_common({{"path", "", "the .npz file"},
                                  {"inputs", Json::object(),
                                   "{model input: array}; left out: arrays named as the inputs, or the only one that there is"},
                                  {"labels", nullptr,
                                   "the array of labels, one per sample, or one per pixel or place; left out: one named labels, "
                                   "label or y that feeds no input and holds whole numbers"}})};
}

}  // namespace quasar::data::readers
