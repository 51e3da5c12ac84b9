// What the program prints on a terminal cannot steer it, whatever a model or a data file calls its parts.
#pragma once

#include <memory>

namespace quasar::cli {

// While it lives, std::cout passes through printable() where it leads to a terminal; files and pipes get what is written.
class PrintableOutput {
 public:
  PrintableOutput();
  ~PrintableOutput();

 private:
  class Buffer;
  std::unique_ptr<Buffer> buffer_;
};

}  // namespace quasar::cli
