// Statements that go to a PostgreSQL server without SOCI: with values of bytes, and such as stay prepared.
#pragma once

#include <soci/soci.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct pg_result;  // libpq's

namespace quasar::search {

// A statement's answer: rows of texts, or of bytes where these were asked for.
class Answer {
 public:
  // Takes over what libpq gave. Throws soci::postgresql_soci_error where that is an error.
  Answer(soci::session& sql, pg_result* result);

  size_t rows() const;
  bool has(size_t row, size_t column) const;  // false: it is null
  std::string_view at(size_t row, size_t column) const;

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };
  std::unique_ptr<pg_result, Clear> result_;
};

// A value that is bound to a statement; what stands in its text is never data.
struct BoundValue {
  std::string bytes;
  bool binary = false;
};

// Runs a statement with $1, $2 … once; the answer's columns are bytes.
Answer ask_bytes(soci::session& sql, const char* statement, const std::vector<BoundValue>& values);

// Statements that a server takes apart once for a connection, and not for every call: for those that every trial needs. Their
// number is that of the places that call run().
class PreparedStatements {
 public:
  // `text`: with :names in the order of the values, each once. On a connection that was made anew they are prepared anew.
  Answer run(soci::session& sql, const std::string& text, const std::vector<std::string>& values);

 private:
  int server_process_ = 0;                    // of the connection that knows them
  std::map<std::string, std::string> names_;  // by text
};

}  // namespace quasar::search
