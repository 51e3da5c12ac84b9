// The processor that this program runs on.
#pragma once

#include <string>

namespace quasar {

// As the system calls it, or it calls itself: "AMD EPYC 7763 64-Core Processor"; "unknown processor" where neither says.
std::string processor_name();

// Whether it adds products of 8-bit codes without saturation: by instructions of VNNI, or since it is none of x86.
bool processor_has_vnni();

// Whether it is a 64-bit Arm.
bool processor_is_arm64();

}  // namespace quasar
