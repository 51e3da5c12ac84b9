#include "quasar/search/postgresql/postgresql_session.hpp"

#include <soci/postgresql/soci-postgresql.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/json.hpp"
#include "quasar/base/memory_cap.hpp"
#include "quasar/base/secrets.hpp"
#include "quasar/base/stopwatch.hpp"
#include "quasar/search/postgresql/server_watch.hpp"

namespace quasar::search {

namespace {

constexpr double connecting = 10;  // seconds

// Before libpq waits for it, which no signal ends.
void expect_answer(const PostgresqlAddress& address) {
  const auto answered = answers(address, connecting, [stop = current_cancellation()] { return stop.stop_requested(); });
  if (!answered) throw Cancelled("the work was stopped before the study database " + address.shown + " had answered");
  if (*answered) return;
  throw soci::soci_error("it has not answered within " + Json(connecting).dump() + " s, as one does that is stopped or has too " +
                         "much to do");
}

// libpq reads its connect_timeout off the wall clock: where that is set forward meanwhile, time is over before it has begun.
void open(soci::session& sql, const PostgresqlAddress& address) {
  constexpr int most = 20;
  constexpr double early = 3;  // seconds, of the ten that connecting may take
  expect_answer(address);
  for (int attempt = 1;; ++attempt) {
    const Stopwatch watch;
    try {
      return sql.open(soci::postgresql, address.connection);
    } catch (const soci::soci_error& error) {
      if (attempt == most || watch.seconds() > early || plain(error).find("timeout expired") == std::string::npos) throw;
    }
  }
}

}  // namespace

bool is_broken(soci::session& sql) {
  const auto* backend = static_cast<soci::postgresql_session_backend*>(sql.get_backend());
  return backend == nullptr || backend->conn_ == nullptr || PQstatus(backend->conn_) != CONNECTION_OK;
}

// https://www.postgresql.org/docs/current/errcodes-appendix.html
bool was_given_up(const soci::soci_error& error) {
  const auto* mine = dynamic_cast<const soci::postgresql_soci_error*>(&error);
  if (mine == nullptr) return false;
  const std::string state = mine->sqlstate();
  return state.starts_with("40") || state == "57014" || state == "55P03";  // transaction rollback, query canceled, lock timeout
}

std::string plain(const soci::soci_error& error) {
  std::string why = without_password(error.what());
  for (const char* statement : {" while executing \"", " while preparing \""})  // with all that was bound to it
    why.resize(std::min(why.size(), why.find(statement)));
  // The place in the statement stands on two lines, between the error and its details.
  if (const size_t line = why.find("\nLINE "); line != std::string::npos) {
    size_t end = why.find('\n', line + 1);
    if (end != std::string::npos) end = why.find('\n', end + 1);
    why.erase(line, end == std::string::npos ? end : end - line);
  }
  for (const std::string frame : {"Cannot execute query. ", "Fatal error. "}) {  // SOCI's
    if (why.starts_with(frame)) why.erase(0, frame.size());
  }
  for (char& c : why) c = c == '\n' || c == '\t' ? ' ' : c;
  const size_t end = why.find_last_not_of(" .");
  return why.substr(0, end == std::string::npos ? 0 : end + 1);
}

void connect(soci::session& sql, const PostgresqlAddress& address) {
  open(sql, address);
  sql << "SET datestyle = 'ISO, YMD'";
  sql << "SET client_encoding = 'UTF8'";
  sql << "SET client_min_messages = 'error'";
  sql << "SET idle_in_transaction_session_timeout = '60s'";
  // Whatever the database or the role has as its own defaults: turns wait for locks and then read what others committed, and the
  // leader's connection holds its lock through the longest trial. (idle_session_timeout: since PostgreSQL 14.) Whoever waits for
  // a lock lets a heartbeat through now and then.
  sql << "SET default_transaction_isolation = 'read committed'";
  sql << "SET lock_timeout = '5s'";
  sql << "SET statement_timeout = 0";
  // Statements that stay prepared are planned when tables are small, and go on as these grow.
  sql << "SET enable_seqscan = off";
  sql << "SET jit = off";
  std::string none;
  sql << "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'", soci::into(none);
  for (const char* option : {"tcp_keepalives_idle = 20", "tcp_keepalives_interval = 5", "tcp_keepalives_count = 4"})
    sql << std::string("SET ") + option;
}

namespace {

// The connection does not know whether it is a worker's.
constexpr const char* what_is_kept =
    "What was finished is kept: continue the search with --resume, a worker by starting it again";

bool says(const std::string& why, const char* words) {
  return why.find(words) != std::string::npos;
}

// What is wrong with the tables; "": nothing that these words tell of.
std::string damage_in(const std::string& why) {
  if (says(why, "duplicate key value")) return "its rows contradict each other";
  if (says(why, "does not exist") && (says(why, "relation ") || says(why, "column ")))
    return "its tables are not those that Optuna's schema has";
  if (says(why, "violates foreign key")) return "another program has deleted rows that others belong to";
  return says(why, "Null value") ? "a row lacks what must be there" : "";
}

// Whom the server denies something; "": nobody.
std::string rights_of(soci::session& sql, const std::string& why) {
  if (!says(why, "permission denied")) return "";
  const char* user = PQuser(static_cast<soci::postgresql_session_backend*>(sql.get_backend())->conn_);
  return std::string("; the user '") + user + "' needs the right to read and write there (GRANT), or name another user in the " +
         "address";
}

// The server answers, and will not answer otherwise however long one waits.
bool is_final(const std::string& why) {
  return says(why, "FATAL") && (says(why, "does not exist") || says(why, "authentication failed") || says(why, "pg_hba.conf") ||
                                says(why, "is not permitted to log in") || says(why, "permission denied"));
}

// The address is wrong, or lacks something: trying again does not help.
bool is_of_address(const std::string& why) {
  return is_final(why) || says(why, "no password supplied") || says(why, "server does not support SSL") ||
         says(why, "certificate") || says(why, "invalid");
}

}  // namespace

void reconnect(soci::session& sql, const PostgresqlAddress& address, const Outage& outage) {
  const std::string gone = "study database " + address.shown + ": " + outage.why;
  const auto begin = std::chrono::steady_clock::now();
  const auto waited = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  bool told = false;
  const auto stopped = [&] {
    return Cancelled("the work was stopped while it waited for the server; " + gone + ". " + what_is_kept);
  };
  for (auto pause = std::chrono::milliseconds(50);; pause = std::min(2 * pause, std::chrono::milliseconds(2000))) {
    try {
      sql.close();
      connect(sql, address);
      if (told)
        tell(outage.log, Level::warning,
             "study database " + address.shown + ": the server is back after " + std::to_string(std::lround(waited())) + " s");
      return;
    } catch (const Cancelled&) {
      throw stopped();
    } catch (const soci::soci_error& error) {
      const std::string why = plain(error);
      const bool dropped = says(why, "database ") && says(why, "does not exist");
      if (is_final(why)) throw Error(gone + "; now: " + why + (dropped ? "" : std::string(". ") + what_is_kept), Blame::setup);
      if (waited() > outage.patience)
        throw Error(gone + "; it has not come back within " + Json(outage.patience).dump() + " s. " + what_is_kept, Blame::world);
    }
    if (!told)
      tell(outage.log, Level::warning,
           gone + "; waiting up to " + Json(outage.patience).dump() +
               " s for the server to come back; trials that are running go on meanwhile");
    told = true;
    if (current_cancellation().stop_requested()) throw stopped();
    const CappedMeanwhile others;  // whose trials go on
    std::this_thread::sleep_for(pause);
  }
}

void refuse_encoding(soci::session& sql, const PostgresqlAddress& address) {
  std::string encoding;
  sql << "SHOW server_encoding", soci::into(encoding);
  if (encoding == "UTF8" || encoding == "SQL_ASCII") return;
  throw Error("the database " + address.shown + " has the encoding " + encoding +
              ", which cannot hold every name: make one with UTF8 (createdb --encoding UTF8 --template template0 NAME)");
}

std::string hint_of(const std::string& why) {
  const bool missing = says(why, "does not exist");
  if (says(why, "read-only transaction"))
    return "; nothing can be written there: name the server that takes writes, not its standby, and see that "
           "default_transaction_read_only is off";
  if (missing && says(why, "role "))
    return "; create the user first (createuser), or name another one: postgresql://user@host/database";
  if (missing && says(why, "database ")) return "; create it first (createdb), Quasar makes its tables";
  if (says(why, "password")) return "; give the password in the address, in PGPASSWORD or in ~/.pgpass";
  if (says(why, "too many clients") || says(why, "connection slots"))
    return "; every worker needs a connection: raise max_connections";
  if (says(why, "too many connections for"))
    return "; every worker needs a connection: raise the limit (ALTER ROLE or DATABASE … CONNECTION LIMIT)";
  if (says(why, "has no equivalent in encoding"))
    return "; the database must have the encoding UTF8 (createdb --encoding UTF8 --template template0 NAME)";
  if (says(why, "No space left"))
    return "; make room on the server, and continue the search with --resume, a worker by starting it again";
  return "";
}

void refuse_statement(const soci::soci_error& error, soci::session& sql, const std::string& where) {
  const std::string why = plain(error), damage = damage_in(why);
  const std::string rights = rights_of(sql, why);
  const bool forbids = !rights.empty() || says(why, "read-only transaction");
  if (damage.empty()) throw Error(where + ": " + why + rights + hint_of(why), forbids ? Blame::setup : Blame::world);
  throw Error(where + " is damaged, " + damage + " (" + why + "): restore it from a backup, or search anew in another database " +
                  "(study_storage_db) or, where rows are wrong, under another study_name",
              Blame::setup);
}

void refuse(const soci::soci_error& error, const PostgresqlAddress& address, soci::session& sql) {
  if (!is_broken(sql)) refuse_statement(error, sql, "study database " + address.shown);
  const std::string why = plain(error);
  throw Error("cannot open the study database " + address.shown + ": " + why + hint_of(why),
              is_of_address(why) ? Blame::setup : Blame::world);
}

}  // namespace quasar::search
