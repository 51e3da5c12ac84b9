#include "quasar/job/statistics_folder.hpp"

#include <bit>
#include <optional>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/base/version.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

// Hashes of texts one after the other cannot be taken for those of other texts.
std::string digest(std::string_view text) {
  return hash_of(text);
}

std::string digest(const Tensor& tensor) {
  std::string text = std::string(name_of(tensor.type())) + to_string(tensor.shape());
  if (tensor.type() != DataType::string) return digest(text + hash_of(tensor.bytes()));
  for (const auto& element : tensor.strings()) text += digest(element);
  return digest(text);
}

// Weights apart: with them a model may be too large for one message.
std::string digest(const graph::Model& model) {
  graph::Model structure = model;
  structure.initializers.clear();
  std::string text = digest(graph::to_bytes(structure));
  for (const auto& [name, tensor] : model.initializers) text += digest(name) + digest(tensor);
  return digest(text);
}

// nullopt: there is none, or none of use, which is told.
std::optional<Observed> read(const fs::path& file, const stats::FileContents& contents, const Log& log) {
  std::error_code code;
  if (!fs::is_regular_file(file, code)) return std::nullopt;
  try {
    if (fs::file_size(file) > stats::most_bytes(contents)) throw Error("it is damaged");
    return Observed{stats::statistics_of(read_file(file), contents), file};
  } catch (const std::runtime_error& e) {  // of the file system, too
    tell(log, Level::warning,
         "statistics in '" + file.string() + "' cannot be used, and are observed again: " + std::string(e.what()));
  }
  return std::nullopt;
}

// What processes that were killed had begun to write (write_file() calls it FILE.part<process>); only who holds the lock writes.
void remove_parts(const fs::path& file) {
  const std::string start = file.filename().string() + ".part";
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(file.parent_path(), ignored)) {
    if (entry.path().filename().string().starts_with(start)) fs::remove(entry.path(), ignored);
  }
}

}  // namespace

const std::string& StatisticsFolder::hash_of_samples() {
  const std::lock_guard lock(guard_);
  if (!hash_of_samples_.empty()) return hash_of_samples_;
  std::vector<std::string> each(samples_->size());
  parallel_for(each.size(), 0, [&](size_t i) {
    for (const Tensor& tensor : samples_->at(i)) each[i] += digest(tensor);
  });
  std::string text;
  for (const auto& sample : each) text += digest(sample);
  return hash_of_samples_ = digest(text);
}

std::string StatisticsFolder::key_of(const graph::Model& model, const stats::FileContents& contents) {
  std::string values;
  for (const auto& value : contents.values) values += digest(value);
  std::string numbers = contents.requests.histogram ? "histogram" : "";
  for (const double constant : contents.requests.averages) numbers += " " + std::to_string(std::bit_cast<uint64_t>(constant));
  numbers += ";";
  for (const size_t size : contents.sizes) numbers += " " + std::to_string(size);
  return digest(digest(version()) + digest(runtime::version()) + digest(runtime::cpu_name()) + digest(model) + digest(values) +
                digest(numbers) + hash_of_samples());
}

std::unique_ptr<FileLock> StatisticsFolder::lock(const std::string& key) const {
  std::string why;
  try {
    fs::create_directories(folder_);
    return std::make_unique<FileLock>(folder_ / (key + ".lock"), [&](const std::string& holder) {
      tell(log_, Level::info, "calibration: waiting for " + holder + ", which observes the same");
    });
  } catch (const Error& e) {
    why = e.what();
  } catch (const fs::filesystem_error& e) {
    why = e.what();
  }
  tell(log_, Level::warning, "statistics_dir: nothing can be shared: " + why);
  return nullptr;
}

void StatisticsFolder::share(const Observed& observed, const stats::FileContents& contents) const {
  const fs::path file = file_of(contents.key);
  try {
    remove_parts(file);
    write_file(file, stats::bytes_of(observed.by_size, contents));
  } catch (const Error& e) {
    tell(log_, Level::warning, "statistics_dir: what was observed is not shared: " + std::string(e.what()));
  }
}

Observed StatisticsFolder::collect(const graph::Model& model, const std::vector<std::string>& values,
                                   const stats::Requests& requests, const std::set<size_t>& prefixes) {
  stats::FileContents contents{.key = {}, .values = values, .requests = requests, .sizes = prefixes};
  contents.sizes.insert(samples_->size());
  contents.key = key_of(model, contents);
  const fs::path file = file_of(contents.key);
  // First without the lock: nobody waits for what is there, and a folder that cannot be written may be read.
  if (auto known = read(file, contents, {})) return *std::move(known);
  const auto held = lock(contents.key);
  if (auto known = read(file, contents, log_)) return *std::move(known);
  Observed out{stats::collect(model, *samples_, values, requests, {.prefixes = prefixes, .log = log_})};
  if (held != nullptr) share(out, contents);
  return out;
}

}  // namespace quasar::tune
