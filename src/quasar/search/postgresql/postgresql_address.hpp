// Where a PostgreSQL server is, as users write it, and as libpq and messages need it.
#pragma once

#include <string>

namespace quasar::search {

struct PostgresqlAddress {
  std::string connection;  // for libpq: "postgresql://?key=value&…", with what makes dead connections known within a minute
  std::string shown;       // "postgresql://host:port/database", without user and password
  std::string for_others;  // the same with user and options, for other programs that know the password from elsewhere
};

// From "postgresql://user:password@host:port/database?option=value", whose scheme may name a driver, as "postgresql+psycopg2".
// What is left out comes from libpq's own places: PGHOST, PGPASSWORD, ~/.pgpass, a service file. Throws Error that does not
// repeat the password.
PostgresqlAddress postgresql_address(const std::string& url);

}  // namespace quasar::search
