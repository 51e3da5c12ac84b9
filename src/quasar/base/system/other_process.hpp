// Processes of this machine that are not ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace quasar {

// The command line of a process, its words apart by spaces; nullopt: there is none of this number, or the system does not say.
std::optional<std::string> command_of_process(int64_t number);

}  // namespace quasar
