// A PostgreSQL server of the user's own, from the programs that are installed: its data in a folder, one user with a password who
// owns the studies and no more, encrypted connections only.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quasar/base/log.hpp"

namespace quasar::cli {

struct PrivateServerOptions {
  std::filesystem::path folder;      // made when it does not exist
  std::string listen = "127.0.0.1";  // an address of this machine, also of IPv6, or 0.0.0.0: all of them
  int64_t port = 5432;
};

class PrivateServer {
 public:
  // Makes the data where the folder has none, and starts the server, or takes over one that runs there; returns when it answers.
  // `log` hears what the user should know. Throws Error, with the server's own words, where that is not possible; and Cancelled.
  PrivateServer(PrivateServerOptions options, const Log& log);

  // Ends it: connections are cut, the data is safe. Throws Error when it does not end.
  void stop();

  bool runs() const;

  // For workers anywhere, with the password.
  std::string address() const;

  // The last words in the server's log.
  std::string last_words() const;

 private:
  void make(const Log& log);
  bool make_owner() const;  // who works with the studies; false: it failed
  void remove_unfinished() const;
  void forget_dead_server(const Log& log) const;
  void clear() const;  // of what make() makes
  std::string settings() const;
  void own(const std::filesystem::path& path) const;
  // A program of the server's, as the user who may run it; what it says stands in the folder. false: it failed.
  bool run(std::vector<std::string> words) const;
  std::vector<std::string> control(const std::vector<std::string>& words) const;
  std::filesystem::path data() const { return options_.folder / "data"; }
  std::filesystem::path machine() const { return options_.folder / "machine"; }  // on which it was started last
  std::filesystem::path output() const { return options_.folder / "output"; }
  std::filesystem::path errors() const { return options_.folder / "messages"; }

  PrivateServerOptions options_;
  std::filesystem::path programs_;
  std::string user_;  // whom it runs as; "": this process's
};

}  // namespace quasar::cli
