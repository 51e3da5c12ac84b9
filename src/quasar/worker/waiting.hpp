// Waiting for a search: as long as nobody tells of one, one question every few seconds, and a word on it now and then.
#pragma once

#include <string>

#include "quasar/base/log.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::tune {

class Waiting {
 public:
  explicit Waiting(double patience) : patience_(patience) {}

  double left() const { return patience_ - watch_.seconds(); }  // seconds
  bool is_over() const { return left() <= 0; }

  // Says what is waited for, when that has changed, and again from time to time: often at first, and seldom where nobody looks
  // any more.
  void say(const std::string& what, const Log& log);

  // Until somebody tells of a search in the storage, but no longer than a few seconds, or than is left. Throws Cancelled.
  void for_news(search::Storage& storage) const;

 private:
  double patience_, next_ = 0;
  Stopwatch watch_;
  std::string told_;
};

// "waiting for X (up to 20 s: --wait)".
std::string words_on_waiting(const std::string& what, double left);

}  // namespace quasar::tune
