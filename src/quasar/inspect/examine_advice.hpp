// What an examination's figures say, in words.
#pragma once

#include <string>

#include "quasar/base/json.hpp"

namespace quasar::tune {

// Why operators gain nothing from codes of 16 bits on this target, in words: it refuses them, or only simulates them in float; ""
// where it computes in them. Throws Error for a name that is no target.
std::string obstacle_to_16_bits(const std::string& target);

// Sentences, the most useful first, each with its figures; `examination`: as examine() makes it, all but the advice. With an
// obstacle to 16 bits they are not advised.
Json advice_on_layers(const Json& examination, const std::string& obstacle_to_16_bits = "");

}  // namespace quasar::tune
