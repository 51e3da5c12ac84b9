// What to do next, in words: what a search's figures suggest to somebody who reads them for the first time.
#pragma once

#include "quasar/base/json.hpp"

namespace quasar::report {

// Sentences, the most useful first; `contents` as contents_of makes it.
Json advice_on(const Json& contents);

}  // namespace quasar::report
