#include "quasar/base/secrets.hpp"

namespace quasar {
namespace {

constexpr const char* hidden = "***";
constexpr const char* ends_of_words = " \t\n\r'\"";

// "scheme://user:secret@…": the secret may hold '@' and '/' where somebody forgot to encode them, so that it ends at the last '@'
// of the word.
void hide_in_address(std::string& text) {
  for (size_t start = text.find("://"); start != std::string::npos; start = text.find("://", start + 1)) {
    const size_t begin = start + 3, end = std::min(text.find_first_of(ends_of_words, begin), text.size());
    const size_t colon = text.find(':', begin), at = text.substr(0, end).rfind('@');
    if (at == std::string::npos || at < begin || colon > at) continue;
    text.replace(colon + 1, at - colon - 1, hidden);
  }
}

// "…?password=secret", "dbname=x password=secret"
void hide_option(std::string& text) {
  const std::string option = "password=";
  for (size_t at = text.find(option); at != std::string::npos; at = text.find(option, at + 1)) {
    const size_t begin = at + option.size(), end = text.find_first_of(std::string("&") + ends_of_words, begin);
    text.replace(begin, std::min(end, text.size()) - begin, hidden);
  }
}

}  // namespace

std::string without_password(const std::string& text) {
  std::string out = text;
  hide_in_address(out);
  hide_option(out);
  return out;
}

std::string without_login(const std::string& address) {
  std::string out = without_password(address);
  for (const std::string mark : {":***@", "password=***"}) {
    const size_t at = out.find(mark);
    if (at != std::string::npos) out.replace(at, mark.size(), mark.ends_with('@') ? "@" : "");
  }
  return out;
}

Json without_secrets(const Json& words) {
  if (words.is_string()) {
    const auto& text = words.get_ref<const std::string&>();
    return text.find("://") == std::string::npos ? words : Json(without_password(text));
  }
  if (!words.is_structured()) return words;
  Json out = words;
  for (auto& [key, value] : out.items()) {
    const bool secret = words.is_object() && (key.ends_with("token") || key.ends_with("password"));
    value = secret ? Json(hidden) : without_secrets(value);
  }
  return out;
}

}  // namespace quasar
