// Outputs that are no files: devices, pipes, and what a shell has opened as /dev/stdout. They are written into, never replaced.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace quasar {

// Whether what stands there, or what a link there leads to, takes bytes without becoming a file: a character device, a pipe, an
// open file under its name in /dev or /proc.
bool is_special_file(const std::filesystem::path& path);

// The words for what can be neither replaced nor written into, a folder, a block device or a socket, wherever links lead: "it is
// a folder". "": anything else, which there need not be.
const char* unfit_for_output(const std::filesystem::path& path);

// Whether an output can be written there, before the work that it is for. Throws Error that begins with `what` ("-o").
void check_writable(const std::string& what, const std::filesystem::path& path);

// An output that the user named: into an outlet, else as write_file(). Throws Error that names the path.
void write_output(const std::filesystem::path& path, std::string_view bytes);

}  // namespace quasar
