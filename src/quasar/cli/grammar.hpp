// The commands with their options and what may follow them, as the shell's completions and the manual need them.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace quasar::cli {

struct Argument {
  std::vector<std::string> flags;  // "-o", "--output"; empty for a positional argument
  std::string name, help;          // name: of a positional argument
  bool takes_value = false;
  std::vector<std::string> values;  // those that are known; empty: a file, or anything
};

struct Usage {
  std::string name, help, footer;
  std::vector<Argument> arguments;
};

// The subcommands of the program in alphabetical order.
std::vector<Usage> grammar_of(const CLI::App& program);

}  // namespace quasar::cli
