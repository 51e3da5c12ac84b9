// Keys that are given, but act only beside others that are not: said once, so that nobody believes they did something.
#pragma once

#include <string>
#include <vector>

#include "quasar/quant/config/config.hpp"

namespace quasar::quant {

// `words`: the configuration as it was given; `config`: what was made of it. -> one sentence per key.
std::vector<std::string> notes_on_idle_keys(const Json& words, const Config& config);

}  // namespace quasar::quant
