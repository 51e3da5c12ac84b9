#include "quasar/cli/program.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <new>
#include <stdexcept>
#include <system_error>

#include "quasar/base/error.hpp"
#include "quasar/base/machine.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/base/process.hpp"
#include "quasar/base/system/signals.hpp"
#include "quasar/base/system/terminal.hpp"
#include "quasar/base/version.hpp"
#include "quasar/cli/command.hpp"
#include "quasar/cli/standard_output.hpp"
#include "quasar/runtime/openvino_judge.hpp"
#include "quasar/runtime/session.hpp"

namespace quasar::cli {
namespace {

// Behind a message about a command's arguments: the nearest name of the first option that it does not have.
std::string nearest_option(const CLI::App& command, int argc, char** argv) {
  std::vector<std::string> known;
  for (const CLI::Option* option : command.get_options()) {
    for (const auto& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i], name = word.substr(0, word.find('='));
    if (name.starts_with("--") && name.size() > 2 && std::ranges::find(known, name) == known.end())
      return did_you_mean(name, known);
  }
  return "";
}

// CLI11's messages, with the nearest command or option when one was misspelt.
int report_parse_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  std::string what = error.what();
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) known.push_back(command->get_name());
  if (argc > 1 && argv[1][0] != '-' && std::ranges::find(known, argv[1]) == known.end()) {
    what = "unknown command '" + std::string(argv[1]) + "'; known: " + joined(known) + did_you_mean(argv[1], known);
  } else if (argc > 1 && argv[1][0] != '-') {
    what += nearest_option(*app.get_subcommand(argv[1]), argc, argv);
  }
  std::cerr << "quasar: " << printable_message(what) << "\nRun with --help for usage.\n";
  return exit_input;
}

int fail(const std::string& what, int code = exit_input) {
  std::cerr << "quasar: " << printable_message(what) << "\n";
  return code;
}

int exit_code(Blame blame) {
  return blame == Blame::world ? exit_machine : exit_input;
}

// What ended, and whether its results are files.
struct Ended {
  int code;
  bool files = false;
};

// A thread that cannot be started says no more than that.
std::string in_words(const std::system_error& error) {
  if (error.code() != std::errc::resource_unavailable_try_again) return error.what();
  return std::string("cannot start another thread (") + std::strerror(EAGAIN) +
         "): the memory or the number of processes that is allowed is used up (ulimit -v, ulimit -u)";
}

Ended run_command(Command& command) {
  const auto ended = [&](int code) { return Ended{code, command.results_are_files()}; };
  try {
    return ended(command.run());
  } catch (const Cancelled& stopped) {
    fail(stopped.what());
    return ended(exit_interrupted);
  } catch (const Error& error) {
    return ended(fail(error.what(), exit_code(error.blame())));
  } catch (const std::bad_alloc&) {
    return ended(fail("out of memory", exit_machine));
  } catch (const std::length_error&) {
    return ended(fail("out of memory", exit_machine));
  } catch (const std::filesystem::filesystem_error& error) {
    return ended(fail("'" + error.path1().string() + "' cannot be used: " + error.code().message(),
                      exit_code(blame_of(error.code().value()))));
  } catch (const std::system_error& error) {
    const bool no_thread = error.code() == std::errc::resource_unavailable_try_again;
    return ended(fail(in_words(error), no_thread ? exit_machine : exit_code(blame_of(error.code().value()))));
  } catch (const std::exception& error) {
    return ended(fail(error.what()));
  }
}

// An option that may be given several times has one value each time: what follows that is an argument of the command.
void take_one_value_each(CLI::App& app) {
  const auto may_repeat = [](const CLI::Option* option) { return !option->get_positional() && option->get_expected_max() > 1; };
  for (CLI::Option* option : app.get_options(may_repeat)) option->allow_extra_args(false);
}

Ended run(int argc, char** argv) {
  CLI::App app{"Quasar searches for the best way to quantize an ONNX model.", "quasar"};
  app.set_version_flag("--version", std::string("quasar ") + version() + ", ONNX Runtime " + runtime::version());
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, std::unique_ptr<Command>>> commands;
  for (const auto& [name, entry] : commands::table().items()) {
    // An alias stands for a name that no C++ function can have.
    const std::string& shown = entry.aliases.empty() ? name : entry.aliases.front();
    commands.emplace_back(app.add_subcommand(shown, entry.help), entry.make(Options()));
    commands.back().second->define(*commands.back().first);
    take_one_value_each(*commands.back().first);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return {report_parse_error(app, error, argc, argv)};
  }
  for (const auto& [parsed, command] : commands) {
    if (parsed->parsed()) return run_command(*command);
  }
  return {exit_input};
}

// The commands' definitions take memory, too.
Ended guarded(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return {fail("out of memory", exit_machine)};
  }
}

// The exit code, once all that was printed has arrived or not.
int exit_code(const Ended& ended, StandardOutput& output) {
  const int failure = output.finish();
  if (failure == 0) return ended.code;
  const bool unread = failure == EPIPE && !ended.files;  // as after `| head`: nobody wants to hear of it
  if (!unread)
    fail(std::string("cannot write to standard output: ") + std::strerror(failure) +
         (ended.files ? "; its results are kept all the same" : ""));
  return ended.code != exit_done ? ended.code : unread ? exit_unread : exit_code(blame_of(failure));
}

// Of a program by another name nobody knows what it does with its arguments; Python's package says itself how it is started.
void offer_judges() {
  const std::filesystem::path file = this_program();
  if (file.stem() == "quasar") runtime::openvino::judge_by({file.string(), runtime::openvino::judge_word});
}

}  // namespace

int program(int argc, char** argv) {
  take_closed_descriptors();
  ignore_signals_of_writing();
  keep_freed_memory();
  if (argc == 2 && std::string_view(argv[1]) == runtime::openvino::judge_word) return runtime::openvino::answer_questions();
  offer_judges();
  StandardOutput output;
  return exit_code(guarded(argc, argv), output);
}

}  // namespace quasar::cli
