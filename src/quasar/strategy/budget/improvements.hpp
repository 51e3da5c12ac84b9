// What costs nothing at run time (ranges, rounding …), tried on a model whose precisions are chosen.
#pragma once

#include <functional>

#include "quasar/search/sequence.hpp"
#include "quasar/strategy/strategy.hpp"

namespace quasar::tune {

// Tries one parameter after another in the order of the space, each choice on `best`, which `take` may change: it is told of each
// trial, and of what was changed for it.
void try_improvements(const StrategyContext& context, search::Sequence& sequence, const search::Trial& best,
                      const std::function<void(const search::Trial& trial, const Json& change)>& take);

}  // namespace quasar::tune
