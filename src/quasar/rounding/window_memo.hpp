// What was decided in windows (scale_window.hpp) of one model on one set of samples, kept for later trials: what a configuration
// changes in one place leaves the windows elsewhere as they are. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "quasar/rounding/judges.hpp"

namespace quasar::tune {

class WindowMemo {
 public:
  // Of a window, by a hash of all that decides: which candidate is best.
  std::optional<size_t> choice(const std::string& window) const { return found(choices_, window); }
  void keep(const std::string& window, size_t choice) { put(choices_, window, choice); }

  // How far a value reaches in each sample, by a hash of what is looked at besides.
  std::optional<std::vector<Reach>> reach(const std::string& value) const { return found(reaches_, value); }
  void keep(const std::string& value, std::vector<Reach> reach) { put(reaches_, value, std::move(reach)); }

 private:
  template <class T>
  std::optional<T> found(const std::map<std::string, T>& in, const std::string& key) const {
    const std::lock_guard lock(guard_);
    const auto place = in.find(key);
    return place == in.end() ? std::nullopt : std::optional(place->second);
  }
  template <class T>
  void put(std::map<std::string, T>& in, const std::string& key, T value) {
    const std::lock_guard lock(guard_);
    in[key] = std::move(value);
  }

  mutable std::mutex guard_;
  std::map<std::string, size_t> choices_;
  std::map<std::string, std::vector<Reach>> reaches_;
};

}  // namespace quasar::tune
