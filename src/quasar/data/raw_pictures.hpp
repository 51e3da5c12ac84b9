// Pictures of which nobody has said what values the model takes.
#pragma once

#include <filesystem>
#include <optional>

#include "quasar/base/json.hpp"

namespace quasar::data {

// Such a source in full: the words of its reader, and the folder that relative paths start from.
struct RawPictures {
  Json words;
  std::filesystem::path base;
};

// nullopt: something else than pictures, or mean, scale, std or as_is is given. Throws Error as open() for what cannot be read.
std::optional<RawPictures> raw_pictures(const Json& description, const std::filesystem::path& base);

}  // namespace quasar::data
