// A study in an SQLite file, in the relational schema of Optuna (version 12, alembic v3.2.0.a): optuna.load_study and
// optuna-dashboard open the file as it is.
//
// Write-ahead logging with synchronous = normal: a transaction survives the death of the process at any moment; the loss of power
// may take the last ones back, but never damages the file.
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

#include "quasar/base/error.hpp"
#include "quasar/search/optuna_format.hpp"
#include "quasar/search/optuna_schema.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::search::storage {
namespace {

// Numbers that SQL cannot hold have a type beside them.
const char* type_of(double value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INF_POS" : "INF_NEG";
  return "FINITE";
}

double number_of(double value, const std::string& type) {
  if (type == "NAN") return std::numeric_limits<double>::quiet_NaN();
  if (type == "FINITE") return value;
  return type == "INF_POS" ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}

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
      std::vector<StudyRecord> out;
      StudyRecord record;
      each((sql_.prepare << "SELECT study_id, study_name FROM studies ORDER BY study_id", soci::into(record.id),
            soci::into(record.name)),
           [&] { out.push_back(record); });
      for (StudyRecord& study : out) read_details(study);
      return out;
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
      std::vector<Trial> out = read_trials(study);
      std::map<int64_t, Trial*> by_id;
      for (Trial& trial : out) by_id[trial.id] = &trial;
      const auto trial_of = [&](int64_t id) -> Trial& { return *by_id.at(id); };
      read_parameters(study, trial_of);
      read_values(study, trial_of);
      read_attributes(study, "user", [&](int64_t id) -> Json& { return trial_of(id).user_attributes; });
      read_attributes(study, "system", [&](int64_t id) -> Json& { return trial_of(id).system_attributes; });
      return out;
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
      write_parameters(id, trial);
      write_attributes(id, trial);
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
      soci::statement update =
          (sql_.prepare << "UPDATE trials SET state = :t, datetime_complete = :e WHERE trial_id = :i AND state IN "
                           "('RUNNING', 'WAITING')",
           soci::use(state), soci::use(end), soci::use(trial.id));
      update.execute(true);
      if (update.get_affected_rows() != 1) {
        throw Error("trial " + std::to_string(trial.number) + " in " + path_ + " was finished by another process", Blame::world);
      }
      write_values(trial);
      write_attributes(trial.id, trial);
      transaction.commit();
    });
  }

 private:
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

  // Runs the query and calls visit() after each row has gone into the variables bound to it.
  template <class Visit>
  static void each(soci::statement statement, const Visit& visit) {
    statement.execute();
    while (statement.fetch()) visit();
  }

  void read_details(StudyRecord& study) {
    std::string key;
    std::string value;
    each((sql_.prepare << "SELECT direction FROM study_directions WHERE study_id = :s ORDER BY objective", soci::use(study.id),
          soci::into(value)),
         [&] { study.directions.push_back(optuna::direction_of(value)); });
    each((sql_.prepare
              << "SELECT \"key\", value_json FROM study_user_attributes WHERE study_id = :s ORDER BY study_user_attribute_id",
          soci::use(study.id), soci::into(key), soci::into(value)),
         [&] { study.user_attributes[key] = parse_json(value, path_); });
  }

  std::vector<Trial> read_trials(int64_t study) {
    std::vector<Trial> out;
    Trial trial;
    std::string state;
    std::string begin;
    std::string end;
    soci::indicator has_begin = soci::i_ok;
    soci::indicator has_end = soci::i_ok;
    each((sql_.prepare << "SELECT trial_id, number, state, datetime_start, datetime_complete FROM trials WHERE study_id = :s "
                          "ORDER BY number",
          soci::use(study), soci::into(trial.id), soci::into(trial.number), soci::into(state), soci::into(begin, has_begin),
          soci::into(end, has_end)),
         [&] {
           trial.state = optuna::state_of(state);
           trial.start = has_begin == soci::i_ok ? std::optional(optuna::time_of(begin)) : std::nullopt;
           trial.complete = has_end == soci::i_ok ? std::optional(optuna::time_of(end)) : std::nullopt;
           out.push_back(trial);
         });
    return out;
  }

  template <class TrialOf>
  void read_parameters(int64_t study, const TrialOf& trial_of) {
    int64_t id = 0;
    std::string name;
    std::string text;
    double number = 0;
    std::map<std::string, DistributionPtr> known;  // trials share them
    each((sql_.prepare << "SELECT p.trial_id, param_name, param_value, distribution_json FROM trial_params p JOIN trials t "
                          "ON t.trial_id = p.trial_id WHERE t.study_id = :s ORDER BY param_id",
          soci::use(study), soci::into(id), soci::into(name), soci::into(number), soci::into(text)),
         [&] {
           DistributionPtr& distribution = known[text];
           if (!distribution) distribution = std::make_shared<Distribution>(optuna::distribution_of(text));
           trial_of(id).point.set(name, optuna::value_of(*distribution, number));
           trial_of(id).distributions.push_back(distribution);
         });
  }

  template <class TrialOf>
  void read_values(int64_t study, const TrialOf& trial_of) {
    int64_t id = 0;
    int64_t step = 0;
    double value = 0;
    soci::indicator finite = soci::i_ok;
    std::string type;
    each((sql_.prepare << "SELECT v.trial_id, value, value_type FROM trial_values v JOIN trials t ON t.trial_id = v.trial_id "
                          "WHERE t.study_id = :s ORDER BY v.trial_id, objective",
          soci::use(study), soci::into(id), soci::into(value, finite), soci::into(type)),
         [&] { trial_of(id).values.push_back(number_of(value, type)); });
    each((sql_.prepare << "SELECT v.trial_id, step, intermediate_value, intermediate_value_type FROM trial_intermediate_values v "
                          "JOIN trials t ON t.trial_id = v.trial_id WHERE t.study_id = :s",
          soci::use(study), soci::into(id), soci::into(step), soci::into(value, finite), soci::into(type)),
         [&] { trial_of(id).intermediate[step] = number_of(value, type); });
  }

  template <class AttributesOf>
  void read_attributes(int64_t study, const std::string& kind, const AttributesOf& attributes_of) {
    int64_t id = 0;
    std::string key;
    std::string value;
    each((sql_.prepare << "SELECT a.trial_id, \"key\", value_json FROM trial_" << kind
                       << "_attributes a JOIN trials t ON t.trial_id = "
                       << "a.trial_id WHERE t.study_id = :s ORDER BY trial_" << kind << "_attribute_id",
          soci::use(study), soci::into(id), soci::into(key), soci::into(value)),
         [&] { attributes_of(id)[key] = parse_json(value, path_); });
  }

  void write_parameters(int64_t id, const Trial& trial) {
    std::string name;
    std::string text;
    double number = 0;
    soci::statement insert =
        (sql_.prepare
             << "INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) VALUES (:i, :n, :v, :d)",
         soci::use(id), soci::use(name), soci::use(number), soci::use(text));
    for (size_t i = 0; i < trial.distributions.size(); ++i) {
      const DistributionPtr& distribution = trial.distributions[i];
      name = trial.point.values()[i].first;
      number = optuna::number_of(*distribution, trial.point.values()[i].second);
      std::string& known = texts_[distribution];
      if (known.empty()) known = optuna::text_of(*distribution);
      text = known;
      insert.execute(true);
    }
  }

  void write_values(const Trial& trial) {
    int64_t at = 0;
    double value = 0;
    soci::indicator finite = soci::i_ok;
    std::string type;
    const auto write = [&](soci::statement& insert, int64_t place, double number) {
      at = place;
      value = number;
      type = type_of(number);
      finite = std::isfinite(number) ? soci::i_ok : soci::i_null;
      insert.execute(true);
    };
    soci::statement results =
        (sql_.prepare << "INSERT INTO trial_values (trial_id, objective, value, value_type) VALUES (:i, :o, :v, :t)",
         soci::use(trial.id), soci::use(at), soci::use(value, finite), soci::use(type));
    for (size_t i = 0; i < trial.values.size(); ++i) write(results, static_cast<int64_t>(i), trial.values[i]);
    if (trial.intermediate.empty()) return;
    soci::statement steps = (sql_.prepare << "INSERT INTO trial_intermediate_values (trial_id, step, intermediate_value, "
                                             "intermediate_value_type) VALUES (:i, :o, :v, :t)",
                             soci::use(trial.id), soci::use(at), soci::use(value, finite), soci::use(type));
    for (const auto& [step, number] : trial.intermediate) write(steps, step, number);
  }

  void write_attributes(int64_t id, const Trial& trial) {
    write_attributes(id, "user", trial.user_attributes);
    write_attributes(id, "system", trial.system_attributes);
  }

  void write_attributes(int64_t id, const std::string& kind, const Json& attributes) {
    if (attributes.empty()) return;
    std::string key;
    std::string text;
    soci::statement insert =
        (sql_.prepare << "INSERT INTO trial_" << kind << "_attributes (trial_id, \"key\", value_json) VALUES "
                      << "(:i, :k, :v) ON CONFLICT (trial_id, \"key\") DO UPDATE SET value_json = excluded.value_json",
         soci::use(id), soci::use(key), soci::use(text));
    for (const auto& [name, value] : attributes.items()) {
      key = name;
      text = optuna::text_of(value);
      insert.execute(true);
    }
  }

  std::mutex mutex_;
  std::string path_;
  int64_t timeout_ = 10;
  soci::session sql_;
  std::map<DistributionPtr, std::string> texts_;  // each is written many times
};

}  // namespace

Entry<Storage> sqlite() {
  return {.help = "An SQLite file that Optuna and optuna-dashboard open too.",
          .make = make_as<Sqlite, Storage>,
          .options = {{.name = "path", .fallback = "", .help = "the file; created when it does not exist"},
                      {.name = "timeout", .fallback = 10, .help = "seconds to wait for another writer", .low = 0}}};
}

}  // namespace quasar::search::storage
