#include "quasar/base/system/terminal.hpp"

#ifdef _WIN32
#include <io.h>
#else
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

#include "quasar/base/system/windows.hpp"

namespace quasar {
namespace {

constexpr size_t usual_columns = 80;

}  // namespace

#ifdef _WIN32
bool output_is_terminal() {
  return ::_isatty(1) != 0;
}

bool errors_are_terminal() {
  return ::_isatty(2) != 0;
}

size_t terminal_columns() {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  const bool told = ::GetConsoleScreenBufferInfo(::GetStdHandle(STD_ERROR_HANDLE), &info) != 0;
  const int columns = info.srWindow.Right - info.srWindow.Left + 1;
  return told && columns > 0 ? static_cast<size_t>(columns) : usual_columns;
}

// Windows gives every program all three.
void take_closed_descriptors() {}

OpenFile take_standard_output() {
  OpenFile out = OpenFile::same_as(1);
  ::_dup2(2, 1);
  return out;
}

bool is_standard_output(const std::filesystem::path& path) {
  return path == "/dev/stdout";  // which special_files.cpp understands
}
#else
bool output_is_terminal() {
  return ::isatty(STDOUT_FILENO) != 0;
}

bool errors_are_terminal() {
  return ::isatty(STDERR_FILENO) != 0;
}

size_t terminal_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual_columns;
}

void take_closed_descriptors() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    static_cast<void>(::open("/dev/null", number == STDERR_FILENO ? O_WRONLY : O_RDONLY));  // the lowest free number is this one
  }
}

OpenFile take_standard_output() {
  OpenFile out = OpenFile::same_as(STDOUT_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return out;
}

bool is_standard_output(const std::filesystem::path& path) {
  struct stat there {
  }, here{};
  return ::stat(path.c_str(), &there) == 0 && ::fstat(STDOUT_FILENO, &here) == 0 && there.st_dev == here.st_dev &&
         there.st_ino == here.st_ino;
}
#endif

}  // namespace quasar
