#include "quasar/search/point_hash.hpp"

#include <functional>

#include "quasar/base/hash.hpp"

namespace quasar::search {
namespace {

uint64_t hash_of_value(const Json& value) {
  if (value.is_number()) return std::hash<double>()(value.get<double>());
  if (value.is_string()) return std::hash<std::string_view>()(value.get_ref<const std::string&>());
  if (!value.is_structured()) return std::hash<std::string>()(value.dump());
  uint64_t hash = value.size();
  for (const auto& [key, inner] : value.items()) {
    if (value.is_object()) hash = seed_of(hash, std::hash<std::string_view>()(key));
    hash = seed_of(hash, hash_of_value(inner));
  }
  return hash;
}

}  // namespace

uint64_t point_hash(const Point& point) {
  uint64_t hash = point.values().size();
  for (const auto& [name, value] : point.values())
    hash = seed_of(seed_of(hash, std::hash<std::string_view>()(name)), hash_of_value(value));
  return hash;
}

}  // namespace quasar::search
