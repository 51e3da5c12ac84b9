#include "quasar/base/secrets.hpp"

#include <algorithm>
#include <cctype>

#include "quasar/base/percent.hpp"

namespace quasar {
namespace {

constexpr const char* hidden = "***";
constexpr const char* ends_of_words = " \t\n\r'\"";

// Where the address that has "://" at `mark` may end at most: its line, or the next address.
size_t limit_of(const std::string& text, size_t mark) {
  return std::min({text.find('\n', mark), text.find("://", mark + 1), text.size()});
}

// Its scheme is the beginning of the text: a value, where quotes and spaces may belong to the secret.
bool begins_with_address(const std::string& text, size_t mark) {
  const auto is_scheme = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+'; };
  return std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(mark), is_scheme);
}

// "scheme://user:secret@…": the secret may hold '@', '/', quotes and spaces where somebody forgot to encode them. It ends at the
// last '@' of a value; in other text at the last one of the word, or the next one.
void hide_in_address(std::string& text) {
  for (size_t mark = text.find("://"); mark != std::string::npos; mark = text.find("://", mark + 1)) {
    const size_t begin = mark + 3, limit = limit_of(text, mark);
    const size_t colon = text.find(':', begin), first = text.find('@', begin);
    if (first >= limit || colon >= first) continue;
    const size_t word = begins_with_address(text, mark) ? limit : std::min(text.find_first_of(ends_of_words, begin), limit);
    const size_t last = text.substr(0, word).rfind('@');
    text.replace(colon + 1, (last == std::string::npos || last < first ? first : last) - colon - 1, hidden);
  }
}

// "…?password=secret", "dbname=x password=secret", the name percent-encoded or not
void hide_option(std::string& text) {
  const size_t mark = text.find("://");
  const bool value = mark != std::string::npos && begins_with_address(text, mark);
  for (size_t equals = text.find('='); equals != std::string::npos; equals = text.find('=', equals + 1)) {
    const auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '%' || c == '_'; };
    size_t name = equals;
    while (name > 0 && in_name(text[name - 1])) name--;
    const std::string option = decoded(text.substr(name, equals - name));
    if (!option.ends_with("password")) continue;
    const size_t begin = equals + 1, end = text.find_first_of(value ? "&\n" : std::string("&") + ends_of_words, begin);
    text.replace(begin, std::min(end, text.size()) - begin, hidden);
    text.replace(name, equals - name, option);
    equals = text.find('=', name);
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
