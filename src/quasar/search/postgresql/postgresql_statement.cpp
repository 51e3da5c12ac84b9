#include "quasar/search/postgresql/postgresql_statement.hpp"

#include <libpq-fe.h>
#include <soci/postgresql/soci-postgresql.h>

#include <cctype>

namespace quasar::search {
namespace {

// Throws soci::soci_error where there is none, after one that could not be made anew.
PGconn* connection_of(soci::session& sql) {
  const auto* backend = static_cast<soci::postgresql_session_backend*>(sql.get_backend());
  if (backend == nullptr || backend->conn_ == nullptr) throw soci::soci_error("the connection is closed");
  return backend->conn_;
}

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// ":names" as PostgreSQL's "$1". No text in quotes holds a colon.
std::string numbered(const std::string& text) {
  std::string out;
  int number = 0;
  for (size_t i = 0; i < text.size();) {
    if (text[i] != ':') {
      out += text[i++];
      continue;
    }
    out += "$" + std::to_string(++number);
    for (++i; i < text.size() && is_of_name(text[i]);) ++i;
  }
  return out;
}

}  // namespace

Answer::Answer(soci::session& sql, pg_result* result) : result_(result) {
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return;
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  throw soci::postgresql_soci_error(PQerrorMessage(connection_of(sql)), state == nullptr ? "     " : state);
}

void Answer::Clear::operator()(pg_result* result) const {
  PQclear(result);
}

size_t Answer::rows() const {
  return static_cast<size_t>(PQntuples(result_.get()));
}

bool Answer::has(size_t row, size_t column) const {
  return PQgetisnull(result_.get(), static_cast<int>(row), static_cast<int>(column)) == 0;
}

std::string_view Answer::at(size_t row, size_t column) const {
  const int r = static_cast<int>(row), c = static_cast<int>(column);
  return {PQgetvalue(result_.get(), r, c), static_cast<size_t>(PQgetlength(result_.get(), r, c))};
}

Answer ask_bytes(soci::session& sql, const char* statement, const std::vector<BoundValue>& values) {
  std::vector<const char*> places;
  std::vector<int> lengths, formats;
  for (const auto& [bytes, binary] : values) {
    places.push_back(bytes.c_str());
    lengths.push_back(static_cast<int>(bytes.size()));
    formats.push_back(binary ? 1 : 0);
  }
  return {sql, PQexecParams(connection_of(sql), statement, static_cast<int>(values.size()), nullptr, places.data(),
                            lengths.data(), formats.data(), 1)};
}

Answer PreparedStatements::run(soci::session& sql, const std::string& text, const std::vector<std::string>& values) {
  PGconn* const connection = connection_of(sql);
  if (const int process = PQbackendPID(connection); process != server_process_) {
    names_.clear();
    server_process_ = process;
  }
  const auto known = names_.find(text);
  std::string name = known == names_.end() ? "quasar_" + std::to_string(names_.size()) : known->second;
  if (known == names_.end()) {
    const Answer prepared(sql,
                          PQprepare(connection, name.c_str(), numbered(text).c_str(), static_cast<int>(values.size()), nullptr));
    names_.emplace(text, name);
  }
  std::vector<const char*> places;
  for (const std::string& value : values) places.push_back(value.c_str());
  return {sql, PQexecPrepared(connection, name.c_str(), static_cast<int>(values.size()), places.data(), nullptr, nullptr, 0)};
}

}  // namespace quasar::search
