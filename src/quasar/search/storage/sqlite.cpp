// A study in an SQLite file, in the relational schema of Optuna (version 12, alembic v3.2.0.a): optuna.load_study and
// optuna-dashboard open the file as it is.
//
// Write-ahead logging with synchronous = normal: a transaction survives the death of the process at any moment; the loss of power
// may take the last ones back, but never damages the file.
#include <soci/sqlite3/soci-sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "quasar/base/file_lock.hpp"
#include "quasar/base/percent.hpp"
#include "quasar/base/system/file_facts.hpp"
#include "quasar/search/optuna/relational.hpp"

namespace quasar::search::storage {
namespace {

class Sqlite final : public Relational {
 public:
  explicit Sqlite(const Options& options) : path_(options.text("path")) {
    if (path_.empty()) throw Error("storage sqlite: option 'path' is missing");
    if (path_.find('"') != std::string::npos) throw Error("the path of a study database must not contain quotes: " + path_);
    timeout_ = options.integer("timeout");
    guarded([&] { open(options.flag("to_read")); });
    mine_ = file_identity(path_);
  }

  // SQLite goes on with the file that it has open, whatever has become of its name.
  std::string lost() override {
    const auto there = file_identity(path_);
    if (!there || !mine_ || *there == *mine_) return "";
    return "the study's file " + path_ + (there->second == 0 ? " was removed or renamed" : " was replaced by another one") +
           " while it was in use";
  }

  std::unique_ptr<StudyLock> lock(const StudyRecord& study) override {
    return std::make_unique<Locked>(lock_file(), "the study '" + study.name + "' in " + path_, study.id);
  }

  std::optional<bool> is_held(const StudyRecord& study) override { return FileLock::is_held(lock_file(), study.id); }

  std::string where() const override { return path_; }

 protected:
  const char* begin_writing() const override { return "BEGIN IMMEDIATE"; }

  void recover(const soci::soci_error& error, int /*failures*/) override {
    const std::string why = plain(error.what());
    const auto says = [&](const char* words) { return why.find(words) != std::string::npos; };
    const std::string way_out = ": move it away with the results beside it, and search again";
    if (says("not a database") || says("malformed")) throw Error(path_ + " is damaged, or no study database" + way_out);
    if (says("UNIQUE constraint failed"))
      throw Error("study database " + path_ + " is damaged, its rows contradict each other (" + why + ")" + way_out);
    if (says("no such table") || says("no such column") || says("has no column named"))
      throw Error("study database " + path_ + " is damaged, or was made by another version of Optuna (" + why + ")" + way_out);
    if (says("Null value"))
      throw Error("study database " + path_ + " is damaged, a row of it lacks what must be there" + way_out);
    const bool hidden = says("disk I/O error") && has_no_room();
    throw Error("study database " + path_ + ": " + why + (hidden ? " (the disk is full)" : "") + hint_of(why),
                says("readonly") || says("unable to open") ? Blame::setup : Blame::world);
  }

 private:
  std::string lock_file() const { return path_ + "-lock"; }

  // SQLite's words without SOCI's: "sqlite3_statement_backend::loadOne: <words> while executing "COMMIT".".
  static std::string plain(const std::string& why) {
    const size_t name = why.find("::"), begin = name == std::string::npos ? name : why.find(": ", name);
    const std::string words = begin == std::string::npos ? why : why.substr(begin + 2);
    return words.substr(0, std::min(words.find(" while executing"), words.find(" while preparing")));
  }

  std::string hint_of(const std::string& why) const {
    const auto says = [&](const char* words) { return why.find(words) != std::string::npos; };
    if (says("locked")) return "; another program is writing to it: try again when it has ended";
    if (says("full") || has_no_room()) return "; make room, and continue with --resume";
    if (says("readonly")) return "; it, or its folder, may not be written to";
    if (!says("unable to open")) return "";
    const auto folder = std::filesystem::absolute(path_).parent_path();
    std::error_code ignored;
    const bool there = std::filesystem::exists(path_, ignored);
    if (!std::filesystem::exists(folder, ignored)) return "; there is no folder '" + folder.string() + "'";
    if (there && !may_read(path_)) return "; it may not be read";
    if ((there && !may_write(path_)) || !may_write(folder)) return "; it, or its folder, may not be written to";
    return "";
  }

  // SQLite's shared memory and journal fail without saying why.
  bool has_no_room() const {
    std::error_code code;
    const auto space = std::filesystem::space(std::filesystem::absolute(path_).parent_path(), code);
    return !code && space.available < 64 << 10;
  }

  struct Locked final : StudyLock {
    Locked(const std::string& file, const std::string& what, int64_t study)
        : lock_(file, what, "wait until it has ended, or choose another study_name or output_dir", study) {}

   private:
    FileLock lock_;
  };

  // SQLite does not wait for other processes here, whatever its timeout; once set, the mode stays in the file.
  void become_wal() {
    for (int attempt = 0;; ++attempt) {
      try {
        std::string mode;
        sql_ << "PRAGMA journal_mode = WAL", soci::into(mode);
        return;
      } catch (const soci::soci_error&) {
        if (attempt >= 100) throw;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
    }
  }

  void connect(const std::string& file) {
    sql_.open(soci::sqlite3, "dbname=\"" + file + "\" timeout=" + std::to_string(timeout_));
  }

  // Without a writer's log the file is the whole study, and nothing need be made beside it.
  void expect_whole() const {
    for (const char* end : {"-wal", "-journal"}) {
      std::error_code code;
      const auto size = std::filesystem::file_size(path_ + end, code);
      if (code || size == 0) continue;
      throw Error("the newest trials of the study database " + path_ + " are in " + path_ + end +
                      ", and cannot be read where nothing may be written beside them: copy the folder to where you may write, or "
                      "let whoever may write there run `quasar report` once",
                  Blame::setup);
    }
  }

  // SQLite makes files beside a database that it reads; where it may not, the file is read as one that nobody changes.
  void connect_to_read() {
    int tables = 0;
    try {
      connect(path_);
      sql_ << "SELECT COUNT(*) FROM sqlite_master", soci::into(tables);
    } catch (const soci::soci_error& error) {
      const std::string why = error.what();
      const bool refused = why.find("unable to open") != std::string::npos || why.find("readonly") != std::string::npos;
      if (!refused || !may_read(path_)) throw;
      expect_whole();
      sql_.close();
      connect("file:" + encoded(std::filesystem::absolute(path_).string()) + "?immutable=1");
    }
  }

  void open(bool to_read) {
    if (to_read) {
      connect_to_read();
    } else {
      connect(path_);
    }
    int tables = 0;
    int versions = 0;
    sql_ << "SELECT COUNT(*), COALESCE(SUM(name IN ('version_info', 'studies')), 0) FROM sqlite_master WHERE type = 'table'",
        soci::into(tables), soci::into(versions);
    if (tables > 0 && versions < 2) throw Error(path_ + " is an SQLite file, but not a study database");
    // What would compute something whenever it is read or written, perhaps without end.
    int living = 0;
    sql_ << "SELECT COUNT(*) FROM sqlite_master WHERE type IN ('view', 'trigger') OR (type = 'table' AND rootpage = 0)",
        soci::into(living);
    if (living > 0) throw Error(path_ + " holds views, triggers or virtual tables, which no study database does");
    if (to_read) {
      if (tables == 0) throw NoStudies(path_ + " holds no study");
      sql_ << "PRAGMA query_only = ON";
    } else {
      become_wal();
      sql_ << "PRAGMA synchronous = NORMAL";
      if (tables == 0) fill();
    }
    check_version("sqlite:///" + path_);
  }

  void fill() {
    Transaction transaction(*this, begin_writing());
    int tables = 0;
    sql_ << "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table'", soci::into(tables);
    if (tables > 0) return;  // another process was faster
    create_schema(optuna::sqlite_schema());
    transaction.commit();
  }

  std::string path_;
  int64_t timeout_ = 10;
  std::optional<FileIdentity> mine_;
};

}  // namespace

Entry<Storage> sqlite() {
  return {.help = "An SQLite file that Optuna and optuna-dashboard open too.",
          .make = make_as<Sqlite, Storage>,
          .options = {{.name = "path", .fallback = "", .help = "the file; created when it does not exist"},
                      {.name = "to_read", .fallback = false, .help = "the file must exist, and is not changed"},
                      {.name = "timeout", .fallback = 10, .help = "seconds to wait for another writer", .low = 0}}};
}

}  // namespace quasar::search::storage
