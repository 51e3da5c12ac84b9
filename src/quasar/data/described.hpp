// A data source's description in full.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/graph/model.hpp"

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

// Reader::whole_arrays() of such samples; empty for what is no description.
std::vector<std::string> whole_arrays(const Json& description);

// What a user should know of samples that a program brings: each array that feeds nothing, in a sentence. A misspelt name of
// labels would be an evaluation without labels.
std::vector<std::string> news_of_arrays(const Json& description, const std::vector<graph::Value>& inputs);

}  // namespace quasar::data
