// Arguments that several commands take.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/files/overwrite_guard.hpp"
#include "quasar/base/json.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace quasar::cli {

// DATA on the command line: "random" stays, a path becomes absolute (configurations resolve theirs against their own folder).
// `as_is`: a folder is one of pictures whose values the model takes as they are (--as-is). Throws Error for anything else than
// a folder then.
Json data_argument(const std::string& text, bool as_is);
extern const char* const as_is_help;

// Every --set KEY=VALUE into `words`; the value is YAML ("[true, false]", "0.5", "Percentile").
void apply_settings(Json& words, const std::vector<std::string>& settings);

// An option for a file to be written; "-" becomes /dev/stdout.
CLI::Option* add_output(CLI::App& app, const std::string& names, std::string& path, const std::string& help);

// An option that names what is to be written; path "": nothing.
struct Output {
  std::string option, path;
};

// Throws Error when one of them cannot be written, or would replace what the command reads or another one, or would stand among
// another one on standard output: said before the work that would be lost. `files`: what it reads.
void check_outputs(const std::vector<Output>& outputs, OverwriteGuard files = {});

extern const char* const data_help;

// --custom-op-library: libraries with operators that ONNX Runtime does not have.
class OperatorLibraries {
 public:
  void define(CLI::App& app);
  // Throws Error for a file that is none.
  void load() const;
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  std::vector<std::string> paths_;
};

}  // namespace quasar::cli
