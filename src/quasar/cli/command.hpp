// One command of the program: one file each in commands/.
#pragma once

#include "quasar/base/plugin.hpp"

namespace CLI {
class App;
}

namespace quasar::cli {

class Command {
 public:
  virtual ~Command() = default;
  virtual void define(CLI::App& app) = 0;  // its arguments, and an example
  virtual int run() = 0;                   // -> exit code; throws Error for what the user can mend

  // Whether its results are files, so that it does not end when nobody reads what it prints.
  virtual bool results_are_files() const { return false; }
};

constexpr const char* json_help = "one JSON document on standard output, as `quasar schema` describes";

// Exit codes (README).
constexpr int exit_done = 0;
constexpr int exit_input = 1;          // the user's input is wrong
constexpr int exit_goal_missed = 2;    // finished, but the goal was not met, or the result is poor
constexpr int exit_machine = 75;       // the machine or the server failed: the same command may do later
constexpr int exit_interrupted = 130;  // results so far were written; of a worker: it or its search was interrupted
constexpr int exit_unread = 141;       // whoever read standard output has gone (`| head`), as other programs say it

}  // namespace quasar::cli

namespace quasar::cli::commands {
const Table<Command>& table();
}
