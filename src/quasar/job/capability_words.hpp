// Capabilities, which are in Intel Neural Compressor's words, in Quasar's: how one operator may be quantized.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/json.hpp"

namespace quasar::tune {

// How operators with constant weights are quantized at run time, as quant::Target::capability says it of static quantization.
Json dynamic_capability();

// One combination of a capability's items, {activation: {dtype, scheme, algorithm, granularity}, weight: likewise}, as a rule of
// specific_layer_config.
Json static_rule(const Json& item);
Json dynamic_rule(const Json& item);

// Every combination of a capability's items, float types left out; granularity of weights varies fastest.
std::vector<Json> combinations(const Json& capability);

// A type in which an operator may be left: {fp32, float32}, {fp16, float16}, {bf16, bfloat16}.
struct FloatWord {
  const char* theirs;
  const char* ours;  // of a study's parameters
};
const std::vector<FloatWord>& float_words();

// Dictionaries of the user, which leave of a capability what both have. A later one counts for the items that it gives: names go
// before types, and later patterns before earlier ones.
class Narrowing {
 public:
  // `ignored`: what the target lacks, in words.
  explicit Narrowing(std::vector<std::string>& ignored) : ignored_(ignored) {}

  // `capability`: what dictionaries have left so far; `whole`: the target's. `floats`: the words of the types that the target
  // could leave an operator in. Throws Error for a malformed dictionary.
  void narrow(Json& capability, const Json& whole, const Json& wish, const std::vector<std::string>& floats,
              const std::string& who);

 private:
  void keep(Json& left, const Json& known, const Json& wished, const std::vector<std::string>& floats, const std::string& where);

  std::vector<std::string>& ignored_;
};

}  // namespace quasar::tune
