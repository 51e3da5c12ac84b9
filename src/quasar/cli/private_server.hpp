// A PostgreSQL server of the user's own, from the programs that are installed: its data in a folder, one user with a password who
// owns the studies and no more, encrypted connections only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "quasar/base/file_lock.hpp"
#include "quasar/base/log.hpp"

namespace quasar::cli {

struct PrivateServerOptions {
  std::filesystem::path folder;      // made when it does not exist
  std::string listen = "127.0.0.1";  // an address of this machine, also of IPv6, or 0.0.0.0: all of them
  int64_t port = 5432;
};

class PrivateServer {
 public:
  // Makes the data where the folder has none, and starts the server, or takes over one whose process died; returns when it
  // answers. One that another process serves is left to that. `log` hears what the user should know. Throws Error where that is
  // not possible; and Cancelled.
  PrivateServer(PrivateServerOptions options, const Log& log);

  // Ends it, unless another process serves it: connections are cut, the data is safe. Throws Error when it does not end.
  void stop();

  bool runs() const;

  // For workers anywhere, with the password.
  std::string address() const;

  // The last words in the server's log.
  std::string last_words() const;

 private:
  void make(const Log& log);
  bool make_owner() const;         // who works with the studies; false: it failed
  bool take_hold(const Log& log);  // false: another process serves the folder
  void expect_no_other_files() const;
  void expect_same_settings(const std::string& who) const;
  [[noreturn]] void refuse_to_start(uintmax_t before) const;  // what the log held before
  uintmax_t size_of_log() const;
  void remove_unfinished() const;
  void forget_dead_server(const Log& log) const;
  void clear() const;  // of what make() makes
  std::string settings() const;
  void own(const std::filesystem::path& path) const;
  // A program of the server's, as the user who may run it; what it says stands in the folder. false: it failed.
  bool run(std::vector<std::string> words) const;
  std::vector<std::string> control(const std::vector<std::string>& words) const;
  std::filesystem::path data() const { return options_.folder / "data"; }
  std::filesystem::path lock_file() const { return options_.folder / ".quasar-lock"; }
  std::filesystem::path machine() const { return options_.folder / "machine"; }  // on which it was started last
  std::filesystem::path output() const { return options_.folder / "output"; }
  std::filesystem::path errors() const { return options_.folder / "messages"; }

  PrivateServerOptions options_;
  std::filesystem::path programs_;
  std::string user_;                // whom it runs as; "": this process's
  std::unique_ptr<FileLock> lock_;  // nullptr: another process serves the folder
};

}  // namespace quasar::cli
