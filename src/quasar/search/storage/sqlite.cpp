// A study in an SQLite file, in the relational schema of Optuna (version 12, alembic v3.2.0.a): optuna.load_study and
// optuna-dashboard open the file as it is.
//
// Write-ahead logging with synchronous = normal: a transaction survives the death of the process at any moment; the loss of power
// may take the last ones back, but never damages the file.
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <mutex>
#include <thread>

#include "quasar/base/error.hpp"
#include "quasar/base/file_lock.hpp"
#include "quasar/search/optuna_format.hpp"
#include "quasar/search/optuna_rows.hpp"
#include "quasar/search/optuna_schema.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::search::storage {
namespace {

// One connection, guarded: SOCI's sessions are not made for several threads.
class Sqlite final : public Storage {
 public:
  explicit Sqlite(const Options& options) : path_(options.text("path")) {
    if (path_.empty()) throw Error("storage sqlite: option 'path' is missing");
    if (path_.find('"') != std::string::npos) throw Error("the path of a study database must not contain quotes: " + path_);
    timeout_ = options.integer("timeout");
    guarded([&] { open(); });
  }

  std::vector<StudyRecord> studies() override {
    return guarded([&] {
      const Transaction snapshot(sql_, "BEGIN");
      return optuna::read_studies(sql_);
    });
  }

  StudyRecord create(const std::string& name, const std::vector<Direction>& directions) override {
    return guarded([&] {
      const Transaction transaction(sql_, "BEGIN IMMEDIATE");
      int known = 0;
      sql_ << "SELECT COUNT(*) FROM studies WHERE study_name = :n", soci::use(name), soci::into(known);
      if (known > 0) throw Error("the study '" + name + "' exists already in " + path_);
      sql_ << "INSERT INTO studies (study_name) VALUES (:n)", soci::use(name);
      StudyRecord out{last_id(), name, directions, Json::object()};
      for (size_t i = 0; i < directions.size(); ++i) {
        const std::string direction = optuna::text_of(directions[i]);
        const int objective = static_cast<int>(i);
        sql_ << "INSERT INTO study_directions (direction, study_id, objective) VALUES (:d, :s, :o)", soci::use(direction),
            soci::use(out.id), soci::use(objective);
      }
      transaction.commit();
      return out;
    });
  }

  void set_attribute(int64_t study, const std::string& key, const Json& value) override {
    guarded([&] {
      const std::string text = optuna::text_of(value);
      sql_ << "INSERT INTO study_user_attributes (study_id, \"key\", value_json) VALUES (:s, :k, :v) "
              "ON CONFLICT (study_id, \"key\") DO UPDATE SET value_json = excluded.value_json",
          soci::use(study), soci::use(key), soci::use(text);
    });
  }

  std::vector<Trial> trials(int64_t study) override {
    return guarded([&] {
      const Transaction snapshot(sql_, "BEGIN");
      return optuna::read_trials(sql_, study);
    });
  }

  void start(int64_t study, Trial& trial) override {
    guarded([&] {
      const Transaction transaction(sql_, "BEGIN IMMEDIATE");
      soci::indicator none = soci::i_null;
      int64_t last = -1;
      sql_ << "SELECT number FROM trials WHERE study_id = :s ORDER BY trial_id DESC LIMIT 1", soci::use(study),
          soci::into(last, none);
      if (none == soci::i_null) last = -1;
      const int64_t number = last + 1;
      const std::string state = optuna::text_of(trial.state);
      const std::string begin = optuna::text_of(trial.start.value_or(now()));
      sql_ << "INSERT INTO trials (number, study_id, state, datetime_start) VALUES (:n, :s, :t, :b)", soci::use(number),
          soci::use(study), soci::use(state), soci::use(begin);
      const int64_t id = last_id();
      writer_.parameters(id, trial);
      writer_.attributes(id, trial);
      transaction.commit();
      trial.id = id;
      trial.number = number;
    });
  }

  void finish(int64_t, const Trial& trial) override {
    guarded([&] {
      const Transaction transaction(sql_, "BEGIN IMMEDIATE");
      const std::string state = optuna::text_of(trial.state);
      const std::string end = optuna::text_of(trial.complete.value_or(now()));
      change((sql_.prepare << "UPDATE trials SET state = :t, datetime_complete = :e WHERE trial_id = :i AND state = 'RUNNING'",
              soci::use(state), soci::use(end), soci::use(trial.id)),
             trial);
      writer_.values(trial);
      writer_.attributes(trial.id, trial);
      transaction.commit();
    });
  }

  // As a trial that was enqueued: Optuna waits with parameters too, and takes them when it runs the trial.
  void release(int64_t, const Trial& trial) override {
    guarded([&] {
      change(
          (sql_.prepare << "UPDATE trials SET state = 'WAITING', datetime_start = NULL WHERE trial_id = :i AND state = 'RUNNING'",
           soci::use(trial.id)),
          trial);
    });
  }

  void resume(int64_t, const Trial& trial) override {
    guarded([&] {
      const std::string begin = optuna::text_of(trial.start.value_or(now()));
      change(
          (sql_.prepare << "UPDATE trials SET state = 'RUNNING', datetime_start = :b WHERE trial_id = :i AND state = 'WAITING'",
           soci::use(begin), soci::use(trial.id)),
          trial);
    });
  }

  std::unique_ptr<Hold> hold(const StudyRecord& study) override {
    return std::make_unique<Held>(path_ + "-lock", "the study '" + study.name + "' in " + path_, study.id);
  }

 private:
  struct Held final : Hold {
    Held(const std::string& file, const std::string& what, int64_t study)
        : lock_(file, what, "wait until it has ended, or choose another study_name or output_dir", study) {}

   private:
    FileLock lock_;
  };

  void change(soci::statement update, const Trial& trial) const {
    update.execute(true);
    if (update.get_affected_rows() == 1) return;
    throw Error("trial " + std::to_string(trial.number) + " in " + path_ + " was changed by another process", Blame::world);
  }

  // Rolls back unless committed. Writers begin IMMEDIATE: whoever takes the write lock at once never deadlocks.
  class Transaction {
   public:
    Transaction(soci::session& sql, const char* begin) : sql_(sql) { sql_ << begin; }
    ~Transaction() {
      if (done_) return;
      try {
        sql_ << "ROLLBACK";
      } catch (const soci::soci_error&) {  // the connection is gone, and the transaction with it
      }
    }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit() const {
      sql_ << "COMMIT";
      done_ = true;
    }

   private:
    soci::session& sql_;
    mutable bool done_ = false;
  };

  template <class Work>
  auto guarded(const Work& work) -> decltype(work()) {
    const std::scoped_lock lock(mutex_);
    try {
      return work();
    } catch (const soci::soci_error& e) {
      const std::string why = e.what();
      if (why.find("not a database") != std::string::npos || why.find("malformed") != std::string::npos)
        throw Error(path_ + " is damaged, or no study database: move it away, and search again");
      const std::string hint =
          why.find("locked") != std::string::npos ? "; another program is writing to it: try again when it has ended" : "";
      throw Error("study database " + path_ + ": " + why + hint, Blame::world);
    } catch (const Json::exception& e) {
      throw Error("study database " + path_ + ": " + e.what(), Blame::world);
    }
  }

  // SQLite does not wait for other processes here, whatever its timeout; once set, the mode stays in the file.
  void become_wal() {
    for (int attempt = 0;; ++attempt) {
      try {
        std::string mode;
        sql_ << "PRAGMA journal_mode = WAL", soci::into(mode);
        return;
      } catch (const soci::soci_error&) {
        if (attempt >= 100) throw;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    }
  }

  void open() {
    sql_.open(soci::sqlite3, "dbname=\"" + path_ + "\" timeout=" + std::to_string(timeout_));
    int tables = 0;
    int versions = 0;
    sql_ << "SELECT COUNT(*), COALESCE(SUM(name IN ('version_info', 'studies')), 0) FROM sqlite_master WHERE type = 'table'",
        soci::into(tables), soci::into(versions);
    if (tables > 0 && versions < 2) throw Error(path_ + " is an SQLite file, but not a study database");
    become_wal();
    sql_ << "PRAGMA synchronous = NORMAL";
    if (tables == 0) create_schema();
    check_version();
  }

  void create_schema() {
    const Transaction transaction(sql_, "BEGIN IMMEDIATE");
    int tables = 0;
    sql_ << "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table'", soci::into(tables);
    if (tables > 0) return;  // another process was faster
    for (const char* statement : optuna::sqlite_schema) sql_ << statement;
    const std::string library = "Quasar " QUASAR_VERSION;
    const std::string alembic = optuna::alembic_version;
    const int version = optuna::schema_version;
    sql_ << "INSERT INTO version_info VALUES (1, :v, :l)", soci::use(version), soci::use(library);
    sql_ << "INSERT INTO alembic_version VALUES (:a)", soci::use(alembic);
    transaction.commit();
  }

  void check_version() {
    int version = 0;
    sql_ << "SELECT COALESCE(MAX(schema_version), 0) FROM version_info", soci::into(version);
    if (version == optuna::schema_version) return;
    throw Error(path_ + " has version " + std::to_string(version) + " of Optuna's schema, but Quasar needs version " +
                std::to_string(optuna::schema_version) + "; run 'optuna storage upgrade --storage sqlite:///" + path_ +
                "' or choose another file");
  }

  int64_t last_id() {
    long long id = 0;
    sql_ << "SELECT last_insert_rowid()", soci::into(id);
    return id;
  }

  std::mutex mutex_;
  std::string path_;
  int64_t timeout_ = 10;
  soci::session sql_;
  optuna::TrialWriter writer_{sql_};
};

}  // namespace

Entry<Storage> sqlite() {
  return {.help = "An SQLite file that Optuna and optuna-dashboard open too.",
          .make = make_as<Sqlite, Storage>,
          .options = {{.name = "path", .fallback = "", .help = "the file; created when it does not exist"},
                      {.name = "timeout", .fallback = 10, .help = "seconds to wait for another writer", .low = 0}}};
}

}  // namespace quasar::search::storage
