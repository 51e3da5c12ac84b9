// What a search says while it runs: a progress line on a terminal, plain lines when piped, everything in auto_search.log.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "quasar/base/log.hpp"
#include "quasar/job/goal_parts.hpp"
#include "quasar/search/run.hpp"
#include "quasar/tune/summary.hpp"

namespace quasar::cli {

class Console {
 public:
  // The log file is appended to. `name`: of this process, which its lines carry; "": they need none. `is_worker`: another process
  // leads the search.
  Console(bool quiet, const tune::Aim& aim, const std::string& name = "", bool is_worker = false);
  ~Console();

  void log_to(const std::filesystem::path& file);
  Log log();                           // for the library
  void note(const std::string& text);  // for the log file only
  search::Listener listener();
  void follow(const tune::Aim& aim);                  // from now on
  void compare_with(const tune::Measured& baseline);  // of the float model: values stand beside the goal from now on
  void close_progress();                              // ends the progress line

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quasar::cli
