// ONNX's own test data: folders test_data_set_0, test_data_set_1 … with input_0.pb, input_1.pb … (onnx.TensorProto each).
#include <onnx/onnx_pb.h>

#include <algorithm>

#include "quasar/base/file.hpp"
#include "quasar/data/conversion.hpp"
#include "quasar/data/labels.hpp"
#include "quasar/data/options.hpp"
#include "quasar/data/reader.hpp"
#include "quasar/graph/tensor_proto.hpp"

namespace quasar::data::readers {
namespace {

namespace fs = std::filesystem;

constexpr const char* pb_reader = "reader pb";

std::string file_name(size_t input) {
  return "input_" + std::to_string(input) + ".pb";
}

struct Stored {
  std::string name, where;
  Tensor tensor;
};

Stored read_tensor(const fs::path& path) {
  const std::string where = "'" + path.string() + "'";
  const auto proto = std::make_shared<onnx::TensorProto>();
  if (!proto->ParseFromString(read_file(path)) || proto->data_type() == 0) {
    throw Error(where + ": is not an ONNX tensor (onnx.TensorProto), or is cut short");
  }
  if (proto->has_segment()) throw Error(where + ": is a sequence (onnx.SequenceProto) or part of a tensor, not an ONNX tensor");
  try {
    graph::ExternalFiles none{fs::path()};
    return {proto->name(), where, graph::tensor_of(proto, none)};
  } catch (const Error& e) {
    throw Error(where + ": " + e.what(), e.blame());
  }
}

// "test_data_set_10" comes after "test_data_set_2": digits at the end compare as a number.
bool natural_less(const fs::path& a, const fs::path& b) {
  const std::string x = a.filename().string(), y = b.filename().string();
  const auto head = [](const std::string& name) { return name.substr(0, name.find_last_not_of("0123456789") + 1); };
  return head(x) == head(y) && x.size() != y.size() ? x.size() < y.size() : x < y;
}

std::vector<fs::path> sets_in(const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    throw Error("'" + folder.string() + "' is " + (fs::exists(folder) ? "not a folder" : "not there") +
                "; reader pb needs a folder of test_data_set_*");
  }
  if (fs::exists(folder / file_name(0))) return {folder};
  std::vector<fs::path> sets;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_")) sets.push_back(entry.path());
  }
  if (sets.empty()) throw Error("'" + folder.string() + "' holds no test_data_set_* with input_0.pb");
  std::sort(sets.begin(), sets.end(), natural_less);
  return sets;
}

// Which file feeds which input: by name when every input is named by a file, else by number.
std::vector<size_t> file_of_input(const std::vector<Stored>& stored, const std::vector<Conversion>& conversions) {
  std::vector<size_t> by_name, by_number;
  for (size_t input = 0; input < conversions.size(); ++input) {
    by_number.push_back(input);
    for (size_t file = 0; file < stored.size(); ++file) {
      if (stored[file].name != conversions[input].input().name) continue;
      by_name.push_back(file);
      break;
    }
  }
  return by_name.size() == by_number.size() ? by_name : by_number;
}

class PbDataset : public Labelled {
 public:
  PbDataset(fs::path folder, std::vector<fs::path> sets, std::vector<Conversion> conversions, Labels labels)
      : Labelled(std::move(labels)), folder_(std::move(folder)), sets_(std::move(sets)), conversions_(std::move(conversions)) {}

  size_t size() const override { return sets_.size(); }
  std::string source() const override { return "'" + folder_.string() + "'"; }

  Sample at(size_t index) const override {
    std::vector<Stored> stored;
    for (size_t file = 0; file < conversions_.size(); ++file) stored.push_back(read_tensor(sets_.at(index) / file_name(file)));
    const std::vector<size_t> file_of = file_of_input(stored, conversions_);
    Sample sample;
    for (size_t input = 0; input < conversions_.size(); ++input) {
      const Stored& from = stored[file_of[input]];
      sample.push_back(conversions_[input].apply(from.tensor, from.where));
    }
    return sample;
  }

 private:
  fs::path folder_;
  std::vector<fs::path> sets_;
  std::vector<Conversion> conversions_;
};

class Pb : public Reader {
 public:
  explicit Pb(const Options& options) : options_(options) { reject_batches(options, pb_reader); }

  DatasetPtr open(const std::vector<graph::Value>& inputs, const fs::path& base) const override {
    check_inputs(inputs);
    check_input_names(options_, {"layout", "mean", "scale", "dtype"}, inputs, pb_reader);
    const fs::path folder = path_of(options_, "path", base, pb_reader);
    std::vector<fs::path> sets = sets_in(folder);
    std::vector<std::string> names;
    for (const auto& set : sets) {
      names.push_back(set.filename().string());
      check_files(set, inputs);
    }
    std::vector<Conversion> conversions;
    for (const auto& input : inputs) conversions.emplace_back(input, options_, pb_reader);
    Labels labels{.of = {}, .names = read_class_names(options_, base, folder, pb_reader)};
    if (options_.has("labels")) {
      const fs::path csv = find_labels(text_option(options_, "labels", pb_reader), base, folder);
      labels.of = with_offset(read_labels(csv, names), options_);
    }
    const auto all = std::make_shared<PbDataset>(folder, std::move(sets), std::move(conversions), std::move(labels));
    all->at(0);  // a wrong shape or type shows now, not in the middle of a search
    return limited(all, options_, pb_reader);
  }

 private:
  static void check_files(const fs::path& set, const std::vector<graph::Value>& inputs) {
    for (size_t file = 0; file <= inputs.size(); ++file) {
      const bool wanted = file < inputs.size();
      if (fs::exists(set / file_name(file)) == wanted) continue;
      throw Error("'" + set.string() + "' " + (wanted ? "lacks " : "holds ") + file_name(file) +
                  ", but the model's inputs are: " + joined(names_of(inputs)));
    }
  }

  Options options_;
};

}  // namespace

Entry<Reader> pb() {
  return {.help = "ONNX test data: folders test_data_set_* with input_0.pb, input_1.pb ...",
          .make = make_as<Pb, Reader>,
          .options = with_common({{"path", "", "the folder that holds test_data_set_*, or one of them"},
                                  {"labels", nullptr, "CSV file with the columns file,label (file: test_data_set_0 ...)"}}),
          .aliases = {"onnx", "test_data_set"}};
}

}  // namespace quasar::data::readers
