// Quasar's own version, "0.1.0".
#pragma once

#include <string>

namespace quasar {

std::string version();

}  // namespace quasar
