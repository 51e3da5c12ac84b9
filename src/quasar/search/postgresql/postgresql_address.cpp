#include "quasar/search/postgresql/postgresql_address.hpp"

#include <libpq-fe.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include "quasar/base/error.hpp"
#include "quasar/base/percent.hpp"
#include "quasar/base/process.hpp"
#include "quasar/base/secrets.hpp"

namespace quasar::search {
namespace {

// libpq ends a password at the first '@' or '/', and takes the rest of it for a host, a port or a database, which messages show.
// Whether an '@' behind that is the password's or the database's, nobody can tell.
bool is_ambiguous(const std::string& url) {
  const size_t begin = url.find("://") + 3;
  const size_t slash = std::min(url.find('/', begin), url.size()), query = std::min(url.find('?', slash), url.size());
  const std::string login = url.substr(begin, slash - begin), rest = url.substr(slash, query - slash);
  const size_t at = login.find('@');
  const bool has_password = login.find(':') < at;  // or a port, where there is no user
  return std::ranges::count(login, '@') > 1 || (has_password && rest.find('@') != std::string::npos);
}

std::map<std::string, std::string> parsed(const std::string& url) {
  char* why = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(PQconninfoParse(url.c_str(), &why), &PQconninfoFree);
  const std::unique_ptr<char, decltype(&PQfreemem)> message(why, &PQfreemem);
  if (!options || is_ambiguous(url)) {
    // libpq's message may quote what it did not understand, the password too.
    throw Error("the study storage '" + without_password(url) +
                (options
                     ? "' can be read in two ways: an @ behind the first one belongs to the password or to the database's name"
                     : "' is no address that PostgreSQL understands") +
                "; write postgresql://user@host:port/database, with characters such as @ : / in a password or a database's name "
                "as %40 %3A %2F");
  }
  std::map<std::string, std::string> out;
  for (const auto* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr) out[option->keyword] = option->val;
  }
  return out;
}

std::string where_needed(const std::string& text) {
  static const std::string plain = "-._~";
  std::string out;
  for (const char c : text) out += plain.find(c) == std::string::npos ? encoded(std::string(1, c)) : std::string(1, c);
  return out;
}

// What the user wrote, but for the password.
std::string without_the_password(const std::map<std::string, std::string>& options) {
  static const std::set<std::string> before_options{"host", "port", "user", "password", "dbname"};
  const auto part = [&](const char* key) { return options.contains(key) ? options.at(key) : std::string(); };
  const std::string host = part("host"), port = part("port"), user = part("user");
  std::string out = "postgresql://" + (user.empty() ? "" : where_needed(user) + "@") +
                    (host.find(':') == std::string::npos ? where_needed(host) : "[" + host + "]") +
                    (port.empty() ? "" : ":" + port) + "/" + where_needed(part("dbname"));
  char sign = '?';
  for (const auto& [key, value] : options) {
    if (before_options.contains(key)) continue;
    out += sign + key + "=" + where_needed(value);
    sign = '&';
  }
  return out;
}

}  // namespace

PostgresqlAddress postgresql_address(const std::string& given) {
  const size_t scheme = given.find("://");
  const std::string url = scheme == std::string::npos ? given : "postgresql" + given.substr(scheme);
  auto options = parsed(url);
  // libpq would take the user's name for it. PGDATABASE and services may name one.
  if (!options.contains("dbname") && !options.contains("service") && std::getenv("PGDATABASE") == nullptr &&
      std::getenv("PGSERVICE") == nullptr)
    throw Error("the study storage '" + without_password(url) +
                "' names no database; write postgresql://user@host:port/database (`quasar serve` prints a whole address)");
  PostgresqlAddress out;
  const auto part = [&](const char* key) { return options.contains(key) ? options.at(key) : std::string(); };
  out.shown = "postgresql://" + part("host") + (part("port").empty() ? "" : ":" + part("port")) + "/" + part("dbname");
  out.for_others = without_the_password(options);
  options["application_name"] = process_name();
  // A host that is gone is noticed within a minute, on both sides, instead of within hours.
  for (const auto& [key, value] : std::map<std::string, std::string>{{"connect_timeout", "10"},
                                                                     {"keepalives_idle", "20"},
                                                                     {"keepalives_interval", "5"},
                                                                     {"keepalives_count", "4"},
                                                                     {"tcp_user_timeout", "40000"}}) {
    options.emplace(key, value);
  }
  // Encoded: SOCI takes what it connects to apart at white space, and puts it together with single spaces, whatever is quoted.
  for (const auto& [key, value] : options)
    out.connection += (out.connection.empty() ? "postgresql://?" : "&") + key + "=" + encoded(value);
  return out;
}

}  // namespace quasar::search
