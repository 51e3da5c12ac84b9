#include <CLI/CLI.hpp>
#include <iostream>

#include "quasar/base/files/special_files.hpp"
#include "quasar/cli/arguments.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/cli/shell.hpp"

namespace quasar::cli::commands {
namespace {

class Completion final : public Command {
 public:
  void define(CLI::App& app) override {
    program_ = app.get_parent();
    app.add_option("shell", shell_, "bash, zsh, fish, or man for the manual page")->required();
    add_output(app, "-o,--output", output_, "the file to write");
    app.footer(
        "`make install` puts all four where shells and man look.\n"
        "Example: quasar completion bash > ~/.local/share/bash-completion/completions/quasar");
  }

  int run() override {
    const std::pair<const char*, std::string (*)(const CLI::App&)> forms[]{
        {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}, {"man", manual_page}};
    std::vector<std::string> names;
    for (const auto& [name, form] : forms) {
      names.emplace_back(name);
      if (normalized(name) != normalized(shell_)) continue;
      check_outputs({{"-o", output_}});
      const std::string text = form(*program_);
      if (output_.empty()) {
        std::cout << text;
      } else {
        write_output(output_, text);
      }
      return exit_done;
    }
    throw Error("there is no completion for '" + shell_ + "'; known: " + joined(names) + did_you_mean(shell_, names));
  }

 private:
  const CLI::App* program_ = nullptr;
  std::string shell_, output_;
};

}  // namespace

Entry<Command> completion() {
  return {"Writes completion for a shell, or the manual page.", make_as<Completion, Command>};
}

}  // namespace quasar::cli::commands
