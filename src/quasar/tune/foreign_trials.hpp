// What other programs have put into a search's study, which counts nowhere without a word.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quasar/search/trial.hpp"

namespace quasar::tune {

// What to tell the user of trials that another program has enqueued and nobody has run, and of those that it has ended itself;
// empty: there are none.
std::vector<std::string> words_on_foreign_trials(std::span<const search::Trial> trials);

}  // namespace quasar::tune
