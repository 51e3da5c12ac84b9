// The line that a terminal shows while a command works that is no search: what it does, how far it is, the time left.
#pragma once

#include <memory>
#include <string>

#include "quasar/base/log.hpp"

namespace quasar::cli {

// "calibration  [####............]  12 s left": at most `width` columns, of which the bar goes first. `seconds`: since this work
// began; what is left is known after a second.
std::string step_line(const std::string& work, double share, double seconds, size_t width);

// On anything but a terminal (standard error) it shows nothing. The line is gone at the end of its life.
class Steps {
 public:
  Steps();
  ~Steps();
  Progress progress();  // good as long as this lives

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quasar::cli
