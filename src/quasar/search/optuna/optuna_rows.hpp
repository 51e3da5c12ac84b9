// Studies and trials as rows of Optuna's tables: read back and written over one connection. Whoever calls holds the transaction.
#pragma once

#include <soci/soci.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quasar/search/postgresql/postgresql_statement.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::search::optuna {

// All studies with directions and user attributes, in the order of their making.
std::vector<StudyRecord> read_studies(soci::session& sql);

// The study's trials by number, with everything that belongs to them, as they are at one moment.
std::vector<Trial> read_trials(soci::session& sql, int64_t study);

// A connection to PostgreSQL, with the statements that stay prepared on it.
struct Prepared {
  soci::session& session;
  PreparedStatements& statements;
  Answer run(const std::string& text, const std::vector<std::string>& values) const {
    return statements.run(session, text, values);
  }
};

// What storage.hpp's Sharing::updates() promises, at one moment.
Updates read_updates(const Prepared& sql, int64_t study, int64_t after, const std::map<int64_t, State>& known,
                     const std::vector<std::string>& words);

// What storage.hpp's Sharing::pulse() promises; on PostgreSQL alone.
Pulse exchange_pulse(soci::session& sql, int64_t study, std::span<const int64_t> mine, const std::vector<std::string>& words);

// One text of a table of attributes ("study_user", "trial_system" …); nullopt: there is none.
std::optional<std::string> read_attribute(soci::session& sql, const std::string& table, int64_t owner, const std::string& key);
// Replaces it when it exists.
void write_attribute(soci::session& sql, const std::string& table, int64_t owner, const std::string& key,
                     const std::string& text);

// Writes the parts of a trial. One object per connection: it remembers the texts of distributions, which are written many times.
class TrialWriter {
 public:
  explicit TrialWriter(soci::session& sql) : sql_(sql) {}

  // A parameter as a row: what stands for its name, its value and its distribution.
  struct Parameter {
    std::string name;
    double number;
    std::string text;
  };
  std::vector<Parameter> rows(const Trial& trial);

  void parameters(int64_t id, const Trial& trial);
  void values(const Trial& trial);  // of the objectives, and intermediate ones
  void attributes(int64_t id, const Trial& trial);

 private:
  void attributes(int64_t id, const std::string& kind, const Json& attributes);

  soci::session& sql_;
  std::map<DistributionPtr, std::string> texts_;
};

}  // namespace quasar::search::optuna
