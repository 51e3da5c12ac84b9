#include "quasar/base/hash.hpp"

#include <xxhash.h>

#include <array>
#include <cstdio>

namespace quasar {

std::string hash_of(std::string_view bytes) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(h.high64),
                static_cast<unsigned long long>(h.low64));
  return text.data();
}

std::string hash_of(std::span<const std::byte> bytes) {
  return hash_of(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

uint64_t seed_of(uint64_t seed, uint64_t number) {
  const std::array<uint64_t, 2> pair{seed, number};
  return XXH3_64bits(pair.data(), sizeof(pair));
}

}  // namespace quasar
