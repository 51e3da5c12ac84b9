
#include "quasar/base/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace quasar {

Blame blame_of(int error_number) {
  static constexpr std::array worlds{ENOSPC, EDQUOT,   EROFS,     EIO,          ESTALE,    EMFILE,    ENFILE,   ENODEV,
                                     ENXIO,  ENOTCONN, ETIMEDOUT, EHOSTUNREACH, EHOSTDOWN, EREMOTEIO, ENETDOWN, ENETUNREACH};
  return std::ranges::find(worlds, error_number) != worlds.end() ? Blame::world : Blame::user;
}

}  // namespace quasar
