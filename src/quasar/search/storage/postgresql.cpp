// Studies in a PostgreSQL database, in Optuna's relational schema: many processes on many machines work on one study.
//
// A transaction is a transaction that locks the study's row, as Optuna does when it numbers a trial. The leader of a search holds
// an advisory lock, which ends with its connection. All threads of a process have one connection: heartbeats go over it between
// two turns, whose waits for others are short. What others tell (NOTIFY) comes on it, too.
#include <libpq-fe.h>
#include <soci/postgresql/soci-postgresql.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <thread>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/process.hpp"
#include "quasar/base/system/socket.hpp"
#include "quasar/search/enqueued.hpp"
#include "quasar/search/optuna/relational.hpp"
#include "quasar/search/postgresql/postgresql_answers.hpp"
#include "quasar/search/postgresql/postgresql_files.hpp"
#include "quasar/search/postgresql/postgresql_processes.hpp"
#include "quasar/search/postgresql/postgresql_session.hpp"
#include "quasar/search/postgresql/server_watch.hpp"

namespace quasar::search::storage {
namespace {

constexpr int schema_lock = 0;     // studies' numbers begin at 1
constexpr int most_failures = 20;  // in a row, of work that the server gives up
constexpr double quiet_for = 2;    // seconds until one who waits for news sees whether the server still answers

soci::postgresql_session_backend* backend_of(soci::session& sql) {
  return static_cast<soci::postgresql_session_backend*>(sql.get_backend());
}

class Postgresql final : public Relational, public Sharing {
 public:
  explicit Postgresql(const Options& options)
      : address_(postgresql_address(options.text("url"))), patience_(options.real("timeout")), watch_(address_, patience_) {
    try {
      connect(sql_, address_);
      const Waiting waiting(*this);
      if (options.flag("to_read") && tables() == 0) throw NoStudies(where() + " holds no study");
      if (!options.flag("to_read")) fill();
      check_version(address_.for_others);
    } catch (const soci::soci_error& error) {
      refuse(error, address_, sql_);
    }
  }

  Sharing* sharing() override { return this; }
  FileStore* files() override { return &files_; }
  Answers* answers() override { return &answers_; }

  void remove(const StudyRecord& study) override {
    Relational::remove(study);
    files_.forget_unused();
  }

  void tell_to(Log log) override {
    const std::scoped_lock lock(mutex_, death_mutex_);
    death_log_ = log;
    watch_.tell_to(log);
    log_ = std::move(log);
  }

  std::unique_ptr<StudyLock> lock(const StudyRecord& study) override {
    guarded([&] { take_hold(study.id, study.name); });
    return std::make_unique<Locked>(*this, study.id);
  }

  // Whoever waits long for it lets the heart beat in between.
  std::unique_ptr<StudyTransaction> transaction(int64_t study) override {
    for (;;) {
      auto taken = std::make_unique<MyTransaction>(*this);
      const bool is_mine = guarded([&] {
        sql_ << "BEGIN";
        try {
          lock_study(study);
        } catch (const soci::soci_error& error) {
          undo();
          if (is_broken(sql_) || !was_given_up(error)) throw;
          return false;
        }
        return true;
      });
      if (is_mine) {
        taken->begin();
        return taken;
      }
      throw_if_cancelled();
    }
  }

  void start(int64_t study, Trial& trial) override {
    guarded([&] {
      Transaction transaction(*this, begin_writing());
      if (!in_transaction_) lock_study(study);
      Trial begun = trial;
      optuna::insert_begun(prepared_, study, begun, writer_.rows(trial));
      transaction.commit();
      trial.id = begun.id;
      trial.number = begun.number;
    });
  }

  void finish(int64_t study, const Trial& trial) override {
    guarded([&] { expect_one(optuna::update_ended(prepared_, study, trial) ? 1 : 0, trial); });
  }

  void release(int64_t study, const Trial& trial) override {
    guarded([&] { expect_one(optuna::update_released(sql_, study, trial) ? 1 : 0, trial); });
  }

  void resume(int64_t, const Trial& trial) override {
    using Rows = std::vector<optuna::TrialWriter::Parameter>;
    guarded([&] {
      const Rows rows = trial.system_attributes.contains(enqueued_attribute) ? writer_.rows(trial) : Rows();
      expect_one(optuna::update_resumed(sql_, trial, rows) ? 1 : 0, trial);
    });
  }

  void set_attribute(int64_t study, const std::string& key, const Json& value) override {
    if (key.starts_with(optuna::system_prefix)) return Relational::set_attribute(study, key, value);
    guarded([&] { optuna::write_word(sql_, study, key, optuna::text_of(value)); });
  }

  Updates updates(int64_t study, int64_t after, const std::map<int64_t, State>& known,
                  const std::vector<std::string>& words) override {
    return guarded([&] { return making_sense([&] { return optuna::read_updates(prepared_, study, after, known, words); }); });
  }

  void note(const Trial& trial, const std::string& key, const Json& value) override {
    guarded([&] { optuna::write_attribute(sql_, "trial_user", trial.id, key, optuna::text_of(value)); });
  }

  Json attribute(int64_t study, const std::string& key) override {
    const auto text = beside([&](soci::session& sql) { return optuna::read_attribute(sql, "study_user", study, key); });
    return text ? parse_json(*text, "study database") : Json();
  }

  bool is_locked(int64_t study) override {
    return beside([&](soci::session& sql) { return search::is_held(sql, study); });
  }

  std::string leaders(const std::string& key) override {
    return guarded([&] { return leaders_of(sql_, key); });
  }

  Pulse pulse(int64_t study, std::span<const int64_t> mine, const std::vector<std::string>& words) override {
    return beside([&](soci::session& sql) { return optuna::exchange_pulse(sql, study, mine, words); });
  }

  void follow(int64_t study, bool is_waiting) override {
    const std::scoped_lock lock(mutex_);
    const std::string channel = optuna::trials_channel(study);
    if (is_waiting == channels_.contains(channel)) return;
    beside([&](soci::session& sql) { sql << (is_waiting ? "LISTEN " : "UNLISTEN ") << channel; });
    if (is_waiting) {
      channels_.insert(channel);
    } else {
      channels_.erase(channel);
    }
  }

  News wait_for_news(int64_t study, double seconds, const std::stop_token& stop) override {
    constexpr int slice = 50;  // milliseconds
    constexpr auto busy = std::chrono::milliseconds(5);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    for (;;) {
      News news;
      int socket = -1;
      if (const std::unique_lock lock(mutex_, std::try_to_lock); lock.owns_lock()) {
        if (is_broken(sql_)) beside([](soci::session&) {});
        if (channels_.insert(optuna::words_channel).second) {
          beside([](soci::session& sql) { sql << "LISTEN " << optuna::words_channel; });
          missed_ = true;
        }
        hear_notices();
        socket = PQsocket(backend_of(sql_)->conn_);
        news = {.trials = missed_ || trials_of_.contains(study),
                .words = missed_ || words_of_.contains(study) || (study < 0 && !words_of_.empty())};
        missed_ = false;
        words_of_.clear();
        trials_of_.clear();
      }
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
      if (news.trials || news.words || left <= 0 || stop.stop_requested()) return news;
      if (socket < 0) {  // whoever has the connection hears for this thread, too
        std::this_thread::sleep_for(busy);
      } else {
        is_ready(socket, true, static_cast<int>(std::min<int64_t>(slice, left)));
      }
    }
  }

  Liveness liveness(int64_t study) override {
    return beside([&](soci::session& sql) { return liveness_of(sql, study); });
  }

  bool requeue_dead(int64_t trial, const std::string& heartbeat, int64_t max_retry) override {
    const auto told = beside([&](soci::session& sql) { return take_from_the_dead(sql, trial, heartbeat, max_retry); });
    if (!told) return false;
    const std::scoped_lock lock(death_mutex_);
    tell(death_log_, Level::warning, *told);
    return true;
  }

  std::string where() const override { return address_.shown; }

 protected:
  // Whoever reads all there is goes through the tables.
  const char* begin_reading() const override {
    return "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL enable_seqscan = on";
  }

  void lock_study(int64_t study) override {
    int64_t locked = 0;
    sql_ << "SELECT study_id FROM studies WHERE study_id = :s FOR UPDATE", soci::use(study), soci::into(locked);
  }

  void before_waiting() override { give_way(); }
  void begin_waiting() override { line_.begin(sql_); }
  void end_waiting() override {
    line_.end();
    answered_ = std::chrono::steady_clock::now();
  }

  // A lost connection is waited for, and what was only given up is done again, unless a transaction was lost with it.
  void recover(const soci::soci_error& error, int failures) override {
    const std::string database = "study database " + where();
    const bool one = held_.size() == 1;  // the study that this process leads
    if (!is_broken(sql_) && was_given_up(error) && failures < most_failures) {
      if (in_transaction_) throw ConnectionLost("the transaction in the " + database + " was lost: " + plain(error));
      return;
    }
    if (!is_broken(sql_))
      refuse_statement(error, sql_, one ? "the study '" + held_.begin()->second + "' in the " + database : database);
    if (in_transaction_) throw ConnectionLost("the connection to " + where() + " was lost");
    const double waited = line_.end();
    reconnect(sql_, address_, {std::max(0.0, patience_ - waited), plain(error), log_});
    line_.begin(sql_);
    come_back();
  }

 private:
  struct Locked final : StudyLock {
    Locked(Postgresql& owner, int64_t study) : owner_(owner), study_(study) {}
    ~Locked() override { owner_.let_go(study_); }

   private:
    Postgresql& owner_;
    int64_t study_;
  };

  // Holds the connection, too, so that nothing of another thread gets into its transaction.
  class MyTransaction final : public StudyTransaction {
   public:
    explicit MyTransaction(Postgresql& owner) : owner_(owner), lock_(owner.mutex_, std::defer_lock) {
      owner_.give_way();
      lock_.lock();
    }
    ~MyTransaction() override {
      if (!open_) return;
      owner_.in_transaction_ = false;
      owner_.undo();
    }
    void begin() { open_ = owner_.in_transaction_ = true; }
    void commit() override {
      owner_.guarded([&] { owner_.sql_ << "COMMIT"; });
      open_ = owner_.in_transaction_ = false;
    }

   private:
    Postgresql& owner_;
    std::unique_lock<std::recursive_mutex> lock_;
    bool open_ = false;
  };

  void undo() {
    const Waiting waiting(*this);
    try {
      sql_ << "ROLLBACK";
    } catch (const soci::soci_error&) {  // the connection is gone, and the transaction with it
    }
  }

  // How many of Optuna's there are. Throws Error when they are somebody else's.
  int tables() {
    int tables = 0;
    int versions = 0;
    sql_ << "SELECT COUNT(*), COALESCE(SUM(CASE WHEN tablename IN ('version_info', 'studies') THEN 1 ELSE 0 END), 0) FROM "
            "pg_tables "
            "WHERE schemaname = current_schema() AND tablename IN ('version_info', 'studies', 'trials')",
        soci::into(tables), soci::into(versions);
    if (tables > 0 && versions < 2) throw Error(where() + " has tables of these names, but is not a study database");
    return tables;
  }

  void fill() {
    Transaction transaction(*this, "BEGIN");
    sql_ << lock_of_tables_;  // one process makes them
    if (tables() == 0) {
      refuse_encoding(sql_, address_);
      create_schema(optuna::postgresql_schema());
    }
    transaction.commit();
  }

  void take_hold(int64_t study, const std::string& name) {
    if (!hold(sql_, study))
      throw Error("the study '" + name + "' in " + where() + " is in use by " + holder_of(sql_, study) +
                  "; `quasar worker` joins its search, otherwise wait until it has ended, or choose another study_name");
    held_[study] = name;
  }

  void let_go(int64_t study) {
    const std::scoped_lock lock(mutex_);
    held_.erase(study);
    const Waiting waiting(*this);
    try {
      release_hold(sql_, study);
    } catch (const soci::soci_error&) {  // gone with the connection
    }
  }

  // What a connection that was made anew has to know.
  void come_back() {
    for (const auto& [study, name] : held_) take_hold(study, name);
    for (const std::string& channel : channels_) sql_ << "LISTEN " << channel;
    missed_ = true;
  }

  // What has come on the connection, on which nobody waits for an answer. One that has been quiet is asked for nothing, which a
  // server that is stopped does not answer.
  void hear_notices() {
    PGconn* connection = backend_of(sql_)->conn_;
    if (std::chrono::steady_clock::now() - answered_ > std::chrono::duration<double>(quiet_for)) {
      const Waiting waiting(*this);
      PQclear(PQexec(connection, ""));
    } else {
      PQconsumeInput(connection);
    }
    while (PGnotify* notice = PQnotifies(connection)) {
      const std::string channel = notice->relname, word = notice->extra;
      const bool is_mine = notice->be_pid == PQbackendPID(connection);
      PQfreemem(notice);
      if (is_mine) continue;
      const bool is_word = channel == optuna::words_channel;
      if (is_word) words_of_.insert(std::strtoll(word.c_str(), nullptr, 10));
      if (!is_word) trials_of_.insert(optuna::study_of_channel(channel));
    }
  }

  // Whoever is about to wait for the connection does not wait for a server that is gone, and that he would not wait for himself.
  void give_way() {
    const std::scoped_lock lock(giving_mutex_);
    if (giving_way_) giving_way_->request_stop();
  }

  // The connection made anew, without waiting for the server, and for nothing where another thread needs the connection.
  void connect_again() {
    const auto set = [this](std::optional<std::stop_source> source) {
      const std::scoped_lock lock(giving_mutex_);
      giving_way_ = std::move(source);
    };
    const std::stop_token mine = current_cancellation();
    std::stop_source over;
    const std::stop_callback forward(mine, [&over] { over.request_stop(); });
    const CancelScope scope(over.get_token());
    set(over);
    try {
      sql_.close();
      connect(sql_, address_);
      come_back();
      set({});
    } catch (const Cancelled&) {
      set({});
      if (mine.stop_requested()) throw;
      throw ConnectionLost("the connection to " + where() + " was lost");
    } catch (...) {
      set({});
      sql_.close();
      throw;
    }
  }

  // Work that waits for no server that is gone: whoever does it tries again later.
  template <class Work>
  auto beside(const Work& work) -> decltype(work(std::declval<soci::session&>())) {
    give_way();
    const std::scoped_lock lock(mutex_);
    for (int attempt = 0;; ++attempt) {
      try {
        if (!in_transaction_ && is_broken(sql_)) connect_again();
        const Waiting waiting(*this);
        return work(sql_);
      } catch (const soci::soci_error& error) {
        const bool broken = is_broken(sql_);
        const std::string why = plain(error);
        if (!in_transaction_ && (broken ? attempt == 0 : was_given_up(error) && attempt + 1 < most_failures)) continue;
        if (broken || in_transaction_) throw ConnectionLost("study database " + where() + ": " + why + hint_of(why));
        refuse_statement(error, sql_, "study database " + where());
      }
    }
  }

  PostgresqlAddress address_;
  double patience_;
  Log log_;
  ServerWatch watch_;
  ServerWatch::Line line_{watch_};
  std::map<int64_t, std::string> held_;  // studies that this process leads, with their names
  std::chrono::steady_clock::time_point answered_{};
  std::set<std::string> channels_;              // that are listened to
  std::set<int64_t> words_of_, trials_of_;      // studies of which something was told
  bool missed_ = false;                         // something may have been told that nobody heard
  std::mutex giving_mutex_;                     // of the next
  std::optional<std::stop_source> giving_way_;  // of whoever makes the connection anew, and may be asked to let it be
  std::mutex death_mutex_;
  Log death_log_;
  PreparedStatements statements_;
  const optuna::Prepared prepared_{sql_, statements_};
  const std::string lock_of_tables_ =
      "SELECT pg_advisory_xact_lock(" + std::to_string(lock_class) + ", " + std::to_string(schema_lock) + ")";
  PostgresqlFiles files_{[this](const auto& work) { guarded([&] { work(sql_); }); }, lock_of_tables_, address_.shown};
  PostgresqlAnswers answers_{[this](const auto& work) { guarded([&] { work(sql_, statements_); }); }, lock_of_tables_};
};

}  // namespace

Entry<Storage> postgresql() {
  return {.help = "A PostgreSQL database that many machines share, and Optuna opens too.",
          .make = make_as<Postgresql, Storage>,
          .options = {{.name = "url", .fallback = "", .help = "postgresql://user@host:port/database"},
                      {.name = "to_read", .fallback = false, .help = "tables of studies must exist, and none are made"},
                      {.name = "timeout", .fallback = 300.0, .help = "seconds to wait for a server that is gone", .low = 0}}};
}

}  // namespace quasar::search::storage
