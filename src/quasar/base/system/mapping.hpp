// Files as memory.
#pragma once

#include <cstddef>
#include <span>

#include "quasar/base/system/open_file.hpp"

namespace quasar {

// The first bytes of a file, to be read; valid as long as the value, which needs the open file no more once it is made.
class Mapping {
 public:
  Mapping() = default;
  // is_there() is false, and errno says why, where the system does not do it. Of no bytes there is none.
  Mapping(const OpenFile& file, size_t size);
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;

  bool is_there() const { return bytes_ != nullptr; }
  std::span<const std::byte> bytes() const { return {bytes_, size_}; }

 private:
  const std::byte* bytes_ = nullptr;
  size_t size_ = 0;
};

// Says that the bytes are not needed for now: where they are mapped from a file, they leave the process' memory and come back
// when they are next read. A megabyte at least; systems without such a wish (Linux has it) keep them.
void page_out(std::span<const std::byte> bytes);

}  // namespace quasar
