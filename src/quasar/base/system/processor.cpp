#include "quasar/base/system/processor.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#ifdef __APPLE__
#include <sys/sysctl.h>
#endif

namespace quasar {
namespace {

// The value of the first line of Linux's /proc/cpuinfo with this key; "" when there is none.
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

#if defined(__x86_64__) || defined(__i386__)
struct Registers {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// What the processor says of itself, which under an emulator is another one than /proc/cpuinfo's; zeros where it does not know
// the leaf.
Registers cpuid(uint32_t leaf, uint32_t part) {
  Registers out;
  if (__get_cpuid_count(leaf, part, &out.eax, &out.ebx, &out.ecx, &out.edx) == 0) return {};
  return out;
}

// The lower half of XCR0: which registers the operating system saves. No others can be used.
uint32_t saved_registers() {
  if ((cpuid(1, 0).ecx >> 27 & 1U) == 0) return 0;  // OSXSAVE: XCR0 cannot be read
  uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

std::string own_name() {
  std::array<Registers, 3> words;
  for (uint32_t part = 0; part < words.size(); ++part) words[part] = cpuid(0x80000002U + part, 0);
  std::array<char, sizeof(words) + 1> text{};
  std::memcpy(text.data(), words.data(), sizeof(words));
  return text.data();
}
#elif defined(__APPLE__)
std::string own_name() {
  std::array<char, 128> text{};
  size_t size = text.size() - 1;
  return ::sysctlbyname("machdep.cpu.brand_string", text.data(), &size, nullptr, 0) == 0 ? text.data() : "";
}
#else
std::string own_name() {
  return "";
}
#endif

}  // namespace

std::string processor_name() {
  for (const char* key : {"model name", "Model", "Hardware"}) {
    if (std::string name = cpuinfo(key); !name.empty()) return name;
  }
  const std::string own = own_name();
  return own.empty() ? "unknown processor" : own;
}

bool processor_is_arm64() {
#if defined(__aarch64__) || defined(_M_ARM64)
  return true;
#else
  return false;
#endif
}

bool processor_has_vnni() {
#if defined(__x86_64__) || defined(__i386__)
  constexpr uint32_t vectors_of_256_bits = 0b110, vectors_of_512_bits = 0b11100110;  // of XCR0: the registers that they use
  const uint32_t saved = saved_registers();
  if ((saved & vectors_of_512_bits) == vectors_of_512_bits && (cpuid(7, 0).ecx >> 11 & 1U) != 0) return true;  // AVX512_VNNI
  return (saved & vectors_of_256_bits) == vectors_of_256_bits && (cpuid(7, 1).eax >> 4 & 1U) != 0;             // AVX-VNNI
#else
  return true;  // no instruction that saturates sums of 16-bit products
#endif
}

}  // namespace quasar
