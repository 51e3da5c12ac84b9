// Quasar's own version, "0.1.0".
#pragma once

#include <string>

#include "quasar/base/api.hpp"

namespace quasar {

QUASAR_API std::string version();

}  // namespace quasar
