// What the program prints on a terminal cannot steer it, whatever a model or a data file calls its parts; and what cannot be
// printed at all, to a full disk or a reader who has gone, is known in the end.
#pragma once

#include <memory>

#include "quasar/base/log.hpp"

namespace quasar::cli {

// To standard error, line by line: for commands that search nothing, of what a database's server does meanwhile.
Log on_standard_error();

// While it lives, std::cout passes through printable() where it leads to a terminal; files and pipes get what is written.
class StandardOutput {
 public:
  StandardOutput();
  ~StandardOutput();

  // Writes out what waits. -> why something that was printed did not arrive, as an errno; 0: all did.
  int finish();

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace quasar::cli
