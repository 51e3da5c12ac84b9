#include "quasar/cli/schema.hpp"

#include <CLI/CLI.hpp>
#include <iostream>

#include "quasar/base/names.hpp"
#include "quasar/cli/command.hpp"

namespace quasar::cli::commands {
namespace {

class Schema final : public Command {
 public:
  void define(CLI::App& app) override {
    app.add_option("kind", kind_, "of what: " + joined(schema_kinds()))->required();
    app.footer(
        "A configuration's is for editors, the others tell what the commands print with --json.\n"
        "Example: quasar schema configuration > search.schema.json");
  }

  int run() override {
    std::cout << schema_of(kind_).dump(2) << "\n";
    return exit_done;
  }

 private:
  std::string kind_;
};

}  // namespace

Entry<Command> schema() {
  return {"Prints the JSON Schema of a configuration, or of what a command prints.", make_as<Schema, Command>};
}

}  // namespace quasar::cli::commands
