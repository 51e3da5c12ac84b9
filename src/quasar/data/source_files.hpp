// The files and folders that a data source is read from, without opening it.
#pragma once

#include <filesystem>
#include <vector>

#include "quasar/base/json.hpp"

namespace quasar::data {

// Of a description as open() takes it: the samples (a file or a folder), labels, class names, and the description itself where it
// stands in a file; of samples that a program brings, the files that they come from. What makes no sense has no places; open()
// says what is wrong with it.
std::vector<std::filesystem::path> places_of(const Json& description, const std::filesystem::path& base = {});

// Whether readers of folders may take it for a sample, by its name.
bool is_named_as_a_sample(const std::filesystem::path& file);

}  // namespace quasar::data
