// What this machine has: cores, and memory, with which sizes that come from files are compared before any is taken; and what
// becomes of memory that was freed: glibc keeps it for later, or gives it back to the system.
#pragma once

#include <cstddef>
#include <string>

namespace quasar {

// Cores that this process may use: its part of them where mpirun or srun has started several on this machine.
size_t cores();

// Physical memory, in bytes.
size_t machine_memory();

// Throws Error that begins with `what` ("input 'x' of shape [1,1000000000000]") when there are fewer bytes.
void check_memory(size_t bytes, const std::string& what);

// For programs, which own their process; the library leaves its host's settings alone. Values of layers are allocated and freed
// thousands of times: memory that glibc would give back to the system every time, to be cleared again by it (a tenth of a
// search's time), is kept up to 256 MB.
void keep_freed_memory();

// Gives back what is kept: after work on weights, of which nothing like it will be wanted again.
void give_back_memory();

// As long as it lives, blocks of a megabyte and more go back to the system as soon as they are freed, in a process that else
// keeps them.
class KeepsNoLargeBlocks {
 public:
  KeepsNoLargeBlocks();
  ~KeepsNoLargeBlocks();
  KeepsNoLargeBlocks(const KeepsNoLargeBlocks&) = delete;
  KeepsNoLargeBlocks& operator=(const KeepsNoLargeBlocks&) = delete;
};

}  // namespace quasar
