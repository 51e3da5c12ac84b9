
#include "quasar/base/error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace quasar {

Blame blame_of(int error_number) {
  static constexpr std::array worlds{
      ENOSPC,    EROFS,  EIO,       EMFILE, ENFILE, ENODEV, ENXIO, ENOTCONN, ETIMEDOUT, EHOSTUNREACH, ENETDOWN, ENETUNREACH,
#ifndef _WIN32  // which has no such numbers
      EDQUOT,    ESTALE, EHOSTDOWN,
#endif
#ifdef EREMOTEIO
      EREMOTEIO,
#endif
  };
  return std::ranges::find(worlds, error_number) != worlds.end() ? Blame::world : Blame::user;
}

Blame blame_of_writing(int error_number) {
  return blame_of(error_number) == Blame::world ? Blame::world : Blame::setup;
}

}  // namespace quasar
