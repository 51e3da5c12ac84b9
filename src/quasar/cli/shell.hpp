// Completion of the command line in shells, and the manual page: all from the tables that CLI11 parses with.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace quasar::cli {

std::string bash_completion(const CLI::App& program);
std::string zsh_completion(const CLI::App& program);
std::string fish_completion(const CLI::App& program);
std::string manual_page(const CLI::App& program);  // for man(7)

}  // namespace quasar::cli
