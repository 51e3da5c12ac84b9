#include <CLI/CLI.hpp>
#include <iostream>

#include "quasar/cli/command.hpp"
#include "quasar/cli/lists.hpp"

namespace quasar::cli::commands {
namespace {

void print(const Json& list) {
  for (const auto& item : list) {
    std::cout << item["name"].get<std::string>() << "\n    " << item["help"].get<std::string>() << "\n";
    if (item.contains("rounded") && !item["rounded"].empty())
      std::cout << "    with weights rounded so: " << joined(item["rounded"].get<std::vector<std::string>>()) << "\n";
    for (const auto& option : item["options"]) {
      std::cout << "    " << option["name"].get<std::string>() << " (" << option["default"].dump()
                << "): " << option["help"].get<std::string>() << "\n";
    }
  }
}

class Listing final : public Command {
 public:
  void define(CLI::App& app) override {
    std::vector<std::string> names;
    for (const auto& list : lists()) names.push_back(list.kind);
    app.add_option("kind", kind_, "what to list: " + joined(names) + " (keys are those of a configuration)")->required();
    app.add_flag("--json", json_, json_help);
    app.footer("Example: quasar list presets");
  }

  int run() override {
    std::vector<std::string> names;
    for (const auto& [name, help, describe] : lists()) {
      names.push_back(name);
      if (normalized(name) != normalized(kind_)) continue;
      if (json_) {
        std::cout << describe().dump(2) << "\n";
      } else {
        print(describe());
      }
      return exit_done;
    }
    throw Error("there is no list of '" + kind_ + "'; known: " + joined(names) + did_you_mean(kind_, names));
  }

 private:
  std::string kind_;
  bool json_ = false;
};

}  // namespace

Entry<Command> list() {
  return {"Names what can be chosen, with options and defaults.", make_as<Listing, Command>};
}

}  // namespace quasar::cli::commands
