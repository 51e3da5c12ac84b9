// What every fuzz target needs. A target is one file of targets/, which defines LLVMFuzzerTestOneInput; libFuzzer calls it with
// bytes of its own making (`make fuzz`), replay.cpp with those of files (ctest fuzz.*).
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace quasar::fuzz {

// What must hold, in every build: ends the process, which is a finding.
inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// The bytes that the target was given last.
inline std::string& input() {
  static std::string bytes;
  return bytes;
}

inline const std::string& text_of(const uint8_t* data, size_t size) {
  return input() = std::string(reinterpret_cast<const char*>(data), size);
}

// The message of the Error by which the work refuses its input; "": it does not. Whatever else is thrown is a finding.
template <class Work>
std::string refusal(const Work& work) {
  try {
    work();
    return "";
  } catch (const Error& error) {
    const std::string message = error.what();
    expect(!message.empty(), "a refusal says why");
    const auto technical = [](const std::string& text) { return text.find("json.exception") != std::string::npos; };
    expect(!technical(message) || technical(input()), "a refusal is in words for people");
    return message;
  }
}

// A folder for files, of this process, removed at its end. In memory where that can be had: it is written to very often.
inline const std::filesystem::path& scratch() {
  static const TemporaryFolder folder(::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path());
  return folder.path();
}

// A file in it, without the ceremony of write_file(): nobody else looks.
inline std::filesystem::path file(const std::string& name, std::string_view bytes) {
  const std::filesystem::path path = scratch() / name;
  std::FILE* const out = std::fopen(path.c_str(), "wb");
  expect(out != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size(),
         "the scratch folder can be written to");
  std::fclose(out);
  return path;
}

}  // namespace quasar::fuzz
