#include "quasar/cli/shell.hpp"

#include <CLI/CLI.hpp>

#include "quasar/base/names.hpp"
#include "quasar/cli/grammar.hpp"

namespace quasar::cli {
namespace {

// A text within single quotes of a shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string names_of(const std::vector<Usage>& commands) {
  std::vector<std::string> names;
  for (const auto& command : commands) names.push_back(command.name);
  return joined(names, " ");
}

std::string flags_of(const Usage& command) {
  std::vector<std::string> flags;
  for (const auto& argument : command.arguments) flags.insert(flags.end(), argument.flags.begin(), argument.flags.end());
  return joined(flags, " ");
}

// What zsh's _arguments reads within brackets and between colons.
std::string for_zsh(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_value(const Argument& argument) {
  if (!argument.takes_value && !argument.flags.empty()) return "";
  return ":" + for_zsh(argument.name.empty() ? "value" : argument.name) + ":" +
         (argument.values.empty() ? "_files" : "(" + joined(argument.values, " ") + ")");
}

}  // namespace

std::string bash_completion(const CLI::App& program) {
  const auto commands = grammar_of(program);
  std::string options, values, positional;
  for (const auto& command : commands) {
    options += "    " + command.name + ") words='" + flags_of(command) + "' ;;\n";
    for (const auto& argument : command.arguments) {
      if (argument.values.empty()) continue;
      const std::string list = "') _quasar_values '" + joined(argument.values, " ") + "' \"$cur\"; return ;;\n";
      if (argument.flags.empty()) positional += "    '" + command.name + list;
      for (const auto& flag : argument.flags) values += "    '" + command.name + " " + flag + list;
    }
  }
  return "# bash completion of quasar; made by `quasar completion bash`\n"
         "_quasar_values() {  # those that begin as what is typed, in capitals or not\n"
         "  local value\n  COMPREPLY=()\n"
         "  for value in $1; do [[ ${value,,} == \"${2,,}\"* ]] && COMPREPLY+=(\"$value\"); done\n}\n"
         "_quasar() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words=\n"
         "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
         "    COMPREPLY=($(compgen -W '" +
         names_of(commands) + " --help --version' -- \"$cur\"))\n    return\n  fi\n  case \"$command $prev\" in\n" + values +
         "  esac\n  case $command in\n" + options +
         "  esac\n  if [[ $cur == -* ]]; then\n    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n    return\n  fi\n"
         "  case $command in\n" +
         positional +
         "  esac\n  COMPREPLY=($(compgen -f -- \"$cur\"))\n}\n"
         "complete -o filenames -F _quasar quasar\n";
}

std::string zsh_completion(const CLI::App& program) {
  const auto commands = grammar_of(program);
  std::string list, cases;
  for (const auto& command : commands) {
    list += "    " + quoted(command.name + ":" + for_zsh(command.help)) + "\n";
    cases += "    " + command.name + ")\n      _arguments -M 'm:{a-zA-Z}={A-Za-z}'";
    int place = 0;
    for (const auto& argument : command.arguments) {
      if (argument.flags.empty()) cases += " \\\n        " + quoted(std::to_string(++place) + zsh_value(argument));
      for (const auto& flag : argument.flags)
        cases += " \\\n        " + quoted("*" + flag + "[" + for_zsh(argument.help) + "]" + zsh_value(argument));
    }
    cases += "\n      ;;\n";
  }
  return "#compdef quasar\n# zsh completion of quasar; made by `quasar completion zsh`\n_quasar() {\n  local -a commands=(\n" +
         list +
         "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n"
         "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n" +
         cases + "  esac\n}\n_quasar \"$@\"\n";
}

std::string fish_completion(const CLI::App& program) {
  const auto commands = grammar_of(program);
  std::string out = "# fish completion of quasar; made by `quasar completion fish`\n";
  for (const auto& command : commands)
    out += "complete -c quasar -f -n __fish_use_subcommand -a " + command.name + " -d " + quoted(command.help) + "\n";
  for (const auto& command : commands) {
    const std::string when = "complete -c quasar -n '__fish_seen_subcommand_from " + command.name + "'";
    for (const auto& argument : command.arguments) {
      const std::string values = argument.values.empty() ? "" : " -x -a " + quoted(joined(argument.values, " "));
      if (argument.flags.empty()) {
        if (!values.empty()) out += when + values + "\n";
        continue;
      }
      out += when;
      for (const auto& flag : argument.flags) out += flag.starts_with("--") ? " -l " + flag.substr(2) : " -s " + flag.substr(1);
      out += " -d " + quoted(argument.help) + (argument.takes_value ? (values.empty() ? " -r" : values) : "") + "\n";
    }
  }
  return out;
}

}  // namespace quasar::cli
