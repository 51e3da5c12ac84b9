// The float model's outputs: in memory up to a limit, beyond it in a mapped file that disappears with the store.
#pragma once

#include <atomic>
#include <filesystem>
#include <mutex>
#include <span>
#include <vector>

#include "quasar/base/system/mapping.hpp"

namespace quasar::eval {

class OutputStore {
 public:
  // `folder`: where the file goes (created when needed); empty: the system's temporary folder.
  OutputStore(size_t samples, size_t memory_limit, std::filesystem::path folder);
  OutputStore(const OutputStore&) = delete;
  OutputStore& operator=(const OutputStore&) = delete;

  // Once per sample, from any thread. Throws Error when the file cannot be written.
  void put(size_t sample, std::span<const float> values);
  // After the last put(): maps the file.
  void finish();
  // Valid as long as the store.
  std::span<const float> get(size_t sample) const;
  bool spilled() const { return file_.is_open(); }

 private:
  struct Place {
    size_t offset = 0, count = 0;  // in the file, in elements
  };
  size_t reserve(size_t count);

  size_t limit_;
  std::filesystem::path folder_;
  std::atomic<size_t> used_{0};
  std::vector<std::vector<float>> kept_;
  std::vector<Place> places_;
  std::mutex guard_;
  OpenFile file_;
  size_t end_ = 0;  // of the file, in elements
  Mapping mapping_;
};

}  // namespace quasar::eval
