// The two plots that go into documents and mails, as SVG.
#pragma once

#include <string>

#include "quasar/base/json.hpp"

namespace quasar::report {

// The first objective of every trial, and the best so far.
std::string history_svg(const Json& contents);

// A bar for every parameter.
std::string importance_svg(const Json& contents);

}  // namespace quasar::report
