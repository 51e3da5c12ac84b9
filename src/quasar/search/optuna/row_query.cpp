#include "quasar/search/optuna/row_query.hpp"

#include "quasar/search/optuna/optuna_numbers.hpp"

namespace quasar::search::optuna {
namespace {

// `few`: PostgreSQL looks each of the chosen trials up, instead of going through all there are.
std::vector<Columns> columns_of_trials(bool few, const std::string& parameters_of = "") {
  const std::string chosen = few ? " = ANY(ARRAY(SELECT trial_id FROM chosen))" : " IN (SELECT trial_id FROM chosen)";
  const auto of = [&](const std::string& table) { return table + " v WHERE v.trial_id" + chosen; };
  const auto attributes = [&](RowKind kind, const std::string& name) {
    return Columns{.kind = kind,
                   .from = of("trial_" + name + "_attributes"),
                   .trial = "v.trial_id",
                   .order = "trial_" + name + "_attribute_id",
                   .name = "\"key\"",
                   .text = "value_json"};
  };
  return {{.kind = RowKind::head,
           .from = "chosen t",
           .trial = "t.trial_id",
           .order = "number",
           .place = "number",
           .name = "state",
           .text = "datetime_start",
           .more = "datetime_complete"},
          {.kind = RowKind::parameter,
           .from = of("trial_params") + (parameters_of.empty() ? "" : " AND " + parameters_of),
           .trial = "v.trial_id",
           .order = "param_id",
           .number = "param_value",
           .name = "param_name",
           .text = "distribution_json"},
          {.kind = RowKind::value,
           .from = of("trial_values"),
           .trial = "v.trial_id",
           .order = "objective",
           .place = "objective",
           .number = "value",
           .name = "value_type"},
          {.kind = RowKind::intermediate,
           .from = of("trial_intermediate_values"),
           .trial = "v.trial_id",
           .order = "step",
           .place = "step",
           .number = "intermediate_value",
           .name = "intermediate_value_type"},
          attributes(RowKind::user, "user"),
          attributes(RowKind::system, "system")};
}

}  // namespace

std::string Columns::sql() const {
  const auto as_text = [](const std::string& column) { return "CAST(" + column + " AS TEXT)"; };
  const std::string no_place = "CAST(NULL AS INTEGER), CAST(NULL AS TEXT)";
  const std::string no_number = "CAST(NULL AS DOUBLE PRECISION), CAST(NULL AS TEXT)";
  return "SELECT " + std::to_string(static_cast<int>(kind)) + " AS kind, " + trial + " AS trial, " + order +
         " AS place_in_kind, " + (place.empty() ? no_place : whole_column(place)) + ", " +
         (number.empty() ? no_number : real_column(number)) + ", " + as_text(name) + ", " + as_text(text) + ", " + as_text(more) +
         " FROM " + from;
}

std::string query_of(const Which& which) {
  // Few of them are found by their ids, whatever PostgreSQL has estimated: "+ 0" hides the study from its indices.
  const std::string those = which.condition.empty() ? "t.study_id = :s" : "t.study_id + 0 = :s AND " + which.condition;
  std::string query =
      "WITH chosen AS (SELECT t.trial_id, t.number, t.state, t.datetime_start, t.datetime_complete FROM trials t WHERE " + those +
      ") ";
  const Columns study{.kind = RowKind::study,
                      .from = "studies s WHERE s.study_id = :n",
                      .name = "study_name",
                      .text = "(SELECT COUNT(*) FROM study_directions d WHERE d.study_id = s.study_id)"};
  query += study.sql();
  for (const Columns& columns : columns_of_trials(!which.condition.empty(), which.parameters_of))
    query += " UNION ALL " + columns.sql();
  for (const Columns& columns : which.more) query += " UNION ALL " + columns.sql();
  return query + " ORDER BY 1, 3";
}

}  // namespace quasar::search::optuna
