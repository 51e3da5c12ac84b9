#include "quasar/cli/grammar.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "quasar/cli/lists.hpp"
#include "quasar/eval/metric.hpp"
#include "quasar/job/preset.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/report/writer.hpp"

namespace quasar::cli {
namespace {

std::vector<std::string> kinds() {
  std::vector<std::string> out;
  for (const auto& list : lists()) out.push_back(list.kind);
  return out;
}

const std::vector<std::string>& known_values(const std::string& name) {
  static const std::vector<std::string> none;
  static const std::map<std::string, std::vector<std::string>> all{
      {"--preset", tune::presets::table().names()},   {"--scheme", quant::scheme_names()},
      {"--target", quant::targets::table().names()},  {"--metric", eval::metrics::table().names()},
      {"--format", report::writers::table().names()}, {"kind", kinds()},
      {"shell", {"bash", "zsh", "fish", "man"}}};
  const auto found = all.find(name);
  return found == all.end() ? none : found->second;
}

Argument argument_of(const CLI::Option& option) {
  Argument argument{.flags = {},
                    .name = option.get_name(true),
                    .help = option.get_description(),
                    .takes_value = option.get_items_expected_max() > 0,
                    .values = {}};
  for (const auto& name : option.get_snames()) argument.flags.push_back("-" + name);
  for (const auto& name : option.get_lnames()) argument.flags.push_back("--" + name);
  argument.values = known_values(argument.flags.empty() ? argument.name : argument.flags.back());
  return argument;
}

// Its own, and those of its groups (options of which one excludes another), which CLI11 keeps as commands without a name.
void add_arguments(const CLI::App& app, Usage& usage) {
  for (const CLI::Option* option : app.get_options()) {
    Argument argument = argument_of(*option);
    const auto same = [&](const Argument& other) { return other.flags == argument.flags && other.name == argument.name; };
    if (std::ranges::none_of(usage.arguments, same)) usage.arguments.push_back(std::move(argument));  // every group has --help
  }
  for (const CLI::App* group : app.get_subcommands([](const CLI::App* one) { return one->get_name().empty(); }))
    add_arguments(*group, usage);
}

}  // namespace

std::vector<Usage> grammar_of(const CLI::App& program) {
  std::vector<Usage> commands;
  for (const CLI::App* app : program.get_subcommands([](const CLI::App*) { return true; })) {
    Usage usage{app->get_name(), app->get_description(), app->get_footer(), {}};
    add_arguments(*app, usage);
    commands.push_back(std::move(usage));
  }
  return commands;
}

}  // namespace quasar::cli
