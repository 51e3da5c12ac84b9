// The terminal that a program may stand in, and its standard streams.
#pragma once

#include <cstddef>
#include <filesystem>

#include "quasar/base/system/open_file.hpp"

namespace quasar {

// Standard output and standard error: whether they lead to a terminal.
bool output_is_terminal();
bool errors_are_terminal();

// Columns of the terminal on standard error; 80 where it does not say.
size_t terminal_columns();

// Where standard input, output or error are closed, files that are opened later would take their numbers, and get what is
// printed. These numbers are taken now; what is printed to a closed standard output is an error.
void take_closed_descriptors();

// Where standard output leads, for this process's answers alone: what is printed from now on goes to standard error. Only for a
// process that another one started to talk to it.
OpenFile take_standard_output();

// Whether the path leads to where standard output goes.
bool is_standard_output(const std::filesystem::path& path);

}  // namespace quasar
