#include <CLI/CLI.hpp>

#include "quasar/base/process.hpp"
#include "quasar/base/system/environment.hpp"
#include "quasar/cli/command.hpp"

namespace quasar::cli::commands {
namespace {

class Mcp final : public Command {
 public:
  void define(CLI::App& app) override {
    app.add_option("folder", folder_, "clients may read and write below it, and nowhere else")->required();
    app.footer("It needs the Python package quasar, and PyPI's package mcp.\nExample: quasar mcp models");
  }

  // The server is Python: the first on PATH, where pip's command puts the one that runs it.
  int run() override {
    const std::filesystem::path program = this_program();
    const bool in_python = program.filename().string().starts_with("python");
    if (!in_python) set_unless_set("QUASAR_PROGRAM", program.string());
    become({"python3", "-m", "quasar.mcp", folder_});
  }

 private:
  std::string folder_;
};

}  // namespace

Entry<Command> mcp() {
  return {"Serves agents: inspect, quantize, search, evaluate and report as tools of the Model Context Protocol.",
          make_as<Mcp, Command>};
}

}  // namespace quasar::cli::commands
