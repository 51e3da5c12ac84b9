// The files and folders that a data source is read from, without opening it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"

namespace quasar::data {

// Of a description as open() takes it: the samples (a file or a folder), labels, class names, and the description itself where it
// stands in a file; of samples that a program brings, the files that they come from. What makes no sense has no places; open()
// says what is wrong with it.
std::vector<std::filesystem::path> places_of(const Json& description, const std::filesystem::path& base = {});

// Whether readers of folders may take it for a sample, by its name.
bool is_named_as_a_sample(const std::filesystem::path& file);

// A source as if it lay elsewhere: with the files of `files` (name -> where it is here) in a folder, open() reads the same
// samples by `words` from there. Names are relative, with '/'.
struct MovedSource {
  Json words;
  std::map<std::string, std::filesystem::path> files;
};

// Of a description as open() takes it, below the folder `below` ("samples"). nullopt: its samples come from a program. Throws
// Error for a description that makes no sense, and a folder that cannot be read.
std::optional<MovedSource> moved_source(const Json& description, const std::filesystem::path& base, const std::string& below);

}  // namespace quasar::data
