// Studies in Optuna's relational schema, over one connection of SOCI: what is the same for every kind of database. A kind says
// how it is opened and what its errors mean.
#pragma once

#include <soci/soci.h>

#include <mutex>

#include "quasar/search/optuna/optuna_format.hpp"
#include "quasar/search/optuna/optuna_rows.hpp"
#include "quasar/search/optuna/optuna_schema.hpp"
#include "quasar/search/optuna/trial_statements.hpp"
#include "quasar/search/storage.hpp"

namespace quasar::search {

class Relational : public Storage {
 public:
  std::vector<StudyRecord> studies() override;
  StudyRecord create(const std::string& name, const std::vector<Direction>& directions) override;
  void set_attribute(int64_t study, const std::string& key, const Json& value) override;
  std::vector<Trial> trials(int64_t study) override;
  std::vector<Trial> later(int64_t study, int64_t after) override;
  void start(int64_t study, Trial& trial) override;
  void finish(int64_t study, const Trial& trial) override;
  void release(int64_t study, const Trial& trial) override;
  void resume(int64_t study, const Trial& trial) override;
  void remove(const StudyRecord& study) override;

 protected:
  // What begins a transaction: "BEGIN IMMEDIATE", so that whoever is to write waits at once and never deadlocks.
  virtual const char* begin_writing() const { return "BEGIN"; }
  // The same where several statements must see one state.
  virtual const char* begin_reading() const { return "BEGIN"; }
  // Keeps other processes from starting trials until the transaction's end.
  virtual void lock_study(int64_t /*study*/) {}
  // Returns when the work, which has failed so many times, may be tried again; otherwise throws Error in words for people.
  virtual void recover(const soci::soci_error& error, int failures) = 0;

  // Before a thread waits for its turn at the connection.
  virtual void before_waiting() {}
  // The database is asked from here on, and has answered.
  virtual void begin_waiting() {}
  virtual void end_waiting() {}

  // For as long as it lives, the database is asked; one within another is the other's. Whoever makes it has mutex_.
  class Waiting {
   public:
    explicit Waiting(Relational& owner) : owner_(owner) {
      if (owner_.waiting_++ == 0) owner_.begin_waiting();
    }
    ~Waiting() {
      if (--owner_.waiting_ == 0) owner_.end_waiting();
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    Relational& owner_;
  };

  // Rolls back unless committed. Within a transaction it is the transaction's.
  class Transaction {
   public:
    Transaction(Relational& owner, const char* begin);
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    void commit();

   private:
    Relational& owner_;
    bool done_;
  };

  // Everything that talks to the database goes through here: one thread at a time, errors in words for people.
  template <class Work>
  auto guarded(const Work& work) -> decltype(work()) {
    before_waiting();
    const std::scoped_lock lock(mutex_);
    const Waiting waiting(*this);
    for (int failures = 1;; ++failures) {
      try {
        return work();
      } catch (const soci::soci_error& error) {
        recover(error, failures);
      } catch (const Json::exception& error) {
        throw Error("study database " + where() + ": " + error.what(), Blame::setup);
      }
    }
  }

  // The same for what is read at one moment.
  template <class Work>
  auto reading(const Work& work) -> decltype(work()) {
    return guarded([&] {
      const Transaction snapshot(*this, begin_reading());
      return making_sense(work);
    });
  }

  // Rows that make no sense are said to be this database's.
  template <class Work>
  auto making_sense(const Work& work) -> decltype(work()) {
    try {
      return work();
    } catch (const Error& error) {
      const std::string why = error.what();
      const char* advice = why.ends_with("damaged")
                               ? ": restore it from a backup, or search anew under another study_name and in another output_dir"
                               : "";
      throw Error("study database " + where() + ": " + why + advice, error.blame());
    }
  }

  // Within the caller's transaction: the tables, and the versions that Optuna looks for.
  void create_schema(const std::vector<std::string>& statements);
  // Throws Error for a version that Quasar does not know.
  void check_version(const std::string& url);
  void check_revision(const std::string& url);
  // Throws TrialChanged when a change of a trial's state did not find it.
  void expect_one(long long rows, const Trial& trial) const;

  std::recursive_mutex mutex_;
  soci::session sql_;
  optuna::TrialWriter writer_{sql_};
  int waiting_ = 0;
  bool in_transaction_ = false;  // a transaction is open that spans several calls
};

}  // namespace quasar::search
