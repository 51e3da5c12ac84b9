#include "quasar/search/optuna/optuna_rows.hpp"

#include <charconv>
#include <variant>

#include "quasar/base/printable.hpp"
#include "quasar/search/optuna/optuna_format.hpp"
#include "quasar/search/optuna/placeholders.hpp"
#include "quasar/search/optuna/row_query.hpp"
#include "quasar/search/optuna/row_reader.hpp"

namespace quasar::search::optuna {
namespace {

template <class Into>
void bind_into(soci::statement& statement, const Into& into) {
  statement.exchange(into);
}

using Bound = std::variant<int64_t, std::string>;

// Runs the query with these values bound in their order, and calls visit() after each row has gone into the variables.
template <class Visit, class... Into>
void each(soci::session& sql, const std::string& query, const std::vector<Bound>& bound, const Visit& visit, Into&&... into) {
  soci::statement statement(sql);
  for (const Bound& one : bound) std::visit([&](const auto& value) { statement.exchange(soci::use(value)); }, one);
  (bind_into(statement, into), ...);
  statement.alloc();
  statement.prepare(query, soci::details::st_one_time_query);
  statement.define_and_bind();
  statement.execute();
  while (statement.fetch()) visit();
}

void read_details(soci::session& sql, StudyRecord& study) {
  std::string key;
  std::string text;
  const auto visit = [&] {
    if (auto value = attribute_in(key, text)) study.user_attributes[key] = std::move(*value);
  };
  each(
      sql, "SELECT direction FROM study_directions WHERE study_id = :s ORDER BY objective", {study.id},
      [&] { study.directions.push_back(direction_of(text)); }, soci::into(text));
  each(sql, "SELECT \"key\", value_json FROM study_user_attributes WHERE study_id = :s ORDER BY study_user_attribute_id",
       {study.id}, visit, soci::into(key), soci::into(text));
}

template <class T>
T number_at(const Answer& answer, size_t row, size_t column) {
  const std::string_view text = answer.at(row, column);
  T out{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (code != std::errc() || end != text.data() + text.size())
    throw Error("the server's answer '" + printable_name(text) + "' is no number: the study is damaged");
  return out;
}

template <class T>
Cell<T> cell_at(const Answer& answer, size_t row, size_t column) {
  Cell<T> out;
  out.there = answer.has(row, column) ? soci::i_ok : soci::i_null;
  if (out.there == soci::i_ok) out.value = number_at<T>(answer, row, column);
  out.is_odd = answer.has(row, column + 1) ? soci::i_ok : soci::i_null;
  out.odd = answer.at(row, column + 1);
  return out;
}

Row row_at(const Answer& answer, size_t row) {
  const auto has = [&](size_t column) { return answer.has(row, column) ? soci::i_ok : soci::i_null; };
  return {.kind = number_at<int>(answer, row, 0),
          .trial = number_at<int64_t>(answer, row, 1),
          .place = cell_at<int64_t>(answer, row, 3),
          .number = cell_at<double>(answer, row, 5),
          .name = std::string(answer.at(row, 7)),
          .text = std::string(answer.at(row, 8)),
          .more = std::string(answer.at(row, 9)),
          .has_name = has(7),
          .has_text = has(8),
          .has_more = has(9)};
}

}  // namespace

std::vector<Trial> read_trials(soci::session& sql, int64_t study) {
  RowReader reader;
  Row row;
  int64_t place_in_kind = 0;
  soci::indicator has_place = soci::i_ok;
  each(
      sql, query_of({}), {study, study}, [&] { reader.take(row); }, soci::into(row.kind), soci::into(row.trial),
      soci::into(place_in_kind, has_place), row.place, row.number, soci::into(row.name, row.has_name),
      soci::into(row.text, row.has_text), soci::into(row.more, row.has_more));
  return reader.updates().trials;
}

std::vector<StudyRecord> read_studies(soci::session& sql) {
  std::vector<StudyRecord> out;
  StudyRecord record;
  each(
      sql, "SELECT study_id, study_name FROM studies ORDER BY study_id", {}, [&] { out.push_back(record); },
      soci::into(record.id), soci::into(record.name));
  for (StudyRecord& study : out) of_study(study.name, [&] { read_details(sql, study); });
  return out;
}

Updates read_updates(const Prepared& sql, int64_t study, int64_t after, const std::map<int64_t, State>& known,
                     const std::vector<std::string>& words) {
  // The parameters of a trial that has begun do not change.
  static const std::string query = query_of(
      {.condition = "(t.trial_id > :a OR (t.trial_id = ANY(CAST(:r AS bigint[])) AND t.state <> 'RUNNING') OR "
                    "(t.trial_id = ANY(CAST(:w AS bigint[])) AND t.state <> 'WAITING'))",
       .parameters_of = "NOT v.trial_id = ANY(CAST(:p AS bigint[]))",
       .more = {
           {.kind = RowKind::claim,
            .from = "trial_user_attributes v WHERE v.trial_id = ANY(ARRAY(SELECT r.trial_id FROM trials r WHERE r.trial_id = "
                    "ANY(CAST(:c AS bigint[])) AND r.state = 'RUNNING')) AND v.\"key\" = 'plan_hash'",
            .trial = "v.trial_id",
            .name = "v.\"key\"",
            .text = "v.value_json"},
           {.kind = RowKind::word,
            .from = "study_user_attributes w WHERE w.study_id = :t AND w.\"key\" = ANY(CAST(:k AS text[]))",
            .name = "w.\"key\"",
            .text = "w.value_json"}}});
  std::vector<int64_t> running, waiting;
  for (const auto& [id, state] : known) (state == State::running ? running : waiting).push_back(id);
  const std::string which = std::to_string(study), ran = array_of(running);
  const Answer answer =
      sql.run(query, {which, std::to_string(after), ran, array_of(waiting), which, ran, ran, which, array_of(words)});
  RowReader reader;
  for (size_t row = 0; row < answer.rows(); ++row) reader.take(row_at(answer, row));
  return reader.updates();
}

Pulse exchange_pulse(soci::session& sql, int64_t study, std::span<const int64_t> mine, const std::vector<std::string>& words) {
  Pulse out;
  int64_t id = 0;
  std::string key, text;
  soci::indicator has_key = soci::i_ok, has_text = soci::i_ok;
  const auto visit = [&] {
    if (has_key != soci::i_ok) {
      out.beats[id] = text;
    } else if (auto said = attribute_in(key, text)) {
      out.words[key] = std::move(*said);
    }
  };
  each(sql,
       "WITH mine AS (INSERT INTO trial_heartbeats (trial_id, heartbeat) SELECT one, CURRENT_TIMESTAMP FROM "
       "unnest(CAST(:m AS bigint[])) one ON CONFLICT (trial_id) DO UPDATE SET heartbeat = CURRENT_TIMESTAMP) "
       "SELECT h.trial_id, CAST(NULL AS TEXT), CAST(h.heartbeat AS TEXT) FROM trial_heartbeats h JOIN trials t ON t.trial_id = "
       "h.trial_id WHERE t.study_id = :s AND t.state = 'RUNNING' UNION ALL SELECT 0, w.\"key\", w.value_json FROM "
       "study_user_attributes w WHERE w.study_id = :t AND w.\"key\" = ANY(CAST(:k AS text[]))",
       {array_of(mine), study, study, array_of(words)}, visit, soci::into(id), soci::into(key, has_key),
       soci::into(text, has_text));
  return out;
}

std::optional<std::string> read_attribute(soci::session& sql, const std::string& table, int64_t owner, const std::string& key) {
  const std::string kind = table.substr(0, table.find('_'));
  std::string text;
  soci::indicator found = soci::i_null;
  sql << "SELECT value_json FROM " << table << "_attributes WHERE " << kind << "_id = :o AND \"key\" = :k", soci::use(owner),
      soci::use(key), soci::into(text, found);
  return sql.got_data() && found == soci::i_ok ? std::optional(text) : std::nullopt;
}

}  // namespace quasar::search::optuna
