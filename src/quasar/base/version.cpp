#include "quasar/base/version.hpp"

namespace quasar {

std::string version() {
  return QUASAR_VERSION;
}

}  // namespace quasar
