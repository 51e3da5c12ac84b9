#include "quasar/search/optuna/relational.hpp"

#include <algorithm>
#include <iterator>

#include "quasar/base/printable.hpp"
#include "quasar/search/enqueued.hpp"
#include "quasar/search/optuna/optuna_format.hpp"
#include "quasar/search/optuna/optuna_schema.hpp"

namespace quasar::search {

Relational::Transaction::Transaction(Relational& owner, const char* begin) : owner_(owner), done_(owner.in_transaction_) {
  if (!done_) owner_.sql_ << begin;
}

Relational::Transaction::~Transaction() {
  if (done_) return;
  try {
    owner_.sql_ << "ROLLBACK";
  } catch (const soci::soci_error&) {  // the connection is gone, and the transaction with it
  }
}

void Relational::Transaction::commit() {
  if (done_) return;
  owner_.sql_ << "COMMIT";
  done_ = true;
}

std::vector<StudyRecord> Relational::studies() {
  return reading([&] { return optuna::read_studies(sql_); });
}

StudyRecord Relational::create(const std::string& name, const std::vector<Direction>& directions) {
  if (optuna::characters_of(name) > longest_name)
    throw Error("the study's name has " + std::to_string(optuna::characters_of(name)) + " characters, but databases hold " +
                std::to_string(longest_name) + " at most: '" + name + "'");
  optuna::expect_storable("the study's name", name);
  return guarded([&] {
    Transaction transaction(*this, begin_writing());
    StudyRecord out{-1, name, directions, Json::object()};
    sql_ << "INSERT INTO studies (study_name) VALUES (:n) ON CONFLICT (study_name) DO NOTHING RETURNING study_id",
        soci::use(name), soci::into(out.id);
    if (out.id < 0) refuse_name(name);
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

void Relational::set_attribute(int64_t study, const std::string& key, const Json& value) {
  const std::string table = key.starts_with(optuna::system_prefix) ? "study_system" : "study_user";
  guarded([&] { optuna::write_attribute(sql_, table, study, key, optuna::text_of(value)); });
}

std::vector<Trial> Relational::trials(int64_t study) {
  return reading([&] { return optuna::read_trials(sql_, study); });
}

std::vector<Trial> Relational::later(int64_t study, int64_t after) {
  int64_t last = -1;
  soci::indicator any = soci::i_null;
  guarded([&] { sql_ << "SELECT MAX(trial_id) FROM trials WHERE study_id = :s", soci::use(study), soci::into(last, any); });
  if (any != soci::i_ok || last <= after) return {};
  std::vector<Trial> out = trials(study);
  std::erase_if(out, [&](const Trial& trial) { return trial.id <= after; });
  return out;
}

void Relational::start(int64_t study, Trial& trial) {
  guarded([&] {
    Transaction transaction(*this, begin_writing());
    if (!in_transaction_) lock_study(study);
    soci::indicator none = soci::i_null;
    int64_t last = -1;
    sql_ << "SELECT number FROM trials WHERE study_id = :s ORDER BY trial_id DESC LIMIT 1", soci::use(study),
        soci::into(last, none);
    const int64_t number = none == soci::i_null ? 0 : last + 1;
    const std::string state = optuna::text_of(trial.state);
    const std::string begin = optuna::text_of(trial.start.value_or(now()));
    int64_t id = -1;
    sql_ << "INSERT INTO trials (number, study_id, state, datetime_start) VALUES (:n, :s, :t, :b) RETURNING trial_id",
        soci::use(number), soci::use(study), soci::use(state), soci::use(begin), soci::into(id);
    writer_.parameters(id, trial);
    writer_.attributes(id, trial);
    transaction.commit();
    trial.id = id;
    trial.number = number;
  });
}

void Relational::finish(int64_t, const Trial& trial) {
  guarded([&] {
    Transaction transaction(*this, begin_writing());
    const std::string state = optuna::text_of(trial.state);
    const std::string end = optuna::text_of(trial.complete.value_or(now()));
    const std::string begin = optuna::text_of(trial.start.value_or(now()));
    soci::statement update = (sql_.prepare << "UPDATE trials SET state = :t, datetime_start = :b, datetime_complete = :e "
                                              "WHERE trial_id = :i AND state IN ('RUNNING', 'WAITING')",
                              soci::use(state), soci::use(begin), soci::use(end), soci::use(trial.id));
    update.execute(true);
    expect_one(update.get_affected_rows(), trial);
    writer_.values(trial);
    writer_.attributes(trial.id, trial);
    transaction.commit();
  });
}

// As a trial that was enqueued: Optuna waits with parameters too, and takes them when it runs the trial.
void Relational::release(int64_t, const Trial& trial) {
  guarded([&] {
    soci::statement update = (sql_.prepare << "UPDATE trials SET state = 'WAITING', datetime_start = NULL "
                                              "WHERE trial_id = :i AND state = 'RUNNING'",
                              soci::use(trial.id));
    update.execute(true);
    expect_one(update.get_affected_rows(), trial);
  });
}

void Relational::resume(int64_t, const Trial& trial) {
  guarded([&] {
    Transaction transaction(*this, begin_writing());
    const std::string begin = optuna::text_of(trial.start.value_or(now()));
    soci::statement update = (sql_.prepare << "UPDATE trials SET state = 'RUNNING', datetime_start = :b "
                                              "WHERE trial_id = :i AND state = 'WAITING'",
                              soci::use(begin), soci::use(trial.id));
    update.execute(true);
    expect_one(update.get_affected_rows(), trial);
    if (trial.system_attributes.contains(enqueued_attribute)) writer_.parameters(trial.id, trial);
    writer_.attributes(trial.id, trial);
    transaction.commit();
  });
}

void Relational::remove(const StudyRecord& study) {
  const auto alone = lock(study);
  guarded([&] {
    Transaction transaction(*this, begin_writing());
    for (const char* table : {"trial_user_attributes", "trial_system_attributes", "trial_params", "trial_values",
                              "trial_intermediate_values", "trial_heartbeats"}) {
      sql_ << "DELETE FROM " << table << " WHERE trial_id IN (SELECT trial_id FROM trials WHERE study_id = :s)",
          soci::use(study.id);
    }
    for (const char* table : {"trials", "study_directions", "study_user_attributes", "study_system_attributes", "studies"})
      sql_ << "DELETE FROM " << table << " WHERE study_id = :s", soci::use(study.id);
    transaction.commit();
  });
}

void Relational::expect_one(long long rows, const Trial& trial) const {
  if (rows == 1) return;
  throw TrialChanged("trial " + std::to_string(trial.number) + " in " + where() + " was changed by another process");
}

void Relational::create_schema(const std::vector<std::string>& statements) {
  for (const auto& statement : statements) sql_ << statement;
  const std::string library = "Quasar " QUASAR_VERSION;
  const std::string alembic = optuna::alembic_version;
  const int version = optuna::schema_version;
  sql_ << "INSERT INTO version_info VALUES (1, :v, :l)", soci::use(version), soci::use(library);
  sql_ << "INSERT INTO alembic_version VALUES (:a)", soci::use(alembic);
}

// Optuna's version of the schema stands still while it changes tables; the label of its last change does not.
void Relational::check_revision(const std::string& url) {
  std::string label;
  soci::indicator none = soci::i_null;
  sql_ << "SELECT MAX(version_num) FROM alembic_version", soci::into(label, none);
  if (none != soci::i_ok) label = "none";
  if (label == optuna::alembic_version) return;
  const bool is_older = std::ranges::find(optuna::older_revisions, label) != std::end(optuna::older_revisions);
  throw Error(
      where() + " has the tables of " + (is_older ? "an older Optuna" : "a version of Optuna that Quasar does not know") + " (" +
      printable_name(label) + ", and Quasar needs " + optuna::alembic_version + "); " +
      (is_older ? "run 'optuna storage upgrade --storage " + url + "' or choose another database" : "choose another database"));
}

void Relational::check_version(const std::string& url) {
  int version = 0;
  sql_ << "SELECT COALESCE(MAX(schema_version), 0) FROM version_info", soci::into(version);
  if (version == optuna::schema_version) return check_revision(url);
  if (version == 0) throw Error(where() + " is damaged: it does not say of which version it is");
  if (version > optuna::schema_version)
    throw Error(where() + " has version " + std::to_string(version) + " of Optuna's schema, which is newer than Quasar's " +
                std::to_string(optuna::schema_version) + "; choose another database");
  throw Error(where() + " has version " + std::to_string(version) + " of Optuna's schema, but Quasar needs version " +
              std::to_string(optuna::schema_version) + "; run 'optuna storage upgrade --storage " + url +
              "' or choose another database");
}

}  // namespace quasar::search
