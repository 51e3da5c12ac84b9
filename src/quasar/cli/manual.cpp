#include <CLI/CLI.hpp>
#include <algorithm>

#include "quasar/base/names.hpp"
#include "quasar/base/version.hpp"
#include "quasar/cli/grammar.hpp"
#include "quasar/cli/shell.hpp"

namespace quasar::cli {
namespace {

// Text as roff prints it unchanged.
std::string roff(const std::string& text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    begins = c == '\n';
  }
  return out;
}

// Every line of the text is one of the page.
std::string lines(const std::string& text) {
  std::string out = roff(text);
  for (size_t at = out.find('\n'); at != std::string::npos; at = out.find('\n', at + 5)) out.replace(at, 1, "\n.br\n");
  return out;
}

std::string entry(const Argument& argument) {
  std::string head;
  for (const auto& flag : argument.flags) head += (head.empty() ? "" : ", ") + ("\\fB" + roff(flag) + "\\fR");
  if (argument.flags.empty()) head = "\\fI" + roff(argument.name) + "\\fR";
  if (argument.takes_value && !argument.flags.empty()) head += " \\fIvalue\\fR";
  const bool told =
      std::ranges::all_of(argument.values, [&](const auto& value) { return argument.help.find(value) != std::string::npos; });
  const std::string known = told ? "" : ": " + joined(argument.values);
  return ".TP\n" + head + "\n" + roff(argument.help + known) + "\n";
}

}  // namespace

std::string manual_page(const CLI::App& program) {
  std::string out = ".TH QUASAR 1 \"\" \"Quasar " + roff(version()) + "\" \"User Commands\"\n.SH NAME\nquasar \\- " +
                    "searches for the best way to quantize an ONNX model\n.SH SYNOPSIS\n";
  const auto commands = grammar_of(program);
  for (const auto& command : commands) {
    out += ".B quasar " + command.name + "\n";
    for (const auto& argument : command.arguments) {
      if (argument.flags.empty()) out += "[\\fI" + roff(argument.name) + "\\fR]\n";
    }
    out += "[\\fIoptions\\fR]\n.br\n";
  }
  out += ".SH DESCRIPTION\n" +
         roff(
             "Quasar takes a float ONNX model, samples to calibrate with and a way to score, searches for the quantization that "
             "keeps "
             "the most accuracy, and writes a model that runs in ONNX Runtime, the configuration that made it, and a report that "
             "shows why. Messages go to standard error, results to standard output.") +
         "\n";
  for (const auto& command : commands) {
    out += ".SH \"QUASAR " + command.name + "\"\n" + roff(command.help) + "\n";
    for (const auto& argument : command.arguments) out += entry(argument);
    if (!command.footer.empty()) out += ".PP\n" + lines(command.footer) + "\n";
  }
  out +=
      ".SH \"EXIT STATUS\"\n.TP\n0\ndone\n.TP\n1\nthe input is wrong\n.TP\n2\nfinished, but the goal was not met; the best model "
      "is "
      "written all the same\n.TP\n130\ninterrupted; results so far are written\n";
  out +=
      ".SH FILES\nA search fills its output folder with\n.I best.onnx, best_config.yaml, best_params.json, result.json, "
      "report.html, "
      "auto_search.log\nand the study's database.\n";
  out += ".SH ENVIRONMENT\n.TP\nNO_COLOR\nwhen set and not empty, nothing is coloured\n";
  return out;
}

}  // namespace quasar::cli
