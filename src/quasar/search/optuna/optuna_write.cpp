// Writing rows of Optuna's tables; reading stands in optuna_rows.cpp.
#include <cmath>

#include "quasar/search/optuna/optuna_format.hpp"
#include "quasar/search/optuna/optuna_rows.hpp"
#include "quasar/search/optuna/placeholders.hpp"

namespace quasar::search::optuna {
namespace {

// Numbers that SQL cannot hold have a type beside them.
const char* type_of(double value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INF_POS" : "INF_NEG";
  return "FINITE";
}

// Binds the fields of rows in their order, then runs the statement once.
void run_bound(soci::session& sql, const std::string& query, const auto& exchange) {
  soci::statement statement(sql);
  exchange(statement);
  statement.alloc();
  statement.prepare(query, soci::details::st_one_time_query);
  statement.define_and_bind();
  statement.execute(true);
}

// "(:a0, :b0), (:a1, :b1)": the rows of an INSERT, so that they cost one journey to the server.
std::string rows_of(size_t rows, size_t columns) {
  std::string out;
  for (size_t row = 0; row < rows; ++row) out += (row == 0 ? "" : ", ") + placeholders("r" + std::to_string(row) + "_", columns);
  return out;
}

}  // namespace

void write_attribute(soci::session& sql, const std::string& table, int64_t owner, const std::string& key,
                     const std::string& text) {
  const std::string kind = table.substr(0, table.find('_'));
  sql << "INSERT INTO " << table << "_attributes (" << kind << "_id, \"key\", value_json) VALUES (:o, :k, :v) ON CONFLICT ("
      << kind << "_id, \"key\") DO UPDATE SET value_json = excluded.value_json",
      soci::use(owner), soci::use(key), soci::use(text);
}

std::vector<TrialWriter::Parameter> TrialWriter::rows(const Trial& trial) {
  std::vector<Parameter> out;
  for (size_t i = 0; i < trial.distributions.size(); ++i) {
    const DistributionPtr& distribution = trial.distributions[i];
    std::string& known = texts_[distribution];
    if (known.empty()) known = text_of(*distribution);
    const auto& [name, value] = trial.point.values()[i];
    expect_storable("a parameter's name", name);
    const bool is_long = characters_of(name) > longest_name;
    out.push_back(
        {is_long ? short_name_of(name) : name, number_of(*distribution, value), is_long ? with_long_name(known, name) : known});
  }
  return out;
}

void TrialWriter::parameters(int64_t id, const Trial& trial) {
  const std::vector<Parameter> all = rows(trial);
  for (size_t first = 0; first < all.size(); first += most_rows) {
    const size_t count = std::min(most_rows, all.size() - first);
    run_bound(sql_,
              "INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) VALUES " + rows_of(count, 4) +
                  " ON CONFLICT (trial_id, param_name) DO NOTHING",
              [&](soci::statement& statement) {
                for (size_t i = first; i < first + count; ++i) {
                  statement.exchange(soci::use(id));
                  statement.exchange(soci::use(all[i].name));
                  statement.exchange(soci::use(all[i].number));
                  statement.exchange(soci::use(all[i].text));
                }
              });
  }
}

namespace {

// A number as two columns.
struct Stored {
  double value;
  std::string type;
  soci::indicator finite;
  explicit Stored(double number)
      : value(number), type(type_of(number)), finite(std::isfinite(number) ? soci::i_ok : soci::i_null) {}
};

// Numbers by place, in one statement.
void write_numbers(soci::session& sql, const std::string& insert, int64_t id, const std::map<int64_t, double>& numbers) {
  std::vector<Stored> stored;
  for (const auto& [place, number] : numbers) stored.emplace_back(number);
  auto next = numbers.begin();
  for (size_t first = 0; first < stored.size(); first += most_rows) {
    const size_t rows = std::min(most_rows, stored.size() - first);
    run_bound(sql, insert + rows_of(rows, 4), [&](soci::statement& statement) {
      for (size_t i = first; i < first + rows; ++i, ++next) {
        statement.exchange(soci::use(id));
        statement.exchange(soci::use(next->first));
        statement.exchange(soci::use(stored[i].value, stored[i].finite));
        statement.exchange(soci::use(stored[i].type));
      }
    });
  }
}

}  // namespace

void TrialWriter::values(const Trial& trial) {
  std::map<int64_t, double> results;
  for (size_t i = 0; i < trial.values.size(); ++i) results[static_cast<int64_t>(i)] = trial.values[i];
  write_numbers(sql_, "INSERT INTO trial_values (trial_id, objective, value, value_type) VALUES ", trial.id, results);
  write_numbers(sql_,
                "INSERT INTO trial_intermediate_values (trial_id, step, intermediate_value, intermediate_value_type) VALUES ",
                trial.id, trial.intermediate);
}

void TrialWriter::attributes(int64_t id, const Trial& trial) {
  attributes(id, "user", trial.user_attributes);
  attributes(id, "system", trial.system_attributes);
}

void TrialWriter::attributes(int64_t id, const std::string& kind, const Json& attributes) {
  if (attributes.empty()) return;
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [name, value] : attributes.items()) texts.emplace_back(name, text_of(value));
  run_bound(sql_,
            "INSERT INTO trial_" + kind + "_attributes (trial_id, \"key\", value_json) VALUES " + rows_of(texts.size(), 3) +
                " ON CONFLICT (trial_id, \"key\") DO UPDATE SET value_json = excluded.value_json",
            [&](soci::statement& statement) {
              for (const auto& [name, text] : texts) {
                statement.exchange(soci::use(id));
                statement.exchange(soci::use(name));
                statement.exchange(soci::use(text));
              }
            });
}

}  // namespace quasar::search::optuna
