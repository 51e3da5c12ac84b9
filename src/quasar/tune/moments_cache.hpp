// Moments of layers behind identical prefixes, kept for later trials: what a configuration changes at the end of a network, or in
// the solver's effort, leaves those before as they are.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "quasar/tune/layer_moments.hpp"

namespace quasar::tune {

// Thread-safe. Beyond `limit` bytes the least recently used go.
class MomentsCache {
 public:
  explicit MomentsCache(size_t limit) : limit_(limit) {}

  std::shared_ptr<const Moments> find(const std::string& key);  // nullptr: not there
  void keep(const std::string& key, std::shared_ptr<const Moments> moments);

 private:
  struct Slot {
    std::shared_ptr<const Moments> moments;
    std::list<std::string>::iterator place;
    size_t bytes;
  };
  size_t limit_, bytes_ = 0;
  std::mutex guard_;
  std::list<std::string> recent_;  // the latest first
  std::map<std::string, Slot> slots_;
};

}  // namespace quasar::tune
