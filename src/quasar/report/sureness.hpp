// How sure a search is of its best model, in sentences for every report.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/json.hpp"

namespace quasar::report {

// From `best.evidence` of result.json: one sentence for every metric that counts right answers, on evaluation and on hold-out
// samples (McNemar's test), and one for the candidates within noise of the best. Empty when there is nothing to tell.
std::vector<std::string> sureness(const Json& evidence);

}  // namespace quasar::report
