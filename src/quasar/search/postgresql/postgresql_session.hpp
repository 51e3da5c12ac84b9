// Connections to a PostgreSQL server: made, found broken, made again.
#pragma once

#include <soci/soci.h>

#include "quasar/base/log.hpp"
#include "quasar/search/postgresql/postgresql_address.hpp"

namespace quasar::search {

// Opens a connection that writes times as Optuna does; whoever falls asleep in a transaction on it loses the transaction.
void connect(soci::session& sql, const PostgresqlAddress& address);

// The connection is gone, as opposed to a statement that failed.
bool is_broken(soci::session& sql);

// The server gave the work up though nothing is wrong with it: others were in its way (a deadlock, a conflict), or somebody
// cancelled it. Done again, it succeeds.
bool was_given_up(const soci::soci_error& error);

struct Outage {
  double patience;  // seconds to wait for the server
  std::string why;  // the connection was lost
  Log log;          // hears that it is waited for, and that it is back
};

// Makes it anew, waiting for a server that is gone. Throws Error, at once where waiting does not help (the database is gone, the
// user is refused), and Cancelled; both say why.
void reconnect(soci::session& sql, const PostgresqlAddress& address, const Outage& outage);

// An error's words on one line, without passwords.
std::string plain(const soci::soci_error& error);

// Throws Error for a database whose encoding cannot hold the names of every layer.
void refuse_encoding(soci::session& sql, const PostgresqlAddress& address);

// What mends an error of these words: "; create it first …"; "": nothing that is known.
std::string hint_of(const std::string& why);

// Throws Error for a statement that failed on a connection that stands: what is damaged, or whom the server refuses what, and
// what mends it. `where` begins the message.
[[noreturn]] void refuse_statement(const soci::soci_error& error, soci::session& sql, const std::string& where);

// Throws Error for a connection that was refused, or whose first words failed, with what mends it.
[[noreturn]] void refuse(const soci::soci_error& error, const PostgresqlAddress& address, soci::session& sql);

}  // namespace quasar::search
