// The one exception that Quasar throws on purpose.
#pragma once

#include <stdexcept>
#include <string>

#include "quasar/base/api.hpp"

namespace quasar {

// Who can mend it: the user (a wrong file, key or value), the user, though what was asked is right (the setup: a folder that is
// gone or may not be written, tables that are damaged), or time (the world: disk full, database gone).
enum class Blame { user, setup, world };

// Whose fault a failed system call is. The world's: a disk that is full, read-only, broken or out of reach, no open file left.
// Everything else, a missing file or too little memory for what was asked, lies with whoever asked.
QUASAR_API Blame blame_of(int error_number);
// The same where something could not be written: whatever the reason, what was to be written is not wrong.
QUASAR_API Blame blame_of_writing(int error_number);

// A message for the person at the keyboard. It names the file or key, the value, what is allowed and the way out.
class QUASAR_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what, Blame blame = Blame::user) : std::runtime_error(what), blame_(blame) {}
  Blame blame() const { return blame_; }

 private:
  Blame blame_;
};

// The search was asked to stop (Ctrl-C, a time limit): work ends early, results so far are kept.
class QUASAR_API Cancelled : public std::runtime_error {
 public:
  explicit Cancelled(const std::string& why) : std::runtime_error(why) {}
};

}  // namespace quasar
