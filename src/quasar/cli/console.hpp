// What a search says while it runs: a progress line on a terminal, plain lines when piped, everything in auto_search.log.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "quasar/base/log.hpp"
#include "quasar/search/run.hpp"

namespace quasar::cli {

class Console {
 public:
  // `objective` names the metric that is shown. The log file is appended to.
  Console(bool quiet, std::string objective);
  ~Console();

  void log_to(const std::filesystem::path& file);
  Log log();                           // for the library
  void note(const std::string& text);  // for the log file only
  search::Listener listener();
  void show(const std::string& objective);  // from now on
  void close_progress();                    // ends the progress line

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace quasar::cli
