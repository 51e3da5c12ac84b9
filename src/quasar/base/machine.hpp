// What this machine has: cores, and memory, with which sizes that come from files are compared before any is taken.
#pragma once

#include <cstddef>
#include <string>

namespace quasar {

// Cores that this process may use.
size_t cores();

// Physical memory, in bytes.
size_t machine_memory();

// Throws Error that begins with `what` ("input 'x' of shape [1,1000000000000]") when there are fewer bytes.
void check_memory(size_t bytes, const std::string& what);

}  // namespace quasar
