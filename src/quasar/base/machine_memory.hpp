// What this machine can hold at all: sizes that come from files are compared with it before memory is taken.
#pragma once

#include <cstddef>
#include <string>

namespace quasar {

// Physical memory, in bytes.
size_t machine_memory();

// Throws Error that begins with `what` ("input 'x' of shape [1,1000000000000]") when there are fewer bytes.
void check_memory(size_t bytes, const std::string& what);

}  // namespace quasar
