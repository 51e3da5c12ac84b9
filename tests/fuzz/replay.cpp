// Runs a fuzz target on files instead of on bytes that a fuzzer makes.   usage: replay FILE|FOLDER...
//
// Each must end within seconds of processor time and without much memory; the name of one that does not is the last that was
// said.
#include <sys/time.h>

#include <algorithm>
#include <vector>

#include "fuzz/target.hpp"
#include "quasar/base/memory_cap.hpp"

namespace quasar::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr time_t most_seconds = 20;  // of one input
constexpr size_t most_bytes = size_t{2} << 30;

std::vector<fs::path> files_in(const fs::path& place) {
  if (!fs::is_directory(place)) return {place};
  std::vector<fs::path> out;
  for (const auto& entry : fs::recursive_directory_iterator(place)) {
    if (entry.is_regular_file()) out.push_back(entry.path());
  }
  std::ranges::sort(out);
  return out;
}

// The process ends when it has worked for so long; 0: whenever.
void limit_processor_time(time_t seconds) {
  const itimerval limit{.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
  ::setitimer(ITIMER_PROF, &limit, nullptr);
}

int run(const std::vector<std::string>& places) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const MemoryCap cap(most_bytes);
#endif
  size_t count = 0;
  for (const auto& place : places) {
    for (const auto& path : files_in(place)) {
      const std::string bytes = read_file(path);
      std::fprintf(stderr, "%s\n", path.c_str());
      limit_processor_time(most_seconds);
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      limit_processor_time(0);
      ++count;
    }
  }
  std::printf("%zu inputs\n", count);
  return count > 0 ? 0 : 1;
}

}  // namespace
}  // namespace quasar::fuzz

int main(int argc, char** argv) {
  return quasar::fuzz::run({argv + 1, argv + argc});
}
