#include "quasar/search/postgresql/postgresql_processes.hpp"

#include "quasar/base/json.hpp"
#include "quasar/base/process.hpp"
#include "quasar/search/optuna/relational.hpp"

namespace quasar::search {
namespace {

constexpr const char* is_our_lock =
    "l.locktype = 'advisory' AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
    "AND l.classid = CAST(CAST(:c AS bigint) AS oid) AND l.objid = CAST(CAST(:s AS bigint) AS oid)";

void note_lost_run(soci::session& sql, int64_t trial, const std::optional<std::string>& worker, const std::string& start) {
  LostRun run{.worker = "", .start = std::nullopt, .found = now()};
  if (worker) run.worker = parse_json(*worker, "study database").get<std::string>();
  if (!start.empty()) run.start = optuna::time_of(start);
  const auto before = optuna::read_attribute(sql, "trial_system", trial, lost_runs_attribute);
  const Json all = with_lost_run(before ? parse_json(*before, "study database") : Json(), run);
  optuna::write_attribute(sql, "trial_system", trial, lost_runs_attribute, optuna::text_of(all));
}

}  // namespace

bool hold(soci::session& sql, int64_t study) {
  const int kind = lock_class;
  const int which = static_cast<int>(study);
  int taken = 0;
  sql << "SELECT CASE WHEN pg_try_advisory_lock(:c, :s) THEN 1 ELSE 0 END", soci::use(kind), soci::use(which), soci::into(taken);
  return taken != 0;
}

void release_hold(soci::session& sql, int64_t study) {
  const int kind = lock_class;
  const int which = static_cast<int>(study);
  sql << "SELECT pg_advisory_unlock(:c, :s)", soci::use(kind), soci::use(which);
}

bool is_held(soci::session& sql, int64_t study) {
  const int kind = lock_class;
  const int which = static_cast<int>(study);
  int holders = 0;
  sql << "SELECT COUNT(*) FROM pg_locks l WHERE " << is_our_lock, soci::use(kind), soci::use(which), soci::into(holders);
  return holders > 0;
}

std::string holder_of(soci::session& sql, int64_t study) {
  const int kind = lock_class;
  const int which = static_cast<int>(study);
  std::string holder = "another process";
  soci::indicator known = soci::i_null;
  sql << "SELECT a.application_name || ' since ' || to_char(a.backend_start, 'YYYY-MM-DD HH24:MI:SS TZ') FROM pg_locks l "
         "JOIN pg_stat_activity a ON a.pid = l.pid WHERE "
      << is_our_lock << " LIMIT 1",
      soci::use(kind), soci::use(which), soci::into(holder, known);
  return holder;
}

std::string leaders_of(soci::session& sql, const std::string& key) {
  const int kind = lock_class;
  std::string out;
  soci::indicator any = soci::i_null;
  sql << "SELECT md5(string_agg(x, ' ' ORDER BY x)) FROM (SELECT study_id || ':' || value_json AS x FROM study_user_attributes "
         "WHERE \"key\" = :k UNION ALL SELECT 'held:' || l.objid FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted "
         "AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) "
         "AND l.classid = CAST(CAST(:c AS bigint) AS oid)) all_of_them",
      soci::use(key), soci::use(kind), soci::into(out, any);
  return any == soci::i_ok ? out : std::string();
}

Liveness liveness_of(soci::session& sql, int64_t study) {
  Liveness out;
  const std::string mine = process_name();
  std::string name;
  soci::statement names = (sql.prepare << "SELECT DISTINCT application_name FROM pg_stat_activity WHERE datname = "
                                          "current_database() AND application_name LIKE 'process % on %' "
                                          "AND application_name <> :m ORDER BY 1",
                           soci::use(mine), soci::into(name));
  names.execute();
  while (names.fetch()) out.processes.push_back(name);
  int64_t id = 0;
  double seconds = 0;
  soci::statement ages = (sql.prepare << "SELECT h.trial_id, CAST(EXTRACT(EPOCH FROM LOCALTIMESTAMP - h.heartbeat) AS double "
                                         "precision) FROM trial_heartbeats h JOIN trials t ON t.trial_id = h.trial_id "
                                         "WHERE t.study_id = :s AND t.state = 'RUNNING'",
                          soci::use(study), soci::into(id), soci::into(seconds));
  ages.execute();
  while (ages.fetch()) out.silent_s[id] = seconds;
  return out;
}

std::optional<std::string> take_from_the_dead(soci::session& sql, int64_t trial, const std::string& heartbeat,
                                              int64_t max_retry) {
  soci::transaction transaction(sql);
  int64_t id = -1, number = -1, study = -1;
  std::string start;
  sql << "SELECT t.trial_id, t.number, t.study_id, COALESCE(CAST(t.datetime_start AS text), '') FROM trials t JOIN "
         "trial_heartbeats h ON h.trial_id = t.trial_id WHERE t.trial_id = :i "
         "AND t.state = 'RUNNING' AND h.heartbeat = :b FOR UPDATE",
      soci::use(trial), soci::use(heartbeat), soci::into(id), soci::into(number), soci::into(study), soci::into(start);
  if (id != trial) return std::nullopt;
  const auto before = optuna::read_attribute(sql, "trial_system", trial, retries_attribute);
  const int64_t deaths = before ? parse_json(*before, "study database").get<int64_t>() + 1 : 1;
  const auto worker = optuna::read_attribute(sql, "trial_system", trial, worker_attribute);
  optuna::write_attribute(sql, "trial_system", trial, retries_attribute, std::to_string(deaths));
  note_lost_run(sql, trial, worker, start);
  std::string told =
      "trial " + std::to_string(number) + ": " +
      (worker ? parse_json(*worker, "study database").get<std::string>() + ", which ran it," : "the process that ran it") +
      " has died, as its heartbeat has stopped; the trial ";
  if (deaths <= max_retry) {
    told += "runs again";
    sql << "UPDATE trials SET state = 'WAITING', datetime_start = NULL WHERE trial_id = :i", soci::use(trial);
  } else {
    told += "has failed (max_retry)";
    const std::string end = optuna::text_of(now());
    const std::string why = optuna::text_of(Json(dead_worker(deaths)));
    sql << "UPDATE trials SET state = 'FAIL', datetime_complete = :e WHERE trial_id = :i", soci::use(end), soci::use(trial);
    optuna::write_attribute(sql, "trial_user", trial, attribute::error, why);
  }
  sql << "NOTIFY " << optuna::trials_channel(study);
  transaction.commit();
  return told;
}

}  // namespace quasar::search
