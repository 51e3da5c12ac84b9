// Whose fault a failed system call is.
#pragma once

#include "quasar/base/error.hpp"

namespace quasar {

// The world's: a disk that is full, read-only, broken or out of reach, no open file left. Everything else, a missing file or too
// little memory for what was asked, lies with whoever asked.
Blame blame_of(int error_number);

}  // namespace quasar
