#include "quasar/search/optuna/optuna_rows.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <variant>

#include "quasar/base/json.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/search/enqueued.hpp"
#include "quasar/search/optuna/optuna_format.hpp"
#include "quasar/search/optuna/optuna_numbers.hpp"
#include "quasar/search/optuna/placeholders.hpp"

namespace quasar::search::optuna {
namespace {

// What Quasar notes of studies and trials is always of one kind; an attribute of another kind is some other program's, and left
// out.
bool is_foreign(const std::string& key, const Json& value) {
  if (key == attribute::candidate) return !value.is_boolean();
  if (key == attribute::duplicate_of) return !value.is_number_integer();
  if (key == attribute::plan_hash || key == attribute::stage || key == attribute::step || key == "predecessor")
    return !value.is_string();
  const auto is_number = [](const Json& one) { return one.is_number(); };
  return key == "metrics" && !(value.is_object() && std::ranges::all_of(value, is_number));
}

// nullopt: NaN or Infinity is in it. Quasar stores neither, so that it is some other program's, and left out as well: what was
// read could not be written again as it is.
std::optional<Json> attribute_in(const std::string& key, const std::string& text) {
  const std::string known = json_of_python(text);
  Json value = parse_json(known, "attribute '" + key + "'");
  if (known != text || is_foreign(key, value)) return std::nullopt;
  return value;
}

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

// What is wrong with these rows is said to be this study's.
template <class Work>
auto of_study(const std::string& name, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const Error& error) {
    const std::string why = error.what();
    throw Error("study '" + name + "': " + why + (why.ends_with("damaged") ? "" : ": the study is damaged"));
  }
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

// Work on a trial; what is wrong with its rows is said to be this trial's.
template <class Work>
void of_trial(Trial& trial, const Work& work) {
  try {
    work(trial);
  } catch (const Error& error) {
    throw Error("trial " + std::to_string(trial.number) + ": " + error.what());
  }
}

// Everything of some trials in one statement: rows of several kinds, with the columns that some kind has. So it is of one moment,
// and one journey to the server.
enum class Kind { study, head, parameter, value, intermediate, user, system, claim, word };

struct Row {
  int kind = 0;
  int64_t trial = 0;
  Cell<int64_t> place;
  Cell<double> number;
  std::string name, text, more;
  soci::indicator has_name = soci::i_ok, has_text = soci::i_ok, has_more = soci::i_ok;
};

// The columns of one kind of rows; what is not named is nothing.
struct Columns {
  Kind kind;
  std::string from;
  std::string trial = "0", order = "0", place = "", number = "", name = "NULL", text = "NULL", more = "NULL";

  std::string sql() const {
    const auto as_text = [](const std::string& column) { return "CAST(" + column + " AS TEXT)"; };
    const std::string no_place = "CAST(NULL AS INTEGER), CAST(NULL AS TEXT)";
    const std::string no_number = "CAST(NULL AS DOUBLE PRECISION), CAST(NULL AS TEXT)";
    return "SELECT " + std::to_string(static_cast<int>(kind)) + " AS kind, " + trial + " AS trial, " + order +
           " AS place_in_kind, " + (place.empty() ? no_place : whole_column(place)) + ", " +
           (number.empty() ? no_number : real_column(number)) + ", " + as_text(name) + ", " + as_text(text) + ", " +
           as_text(more) + " FROM " + from;
  }
};

// `few`: PostgreSQL looks each of the chosen trials up, instead of going through all there are.
std::vector<Columns> columns_of_trials(bool few, const std::string& parameters_of = "") {
  const std::string chosen = few ? " = ANY(ARRAY(SELECT trial_id FROM chosen))" : " IN (SELECT trial_id FROM chosen)";
  const auto of = [&](const std::string& table) { return table + " v WHERE v.trial_id" + chosen; };
  const auto attributes = [&](Kind kind, const std::string& name) {
    return Columns{.kind = kind,
                   .from = of("trial_" + name + "_attributes"),
                   .trial = "v.trial_id",
                   .order = "trial_" + name + "_attribute_id",
                   .name = "\"key\"",
                   .text = "value_json"};
  };
  return {{.kind = Kind::head,
           .from = "chosen t",
           .trial = "t.trial_id",
           .order = "number",
           .place = "number",
           .name = "state",
           .text = "datetime_start",
           .more = "datetime_complete"},
          {.kind = Kind::parameter,
           .from = of("trial_params") + (parameters_of.empty() ? "" : " AND " + parameters_of),
           .trial = "v.trial_id",
           .order = "param_id",
           .number = "param_value",
           .name = "param_name",
           .text = "distribution_json"},
          {.kind = Kind::value,
           .from = of("trial_values"),
           .trial = "v.trial_id",
           .order = "objective",
           .place = "objective",
           .number = "value",
           .name = "value_type"},
          {.kind = Kind::intermediate,
           .from = of("trial_intermediate_values"),
           .trial = "v.trial_id",
           .order = "step",
           .place = "step",
           .number = "intermediate_value",
           .name = "intermediate_value_type"},
          attributes(Kind::user, "user"),
          attributes(Kind::system, "system")};
}

// Whoever reads a study takes it that what is complete has its values.
void expect_values(const std::vector<Trial>& trials, int64_t objectives) {
  const size_t wanted = static_cast<size_t>(std::max<int64_t>(objectives, 1));
  for (const Trial& trial : trials) {
    if (trial.state != State::complete || trial.values.size() == wanted) continue;
    throw Error("trial " + std::to_string(trial.number) + " is complete, but has " + std::to_string(trial.values.size()) +
                " of " + std::to_string(wanted) + (wanted == 1 ? " value" : " values") + ": the study is damaged");
  }
}

// Optuna's users may store one. Nothing can be compared with it, so that the trial counts as one that failed; in the study it
// stays.
void fail_infinite(std::vector<Trial>& trials) {
  for (Trial& trial : trials) {
    if (trial.state != State::complete) continue;
    const auto odd = std::ranges::find_if(trial.values, [](double value) { return !std::isfinite(value); });
    if (odd == trial.values.end()) continue;
    trial.user_attributes[attribute::error] = infinite_value(*odd);
    trial.state = State::failed;
    trial.values.clear();
  }
}

// One number per constraint, or null where it was infinite; null in their place where Optuna's function failed. Optuna stores no
// NaN.
Json constraints_in(const std::string& text) {
  Json value = parse_json(json_of_python(text), std::string("attribute '") + constraints_attribute + "'");
  const auto is_number = [](const Json& one) { return one.is_number() || one.is_null(); };
  const bool good = value.is_null() || (value.is_array() && std::ranges::all_of(value, is_number));
  if (good && text.find("NaN") == std::string::npos) return value;
  throw Error("its constraints are " + printable_name(text) + ", but must be a list of numbers: the study is damaged");
}

// What the rows of one statement amount to.
class Reader {
 public:
  // Throws Error for a row that makes no sense; what is wrong is said to be this study's.
  void take(const Row& row) {
    if (row.kind == static_cast<int>(Kind::study)) {
      name_ = row.name;
      objectives_ = std::stoll(row.text);
      return;
    }
    of_study(name_, [&] { take_of_study(row); });
  }

  // Once all rows were taken.
  Updates updates() {
    of_study(name_, [&] { expect_values(updates_.trials, objectives_); });
    fail_infinite(updates_.trials);
    return std::move(updates_);
  }

 private:
  void take_of_study(const Row& row) {
    switch (static_cast<Kind>(row.kind)) {
      case Kind::study:
        return;
      case Kind::head:
        return head(row);
      case Kind::parameter:
        return of_trial(trial_of(row.trial), [&](Trial& trial) { parameter(trial, row); });
      case Kind::value:
        return of_trial(trial_of(row.trial), [&](Trial& trial) { value(trial, row); });
      case Kind::intermediate:
        return of_trial(trial_of(row.trial), [&](Trial& trial) { intermediate(trial, row); });
      case Kind::user:
        return of_trial(trial_of(row.trial), [&](Trial& trial) { user_attribute(trial, row); });
      case Kind::system:
        return of_trial(trial_of(row.trial), [&](Trial& trial) { system_attribute(trial, row); });
      case Kind::claim:
        if (const auto own = attribute_in(attribute::plan_hash, row.text))
          updates_.plan_hashes[row.trial] = own->get<std::string>();
        return;
      case Kind::word:
        if (auto said = attribute_in(row.name, row.text)) updates_.words[row.name] = std::move(*said);
        return;
    }
  }

  // What a trial itself says.
  void head(const Row& row) {
    Trial trial;
    trial.id = row.trial;
    trial.number = whole_in(row.place, "a trial's number");
    const auto wrong = [&](const char* how) { throw Error("trial number " + std::to_string(trial.number) + how); };
    if (trial.number < 0) wrong(" is negative");
    if (trial.number > std::numeric_limits<int32_t>::max()) wrong(" is larger than any that Optuna's schema holds");
    if (!updates_.trials.empty() && trial.number == updates_.trials.back().number) wrong(" is there twice");
    of_trial(trial, [&](Trial& one) {
      one.state = state_of(row.name);
      if (row.has_text == soci::i_ok) one.start = time_of(row.text);
      if (row.has_more == soci::i_ok) one.complete = time_of(row.more);
    });
    places_[trial.id] = updates_.trials.size();
    updates_.trials.push_back(std::move(trial));
  }

  Trial& trial_of(int64_t id) {
    const auto found = places_.find(id);
    if (found == places_.end()) throw Error("there is something of a trial " + std::to_string(id) + ", which the study has not");
    return updates_.trials[found->second];
  }

  void parameter(Trial& trial, const Row& row) {
    DistributionPtr& distribution = known_[row.text];
    if (!distribution) distribution = std::make_shared<Distribution>(distribution_of(row.text));
    const auto whole = row.name.size() >= longest_name ? long_name_in(row.text) : std::nullopt;
    const std::string what = "the value of '" + row.name + "'";
    trial.point.set(whole.value_or(row.name), value_of(*distribution, real_in(row.number, what), what));
    trial.distributions.push_back(distribution);
  }

  static void value(Trial& trial, const Row& row) {
    const int64_t next = static_cast<int64_t>(trial.values.size());
    const int64_t given = whole_in(row.place, "the number of an objective");
    if (given != next)
      throw Error("it has a value of objective " + std::to_string(given) + ", but none of " + std::to_string(next));
    trial.values.push_back(typed_in(row.number, row.name, "its value"));
  }

  static void intermediate(Trial& trial, const Row& row) {
    const int64_t step = whole_in(row.place, "the step of an intermediate value");
    trial.intermediate[step] = typed_in(row.number, row.name, "its intermediate value at step " + std::to_string(step));
  }

  static void user_attribute(Trial& trial, const Row& row) {
    if (auto value = attribute_in(row.name, row.text)) trial.user_attributes[row.name] = std::move(*value);
  }

  static void system_attribute(Trial& trial, const Row& row) {
    if (row.name == constraints_attribute) {
      trial.system_attributes[row.name] = constraints_in(row.text);
    } else if (auto value = attribute_in(row.name, row.text)) {
      if (row.name == enqueued_attribute && value->is_object()) {
        for (Json& choice : *value) choice = restored(choice);
      }
      trial.system_attributes[row.name] = std::move(*value);
    }
  }

  std::string name_;
  int64_t objectives_ = 0;
  Updates updates_;
  std::map<int64_t, size_t> places_;              // of trials, by id
  std::map<std::string, DistributionPtr> known_;  // trials share them
};

// Which rows to read: trials of the study under a condition on `t`, and kinds of rows besides.
struct Which {
  std::string condition = {};      // instead of all of them: on few
  std::string parameters_of = {};  // of which of these trials parameters are read: a condition on v.trial_id; "": of all
  std::vector<Columns> more = {};
};

// One statement, with all kinds of rows.
std::string query_of(const Which& which) {
  // Few of them are found by their ids, whatever PostgreSQL has estimated: "+ 0" hides the study from its indices.
  const std::string those = which.condition.empty() ? "t.study_id = :s" : "t.study_id + 0 = :s AND " + which.condition;
  std::string query =
      "WITH chosen AS (SELECT t.trial_id, t.number, t.state, t.datetime_start, t.datetime_complete FROM trials t WHERE " + those +
      ") ";
  const Columns study{.kind = Kind::study,
                      .from = "studies s WHERE s.study_id = :n",
                      .name = "study_name",
                      .text = "(SELECT COUNT(*) FROM study_directions d WHERE d.study_id = s.study_id)"};
  query += study.sql();
  for (const Columns& kind : columns_of_trials(!which.condition.empty(), which.parameters_of))
    query += " UNION ALL " + kind.sql();
  for (const Columns& kind : which.more) query += " UNION ALL " + kind.sql();
  return query + " ORDER BY 1, 3";
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
  Reader reader;
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
           {.kind = Kind::claim,
            .from = "trial_user_attributes v WHERE v.trial_id = ANY(ARRAY(SELECT r.trial_id FROM trials r WHERE r.trial_id = "
                    "ANY(CAST(:c AS bigint[])) AND r.state = 'RUNNING')) AND v.\"key\" = 'plan_hash'",
            .trial = "v.trial_id",
            .name = "v.\"key\"",
            .text = "v.value_json"},
           {.kind = Kind::word,
            .from = "study_user_attributes w WHERE w.study_id = :t AND w.\"key\" = ANY(CAST(:k AS text[]))",
            .name = "w.\"key\"",
            .text = "w.value_json"}}});
  std::vector<int64_t> running, waiting;
  for (const auto& [id, state] : known) (state == State::running ? running : waiting).push_back(id);
  const std::string which = std::to_string(study), ran = array_of(running);
  const Answer answer =
      sql.run(query, {which, std::to_string(after), ran, array_of(waiting), which, ran, ran, which, array_of(words)});
  Reader reader;
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
