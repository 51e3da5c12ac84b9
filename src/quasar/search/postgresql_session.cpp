#include "quasar/search/postgresql_session.hpp"

#include <soci/postgresql/soci-postgresql.h>

#include <chrono>
#include <thread>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/json.hpp"
#include "quasar/base/secrets.hpp"

namespace quasar::search {

bool is_broken(soci::session& sql) {
  const auto* backend = static_cast<soci::postgresql_session_backend*>(sql.get_backend());
  return backend == nullptr || backend->conn_ == nullptr || PQstatus(backend->conn_) != CONNECTION_OK;
}

std::string plain(const soci::soci_error& error) {
  std::string why = without_password(error.what());
  while (!why.empty() && (why.back() == '\n' || why.back() == ' ')) why.pop_back();
  for (char& c : why) c = c == '\n' ? ' ' : c;
  return why;
}

void connect(soci::session& sql, const PostgresqlAddress& address) {
  sql.open(soci::postgresql, address.connection);
  sql << "SET datestyle = 'ISO, YMD'";
  sql << "SET client_encoding = 'UTF8'";
  sql << "SET client_min_messages = 'error'";
  sql << "SET idle_in_transaction_session_timeout = '60s'";
  for (const char* option : {"tcp_keepalives_idle = 20", "tcp_keepalives_interval = 5", "tcp_keepalives_count = 4"})
    sql << std::string("SET ") + option;
}

void reconnect(soci::session& sql, const PostgresqlAddress& address, double patience, const std::string& why) {
  const auto begin = std::chrono::steady_clock::now();
  for (auto pause = std::chrono::milliseconds(50);; pause = std::min(2 * pause, std::chrono::milliseconds(2000))) {
    try {
      sql.close();
      connect(sql, address);
      return;
    } catch (const soci::soci_error&) {
      const double waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      if (waited > patience)
        throw Error("study database " + address.shown + ": " + why + "; it has not come back within " + Json(patience).dump() +
                        " s. What was finished is kept: continue with --resume",
                    Blame::world);
    }
    throw_if_cancelled();
    std::this_thread::sleep_for(pause);
  }
}

void refuse(const soci::soci_error& error, const PostgresqlAddress& address) {
  const std::string why = plain(error);
  std::string hint;
  if (why.find("does not exist") != std::string::npos && why.find("database") != std::string::npos) {
    hint = "; create it first (createdb), Quasar makes its tables";
  } else if (why.find("password") != std::string::npos) {
    hint = "; give the password in the address, in PGPASSWORD or in ~/.pgpass";
  } else if (why.find("too many clients") != std::string::npos || why.find("connection slots") != std::string::npos) {
    hint = "; every worker needs two connections: raise max_connections";
  }
  throw Error("cannot open the study database " + address.shown + ": " + why + hint, Blame::world);
}

}  // namespace quasar::search
