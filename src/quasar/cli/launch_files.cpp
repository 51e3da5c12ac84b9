#include "quasar/cli/launch_files.hpp"

namespace quasar::cli {

std::string filled(const std::string& text, const std::map<std::string, std::string>& values) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t open = text.find("{{", at), close = text.find("}}", open);
    if (open == std::string::npos || close == std::string::npos) return out + text.substr(at);
    out += text.substr(at, open - at) + values.at(text.substr(open + 2, close - open - 2));
    at = close + 2;
  }
  return out;
}

std::string devices_option(int64_t gpus) {
  if (gpus == 0) return "";
  std::string out = " --set search_devices=cuda:0";
  for (int64_t i = 1; i < gpus; ++i) out += "," + std::to_string(i);
  return out;
}

std::string code_option(const LaunchOptions& options) {
  return options.has_code ? " --allow-code" : "";
}

std::string as_word(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace quasar::cli
