// Sentences in lines, for terminals.
#pragma once

#include <cstddef>
#include <string>

namespace quasar::report {

// What the text takes on a terminal, not its bytes: "…" has three of them and takes one column.
size_t columns_of(const std::string& text);

// The text in lines of at most so many columns where its words allow that, without an end of line behind the last one. `first`
// begins the first line, `later` all others. Line breaks of the text stay.
std::string wrapped(const std::string& text, size_t columns, const std::string& first = "", const std::string& later = "");

}  // namespace quasar::report
