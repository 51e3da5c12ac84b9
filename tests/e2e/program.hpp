// Runs the program as a user does.
#pragma once

#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "quasar/base/file.hpp"
#include "quasar/base/json.hpp"

namespace quasar::e2e {

// How many times as long as usual this build may take: limits in seconds are multiplied by it.
inline constexpr int patience = QUASAR_PATIENCE;

// The program under test; the variable QUASAR_PROGRAM names another one, such as one that an emulator runs.
inline std::string program() {
  const char* other = std::getenv("QUASAR_PROGRAM");
  return other != nullptr ? other : QUASAR_PROGRAM;
}

// In a process that is about to become the program: in the background of a script Ctrl-C is ignored, and stays so for all that is
// started there.
inline void hear_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) signal(number, SIG_DFL);
}

struct Ran {
  int code = -1;
  std::string out, err;
};

// `arguments` as typed in a shell, after `environment` ("NAME=value").
inline Ran run(const std::string& arguments, const std::string& environment = "") {
  const TemporaryFolder folder;
  const auto out = folder.path() / "out", err = folder.path() / "err";
  const std::string command =
      environment + " " + program() + " " + arguments + " > " + out.string() + " 2> " + err.string() + " < /dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(err)};
}

inline std::string digits(const std::string& file) {
  return std::string(QUASAR_SOURCE_DIR "/examples/digits/") + file;
}

inline Json read_json(const std::filesystem::path& file) {
  return parse_json(read_file(file), file.string());
}

// A text with one part replaced.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return text.replace(place, from.size(), to);
}

}  // namespace quasar::e2e
