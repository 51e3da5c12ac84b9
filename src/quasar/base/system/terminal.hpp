// The terminal that a program may stand in, and its standard streams.
#pragma once

#include <cstddef>
#include <filesystem>

namespace quasar {

// Standard output and standard error: whether they lead to a terminal.
bool output_is_terminal();
bool errors_are_terminal();

// Columns of the terminal on standard error; 80 where it does not say.
size_t terminal_columns();

// Where standard input, output or error are closed, files that are opened later would take their numbers, and get what is
// printed. These numbers are taken now; what is printed to a closed standard output is an error.
void take_closed_descriptors();

// Whether the path leads to where standard output goes.
bool is_standard_output(const std::filesystem::path& path);

}  // namespace quasar
