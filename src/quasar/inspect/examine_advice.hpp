// What an examination's figures say, in words.
#pragma once

#include "quasar/base/json.hpp"

namespace quasar::tune {

// Sentences, the most useful first, each with its figures; `examination`: as examine() makes it, all but the advice.
Json advice_on_layers(const Json& examination);

}  // namespace quasar::tune
