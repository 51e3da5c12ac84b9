// What processes of a search have found out for each other, in a table beside Optuna's, which it does not look at. A study's rows
// go with it, whoever deletes it.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "quasar/search/postgresql/postgresql_statement.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::search {

class PostgresqlAnswers final : public Answers {
 public:
  // Calls what it is given with the connection and its statements, once it is this thread's, and again where that was lost.
  using WithConnection = std::function<void(const std::function<void(soci::session&, PreparedStatements&)>&)>;

  // `lock`: a statement that keeps other processes out until the end of its transaction.
  PostgresqlAnswers(WithConnection with, std::string lock) : with_(std::move(with)), lock_(std::move(lock)) {}

  Known ask(int64_t study, std::span<const std::string> questions, size_t most) override;
  void answer(int64_t study, const std::map<std::string, Json>& answers) override;
  void forget(int64_t study, const std::string& question) override;

 private:
  void make_table(soci::session& sql);

  WithConnection with_;
  std::string lock_;
  std::atomic<bool> is_there_ = false;  // the table
};

}  // namespace quasar::search
