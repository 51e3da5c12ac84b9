#include "quasar/job/evaluator_files.hpp"

#include <vector>

namespace quasar::tune {
namespace fs = std::filesystem;
namespace {

// Whether a shell would write what begins here.
bool is_written(const std::string& text, size_t start) {
  const size_t before = start == 0 ? std::string::npos : text.find_last_not_of(" \t", start - 1);
  return before != std::string::npos && text[before] == '>';
}

// The text itself, and what a shell would take for words of it.
std::vector<std::string> names_in(const std::string& text) {
  constexpr const char* between = " \t\n'\"`|&;<>()=$";
  std::vector<std::string> out{text, text.substr(0, text.rfind(':'))};
  for (size_t start = text.find_first_not_of(between); start != std::string::npos;) {
    const size_t end = std::min(text.find_first_of(between, start), text.size());
    if (!is_written(text, start)) out.push_back(text.substr(start, end - start));
    start = text.find_first_not_of(between, end);
  }
  return out;
}

}  // namespace

std::map<std::string, fs::path> evaluator_files(const Json& words, const fs::path& base) {
  std::map<std::string, fs::path> out;
  if (words.is_structured()) {
    for (const Json& part : words) out.merge(evaluator_files(part, base));
  }
  if (!words.is_string()) return out;
  for (const std::string& name : names_in(words.get<std::string>())) {
    std::error_code ignored;
    if (!name.empty() && fs::is_regular_file(base / name, ignored)) out.emplace(name, base / name);
  }
  return out;
}

}  // namespace quasar::tune
