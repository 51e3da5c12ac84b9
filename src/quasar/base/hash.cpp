#include "quasar/base/hash.hpp"

#include <xxhash.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"

namespace quasar {
namespace {

std::string digits_of(const XXH128_hash_t& hash) {
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(hash.high64),
                static_cast<unsigned long long>(hash.low64));
  return text.data();
}

}  // namespace

std::string hash_of(std::string_view bytes) {
  return digits_of(XXH3_128bits(bytes.data(), bytes.size()));
}

std::string hash_of(std::span<const std::byte> bytes) {
  return hash_of(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

std::string hash_of_file(const std::filesystem::path& path) {
  // What a shell hands over, or an error that says what it is.
  if (!std::filesystem::is_regular_file(path)) return hash_of(std::string_view(read_file(path)));
  std::ifstream in(path, std::ios::binary);
  if (!in) return hash_of(std::string_view(read_file(path)));
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(), XXH3_freeState);
  XXH3_128bits_reset(state.get());
  std::vector<char> piece(1 << 20);
  errno = 0;
  while (in) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    XXH3_128bits_update(state.get(), piece.data(), static_cast<size_t>(in.gcount()));
  }
  if (in.bad()) throw Error("cannot read '" + path.string() + "': " + std::strerror(errno != 0 ? errno : EIO), Blame::world);
  return digits_of(XXH3_128bits_digest(state.get()));
}

uint64_t seed_of(uint64_t seed, uint64_t number) {
  const std::array<uint64_t, 2> pair{seed, number};
  return XXH3_64bits(pair.data(), sizeof(pair));
}

}  // namespace quasar
