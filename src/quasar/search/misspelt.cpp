#include "quasar/search/misspelt.hpp"

#include <filesystem>
#include <regex>

#include "quasar/base/error.hpp"

namespace quasar::search {

namespace {

namespace fs = std::filesystem;

// Of a path from the root the first folder is looked at: what is below need not be there yet, and a password is not among the
// names of the root's folders.
bool is_there(const std::string& place) {
  std::error_code ignored;
  const fs::path path = place;
  const bool whole = path.is_absolute() && !place.starts_with("//") && path.has_relative_path();
  return fs::exists(path, ignored) || (whole && fs::is_directory(path.root_path() / *path.relative_path().begin(), ignored));
}

}  // namespace

void refuse_misspelt(const std::string& what, const std::string& place) {
  if (place.find("://") != std::string::npos) return;  // whoever opens it says what is wrong with it
  if (is_there(place)) return;
  static const std::regex scheme("^\\s*postgres[a-z0-9+]*(:|/.*@)|:[^/@]*@[^/]", std::regex::icase);
  static const std::regex words("^\\s*(host|hostaddr|port|dbname|user|password|passfile|service|sslmode)\\s*=|\\bpassword\\s*=",
                                std::regex::icase);
  const std::string beginning = place.substr(0, 1000);  // std::regex calls itself for every character
  const bool is_words = std::regex_search(beginning, words);
  if (!is_words && !std::regex_search(beginning, scheme)) return;
  const size_t end = place.find_first_of(is_words ? "=" : ":/");
  throw Error(
      what + " is '" + place.substr(0, end + 1) +
      "…', which is no address of a server; write postgresql://user@host:port/database, with the password in PGPASSWORD or "
      "~/.pgpass, or as user:password@ (characters such as @ : / in it as %40 %3A %2F); for a file of such a name write "
      "sqlite:///NAME");
}

}  // namespace quasar::search
