// 128-bit content hashes (XXH3), for caching and for telling duplicates; not for security.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace quasar {

// 32 lower-case hexadecimal digits.
std::string hash_of(std::string_view bytes);
std::string hash_of(std::span<const std::byte> bytes);

// hash_of() of a file's bytes, which are read piece by piece. Throws Error as read_file() does.
std::string hash_of_file(const std::filesystem::path& path);

// A seed derived from another and a number: a trial's seed is seed_of(study seed, trial number).
uint64_t seed_of(uint64_t seed, uint64_t number);

}  // namespace quasar
