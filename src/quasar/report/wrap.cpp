#include "quasar/report/wrap.hpp"

#include <algorithm>

namespace quasar::report {

size_t columns_of(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string wrapped(const std::string& text, size_t columns, const std::string& first, const std::string& later) {
  std::string out, line = first;
  bool empty = true;  // nothing but its beginning stands in the line
  const auto end_line = [&] {
    out += line + "\n";
    line = later;
    empty = true;
  };
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", start), text.size());
    const std::string word = text.substr(start, end - start);
    if (!empty && columns_of(line) + 1 + columns_of(word) > columns) end_line();
    line += (empty ? "" : " ") + word;
    empty = false;
    if (end < text.size() && text[end] == '\n') end_line();
    start = end + 1;
  }
  return out + line;
}

}  // namespace quasar::report
