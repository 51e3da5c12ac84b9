// A data source's description in full.
#pragma once

#include <filesystem>

#include "quasar/base/json.hpp"

namespace quasar::data {

// The reader's words, and the folder that relative paths start from.
struct Described {
  Json words;
  std::filesystem::path base;
};

// Of a description as open() takes it: a text stands for a path, or for a file with the words. Throws Error for what is none.
Described described(const Json& description, const std::filesystem::path& base);

// Whether samples are said to have classes: by the option `labels`, or by the program that brings them. False for what is no
// description.
bool has_classes(const Json& description, const std::filesystem::path& base);

}  // namespace quasar::data
