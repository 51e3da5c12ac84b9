// A folder of .npy files, one per sample; models with several inputs take one subfolder per input.
#include "quasar/data/npy.hpp"

#include <algorithm>
#include <iterator>

#include "quasar/data/conversion.hpp"
#include "quasar/data/labels.hpp"
#include "quasar/data/options.hpp"
#include "quasar/data/reader.hpp"
#include "quasar/data/recorded_inputs.hpp"

namespace quasar::data::readers {
namespace {

namespace fs = std::filesystem;

constexpr const char* npy_reader = "reader npy";

struct FileColumn {
  Conversion conversion;
  fs::path folder;
};

NpyArray array_at(const fs::path& path) {
  return {file_bytes(path), "'" + path.string() + "'"};
}

class NpyDataset : public Labelled {
 public:
  NpyDataset(fs::path folder, std::vector<FileColumn> columns, std::vector<std::string> files, Labels labels)
      : Labelled(std::move(labels)), folder_(std::move(folder)), columns_(std::move(columns)), files_(std::move(files)) {}

  size_t size() const override { return files_.size(); }
  std::string source() const override { return "'" + folder_.string() + "'"; }

  Sample at(size_t index) const override {
    Sample sample;
    for (const auto& [conversion, folder] : columns_) {
      const NpyArray array = array_at(folder / files_.at(index));
      sample.push_back(conversion.apply(array.all(), array.where()));
    }
    return sample;
  }

 private:
  fs::path folder_;
  std::vector<FileColumn> columns_;
  std::vector<std::string> files_;
};

// The names of a folder's .npy files, sorted.
std::vector<std::string> files_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::error_code ignored;
    if (entry.path().extension() == ".npy" && !entry.is_directory(ignored)) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Npy : public Reader {
 public:
  explicit Npy(const Options& options) : options_(options) { reject_batches(options, npy_reader); }

  DatasetPtr open(const std::vector<graph::Value>& inputs, const fs::path& base) const override {
    check_inputs(inputs);
    check_input_names(options_, {"inputs", "layout", "mean", "scale", "dtype"}, inputs, npy_reader);
    const fs::path folder = path_of(options_, "path", base, npy_reader);
    if (!fs::is_directory(folder)) {
      throw Error("'" + folder.string() + "' is " + (fs::exists(folder) ? "not a folder" : "not there") +
                  "; reader npy needs a folder of .npy files");
    }
    std::vector<FileColumn> columns;
    for (const auto& input : inputs) {
      columns.push_back({Conversion(input, options_, npy_reader), folder_of(input, folder, inputs.size())});
    }
    std::vector<std::string> files = matching_files(columns);
    for (const auto& column : columns) check(column, files);
    Labels labels{.of = {}, .names = read_class_names(options_, base, folder, npy_reader)};
    if (options_.has("labels")) {
      const fs::path csv = find_labels(text_option(options_, "labels", npy_reader), base, folder);
      labels.of = with_offset(read_labels(csv, files), options_);
    }
    return limited(std::make_shared<NpyDataset>(folder, std::move(columns), std::move(files), std::move(labels)), options_,
                   npy_reader);
  }

 private:
  // The named subfolder, the one called as the input, or the folder itself for a single input.
  fs::path folder_of(const graph::Value& input, const fs::path& folder, size_t inputs) const {
    const Json* named = option_for(options_, "inputs", input);
    if (named != nullptr && !named->is_string()) {
      throw Error(std::string(npy_reader) + ": option 'inputs' must map input names to subfolders");
    }
    const bool single = named == nullptr && inputs == 1;
    const fs::path sub = folder / (named != nullptr ? named->get<std::string>() : input.name);
    if (single && !files_in(folder).empty()) return folder;
    if (fs::is_directory(sub)) return sub;
    if (single) throw Error("'" + folder.string() + "' holds no .npy file");
    throw Error("'" + sub.string() + "' is no folder; the model's input '" + input.name +
                "' needs one (one subfolder per input, or inputs: {" + input.name + ": SUBFOLDER})" + how_to_record(input));
  }

  static std::vector<std::string> matching_files(const std::vector<FileColumn>& columns) {
    const std::vector<std::string> files = files_in(columns[0].folder);
    if (files.empty()) throw Error("'" + columns[0].folder.string() + "' holds no .npy file");
    for (const auto& column : columns) {
      const std::vector<std::string> others = files_in(column.folder);
      std::vector<std::string> odd;
      std::set_symmetric_difference(files.begin(), files.end(), others.begin(), others.end(), std::back_inserter(odd));
      if (odd.empty()) continue;
      throw Error("'" + columns[0].folder.string() + "' and '" + column.folder.string() + "' must hold the same files, but '" +
                  odd[0] + "' is in one of them only");
    }
    return files;
  }

  // Headers only: a file that does not fit is found before the work begins.
  static void check(const FileColumn& column, const std::vector<std::string>& files) {
    for (const auto& name : files) {
      const NpyHeader header = array_at_header(column.folder / name);
      column.conversion.check(header.type, header.shape, "'" + (column.folder / name).string() + "'");
    }
  }

  static NpyHeader array_at_header(const fs::path& path) {
    const std::string where = "'" + path.string() + "'";
    const BytesPtr bytes = file_bytes(path);
    const NpyHeader header = read_npy_header(*bytes, where);
    check_npy_size(header, *bytes, where);
    return header;
  }

  Options options_;
};

}  // namespace

Entry<Reader> npy() {
  return {
      .help = "folder of .npy files, one per sample, sorted by name; or one subfolder per model input",
      .make = make_as<Npy, Reader>,
      .options = with_common({{"path", "", "the folder"},
                              {"inputs", Json::object(), "{model input: subfolder}; left out: subfolders named as the inputs"},
                              {"labels", nullptr, "CSV file with the columns file,label, here or in the folder"}})};
}

}  // namespace quasar::data::readers
