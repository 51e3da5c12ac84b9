// Statistics that processes share through a folder: whoever needs some first observes them, the others read what it wrote.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "quasar/base/file_lock.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/stats/statistics_file.hpp"

namespace quasar::tune {

struct Observed {
  std::map<size_t, stats::Statistics> by_size;  // number of samples -> statistics
  std::filesystem::path file = {};              // that they were read from; empty: observed here
};

// A file is named by a hash of all that its statistics depend on: the graph with its weights, the values, what is kept of them,
// every byte of every sample, the processor, and the versions of ONNX Runtime and Quasar. Files may be deleted at any time.
class StatisticsFolder {
 public:
  // `samples`: all that is ever observed through this.
  StatisticsFolder(std::filesystem::path folder, data::DatasetPtr samples, Log log)
      : folder_(std::move(folder)), samples_(std::move(samples)), log_(std::move(log)) {}

  // What stats::collect() gives, bit for bit. While another process observes just that, this one waits for it; a process that
  // dies is replaced by one of those that wait. What is wrong with the folder or a file in it is a warning, and what it should
  // have held is observed. Throws Error as collect() does, and Cancelled, also while it waits. Thread-safe.
  Observed collect(const graph::Model& model, const std::vector<std::string>& values, const stats::Requests& requests,
                   const std::set<size_t>& prefixes);

 private:
  std::string key_of(const graph::Model& model, const stats::FileContents& contents);
  const std::string& hash_of_samples();
  std::unique_ptr<FileLock> lock(const std::string& key) const;  // nullptr: there can be none, which is told
  void share(const Observed& observed, const stats::FileContents& contents) const;
  std::filesystem::path file_of(const std::string& key) const { return folder_ / (key + ".statistics"); }

  const std::filesystem::path folder_;
  const data::DatasetPtr samples_;
  const Log log_;
  std::mutex guard_;
  std::string hash_of_samples_;  // once it is known
};

}  // namespace quasar::tune
