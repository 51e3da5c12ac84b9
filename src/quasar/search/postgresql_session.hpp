// Connections to a PostgreSQL server: made, found broken, made again.
#pragma once

#include <soci/soci.h>

#include "quasar/search/postgresql_address.hpp"

namespace quasar::search {

// Opens a connection that writes times as Optuna does; whoever falls asleep in a transaction on it loses the transaction.
void connect(soci::session& sql, const PostgresqlAddress& address);

// The connection is gone, as opposed to a statement that failed.
bool is_broken(soci::session& sql);

// Makes it anew, waiting up to `patience` seconds for a server that is gone. Throws Error that begins with `why`, and Cancelled.
void reconnect(soci::session& sql, const PostgresqlAddress& address, double patience, const std::string& why);

// An error's words on one line, without passwords.
std::string plain(const soci::soci_error& error);

// Throws Error for a connection that was refused, with what mends it.
[[noreturn]] void refuse(const soci::soci_error& error, const PostgresqlAddress& address);

}  // namespace quasar::search
