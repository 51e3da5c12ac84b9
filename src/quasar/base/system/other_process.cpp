#include "quasar/base/system/other_process.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace quasar {

std::optional<std::string> command_of_process(int64_t number) {
  std::ifstream file("/proc/" + std::to_string(number) + "/cmdline", std::ios::binary);  // Linux has it
  std::string words{std::istreambuf_iterator<char>(file), {}};
  std::ranges::replace(words, '\0', ' ');
  while (words.ends_with(' ')) words.pop_back();
  return words.empty() ? std::nullopt : std::optional(words);
}

}  // namespace quasar
