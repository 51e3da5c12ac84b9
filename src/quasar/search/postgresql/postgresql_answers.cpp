#include "quasar/search/postgresql/postgresql_answers.hpp"

#include "quasar/base/json.hpp"

namespace quasar::search {
namespace {

constexpr int most_races = 3;  // lost to others in a row, until nothing is taken this time

// Takes the first questions without a row, and tells of the rows that are there. One that another process takes at this moment is
// in neither.
constexpr const char* asking =
    "WITH asked AS (SELECT CAST(:s AS integer) AS study_id, value AS question, ordinality AS place FROM "
    "json_array_elements_text(CAST(:q AS json)) WITH ORDINALITY), "
    "taken AS (SELECT a.question, q.answer FROM asked a JOIN quasar_answers q ON q.study_id = a.study_id AND q.question = "
    "a.question), "
    "mine AS (INSERT INTO quasar_answers (study_id, question) SELECT a.study_id, a.question FROM asked a WHERE a.question NOT IN "
    "(SELECT question FROM taken) ORDER BY a.place LIMIT CAST(:m AS integer) ON CONFLICT DO NOTHING RETURNING question) "
    "SELECT question, answer, 'taken' FROM taken UNION ALL SELECT question, NULL, 'mine' FROM mine";

constexpr const char* answering =
    "INSERT INTO quasar_answers (study_id, question, answer) SELECT CAST(:s AS integer), key, value FROM "
    "json_each_text(CAST(:a AS json)) ORDER BY key ON CONFLICT (study_id, question) DO UPDATE SET answer = EXCLUDED.answer WHERE "
    "quasar_answers.answer IS NULL";

constexpr const char* forgetting = "DELETE FROM quasar_answers WHERE study_id = CAST(:s AS integer) AND question = :q";

}  // namespace

void PostgresqlAnswers::make_table(soci::session& sql) {
  if (is_there_) return;
  soci::transaction transaction(sql);
  sql << lock_;
  int count = 0;
  sql << "SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'quasar_answers'", soci::into(count);
  if (count == 0)
    sql << "CREATE TABLE quasar_answers (study_id INTEGER NOT NULL REFERENCES studies (study_id) ON DELETE CASCADE, "
           "question TEXT NOT NULL, answer TEXT, PRIMARY KEY (study_id, question))";
  transaction.commit();
  is_there_ = true;
}

Answers::Known PostgresqlAnswers::ask(int64_t study, std::span<const std::string> questions, size_t most) {
  const std::string all = Json(std::vector<std::string>(questions.begin(), questions.end())).dump();
  Known out;
  for (int race = 0; race < most_races; ++race) {
    size_t seen = 0;
    with_([&](soci::session& sql, PreparedStatements& statements) {
      make_table(sql);
      const Answer rows = statements.run(sql, asking, {std::to_string(study), all, std::to_string(most)});
      out = {};
      for (size_t i = 0; i < rows.rows(); ++i) {
        std::string question(rows.at(i, 0));
        if (rows.at(i, 2) == "mine") {
          out.mine.push_back(std::move(question));
        } else if (rows.has(i, 1)) {
          out.answers.emplace(std::move(question), parse_json(std::string(rows.at(i, 1)), "study database"));
        }
      }
      seen = rows.rows();
    });
    if (!out.mine.empty() || seen >= questions.size()) break;
  }
  return out;
}

void PostgresqlAnswers::answer(int64_t study, const std::map<std::string, Json>& answers) {
  Json texts = Json::object();
  for (const auto& [question, answer] : answers) texts[question] = answer.dump();
  with_([&](soci::session& sql, PreparedStatements& statements) {
    make_table(sql);
    statements.run(sql, answering, {std::to_string(study), texts.dump()});
  });
}

void PostgresqlAnswers::forget(int64_t study, const std::string& question) {
  with_([&](soci::session& sql, PreparedStatements& statements) {
    make_table(sql);
    statements.run(sql, forgetting, {std::to_string(study), question});
  });
}

}  // namespace quasar::search
