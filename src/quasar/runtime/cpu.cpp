// What the operating system says of the processor.
#include <fstream>
#include <sstream>
#include <string>

#include "quasar/runtime/session.hpp"

namespace quasar::runtime {
namespace {

// The value of the first line of /proc/cpuinfo with this key; "" when there is none.
std::string cpuinfo(const std::string& key) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    if (line.find_first_not_of(" \t", key.size()) != colon) continue;  // a longer key
    const size_t value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

}  // namespace

std::string cpu_name() {
  for (const char* key : {"model name", "Model", "Hardware"}) {
    if (std::string name = cpuinfo(key); !name.empty()) return name;
  }
  return "unknown processor";
}

bool cpu_has_vnni() {
#if defined(__x86_64__) || defined(__i386__)
  std::istringstream flags(cpuinfo("flags"));
  for (std::string flag; flags >> flag;) {
    if (flag == "avx512_vnni" || flag == "avx_vnni") return true;
  }
  return false;
#else
  return true;  // no instruction that saturates sums of 16-bit products
#endif
}

}  // namespace quasar::runtime
