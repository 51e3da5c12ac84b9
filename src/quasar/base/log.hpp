// What the library has to say, and how far long work is, goes to a listener; it never prints.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <utility>

namespace quasar {

enum class Level { debug, info, warning, error };

// Must be callable from several threads at once. An empty function means: nobody listens.
using Log = std::function<void(Level, const std::string&)>;

inline void tell(const Log& log, Level level, const std::string& text) {
  if (log) log(level, text);
}

// `work`: what is done, in a word or two ("calibration"). `share`: how much of it is done, 0 to 1. Must be callable from several
// threads at once. An empty function means: nobody listens.
using Progress = std::function<void(const std::string& work, double share)>;

// Counts the equal parts of one piece of work. Thread-safe.
class Parts {
 public:
  Parts(Progress progress, std::string work, size_t total)
      : progress_(std::move(progress)), work_(std::move(work)), total_(total) {
    tell(0);
  }
  void done(size_t parts = 1) { tell(done_ += parts); }

 private:
  void tell(size_t done) const {
    if (progress_ && total_ > 0) progress_(work_, static_cast<double>(done) / static_cast<double>(total_));
  }

  Progress progress_;
  std::string work_;
  size_t total_;
  std::atomic<size_t> done_{0};
};

}  // namespace quasar
