// Every option that AMD Quark names beyond types and ranges (extra_options of Auto Search, first-level options of Auto Search
// Pro): each acts, or is an error that says why not. docs/options.md is the same list for readers.
#pragma once

#include <string>
#include <vector>

#include "quasar/quant/codes/scheme.hpp"
#include "quasar/quant/codes/switches.hpp"
#include "quasar/quant/config/selection.hpp"

namespace quasar::quant {

// An option that has no choice here: the values that say what Quasar does anyway, and why there are no others.
struct FixedOption {
  std::string key;
  std::vector<Json> accepted;  // null is always accepted
  std::string why;
  bool inert = false;  // any value of the type of those accepted is, because it cannot make a difference
};
const std::vector<FixedOption>& fixed_options();

// One that is another name of a parameter: ActivationSymmetric is activation_params.symmetric.
struct OptionAlias {
  std::string key, group, parameter;
};
const std::vector<OptionAlias>& option_aliases();

// All keys of switches, selections, exclusions, fixed options and aliases.
std::vector<std::string> option_keys();

// Puts aliases where they belong. `words`: canonical first-level keys. Throws Error where both names are given.
void expand_aliases(Json& words);

// What options fill of a configuration.
struct OptionParts {
  Switches& switches;
  Selection& selection;
  std::vector<Json>& exclude;
  int& max_loop_num;
};

// false when the key is none of option_keys(). Throws Error for wrong values, with the reason.
bool parse_option_key(const OptionParts& parts, const std::string& key, const Json& value);

// Throws Error for options that contradict the types.
void check_option_keys(const Switches& switches, const Scheme& activation, const Scheme& weight);

// Back in the user's words.
Json option_words(const Selection& selection, const Switches& switches, int max_loop_num);

// The list for readers: key, where it acts, default, meaning.
struct OptionFact {
  std::string key, kind, usual, on_npu, help;
};
std::vector<OptionFact> option_facts();

}  // namespace quasar::quant
