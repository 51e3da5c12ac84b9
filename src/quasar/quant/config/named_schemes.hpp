// Configurations by their names: the schemes of the folder schemes, AMD Quark's predefined configurations, and each of both with
// optimized rounding (NAME_ADAROUND, NAME_ADAQUANT).
#pragma once

#include <string>
#include <vector>

#include "quasar/base/api.hpp"
#include "quasar/base/json.hpp"
#include "quasar/base/plugin.hpp"

namespace quasar::quant {

// A named configuration (quantize --scheme NAME): its words, as parse_config takes them.
class SchemePreset {
 public:
  explicit SchemePreset(Json words) : words_(std::move(words)) {}
  const Json& words() const { return words_; }

 private:
  Json words_;
};

// The words of a configuration, as parse_config takes them. Case, '-' and '_' do not count. Throws Error for a name that there is
// not, with the nearest one, and for one of Quark's whose types ONNX lacks, with the reason and the nearest that runs.
QUASAR_API Json words_of_scheme(const std::string& name);

// Whether words_of_scheme() has it.
bool is_scheme(const std::string& name);

struct NamedScheme {
  std::string name, help;
  std::vector<std::string> aliases = {};
  std::vector<std::string> rounded = {};  // the same with optimized rounding, by their names
};

// Quasar's own first, then Quark's.
const std::vector<NamedScheme>& named_schemes();

// Every name, those with optimized rounding too.
std::vector<std::string> scheme_names();

// What is said of a name that asks for something without effect; "": nothing.
std::string note_on_scheme(const std::string& name);

}  // namespace quasar::quant

namespace quasar::quant::schemes {
const Table<SchemePreset>& table();
}
