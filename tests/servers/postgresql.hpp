// A PostgreSQL server of a test's own: a temporary folder, a free port, an unprivileged user, a password.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "quasar/base/file.hpp"

namespace quasar::servers {

class Postgresql {
 public:
  // nullptr where there are no programs of a server (Debian's package postgresql), or nobody to run them as. `host`: where it
  // listens. `settings`: "name=value".
  static std::unique_ptr<Postgresql> start(const std::string& host = "127.0.0.1", std::vector<std::string> settings = {}) {
    const auto programs = find_programs();
    const auto account = find_user();
    if (!programs || !account) return nullptr;
    auto server = std::unique_ptr<Postgresql>(new Postgresql(*programs, *account, host));
    server->settings_ = std::move(settings);
    return server->begin() ? std::move(server) : nullptr;
  }

  ~Postgresql() { stop(SIGINT); }
  Postgresql(const Postgresql&) = delete;
  Postgresql& operator=(const Postgresql&) = delete;

  static constexpr const char* user = "quasar_test";
  static constexpr const char* password = "top@secret  / \t42";  // needs encoding in an address
  static constexpr const char* encoded = "top%40secret%20%20%2F%20%0942";

  std::string url(const std::string& database = "postgres") const {
    return std::string("postgresql://") + user + ":" + encoded + "@" + host_ + ":" + std::to_string(port_) + "/" + database;
  }
  int port() const { return port_; }

  // Some SQL, by psql, from several threads at once. false: it failed.
  bool run(const std::string& sql) const {
    const pid_t child = spawn({programs_ + "/psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url(), "-c", sql}, "psql");
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0;
  }
  // What some SQL gives, one row a line, "a|b" of columns; by one thread at a time.
  std::string ask(const std::string& sql) const {
    const pid_t child = spawn({programs_ + "/psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url(), "-c", sql}, "answer");
    waitpid(child, nullptr, 0);
    return read_file(folder_.path() / "answer");
  }
  pid_t pid() const { return pid_; }
  std::string log() const { return read_file(folder_.path() / "log"); }

  // Stops all of its processes where they are, or lets them go on.
  void freeze(bool stopped) const {
    const int signal = stopped ? SIGSTOP : SIGCONT;
    kill(pid_, signal);  // first: it makes no process meanwhile
    const std::string server = std::to_string(pid_);
    std::ifstream children("/proc/" + server + "/task/" + server + "/children");
    for (pid_t child = 0; children >> child;) kill(child, signal);
  }

  // SIGINT: connections are cut, the data is safe. SIGQUIT: as a crash.
  void stop(int signal) {
    const pid_t server = pid_.exchange(-1);
    if (server <= 0) return;
    kill(server, signal);
    waitpid(server, nullptr, 0);
  }

  // false: it has ended, or does not answer for as long as a test may take.
  bool begin() {
    std::vector<std::string> words{
        programs_ + "/postgres",     "-D", data(),      "-p", std::to_string(port_), "-k", folder_.path().string(), "-c",
        "listen_addresses=" + host_, "-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_connections=300"};
    for (const std::string& setting : settings_) words.insert(words.end(), {"-c", setting});
    pid_ = spawn(words);
    for (int i = 0; i < 12000; ++i) {
      if (answers()) return true;
      if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
        pid_ = -1;
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

 private:
  Postgresql(std::string programs, const passwd& account, std::string host)
      : programs_(std::move(programs)),
        user_(account.pw_uid),
        group_(account.pw_gid),
        host_(std::move(host)),
        port_(free_port(host_)) {
    if (geteuid() == 0 && chown(folder_.path().c_str(), user_, group_) != 0) return;
    write_file(folder_.path() / "password", password);
    if (geteuid() == 0 && chown((folder_.path() / "password").c_str(), user_, group_) != 0) return;
    const pid_t made = spawn({programs_ + "/initdb", "-D", data(), "-U", user, "-A", "scram-sha-256", "--pwfile",
                              (folder_.path() / "password").string(), "-E", "UTF8", "--locale=C", "--no-sync"});
    waitpid(made, nullptr, 0);
    if (host_ != "127.0.0.1") std::ofstream(data() + "/pg_hba.conf", std::ios::app) << "host all all all scram-sha-256\n";
  }

  static std::optional<std::string> find_programs() {
    std::error_code ignored;
    std::optional<std::string> newest;
    for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", ignored)) {
      const std::string programs = (version.path() / "bin").string();
      if (access((programs + "/initdb").c_str(), X_OK) == 0 && (!newest || *newest < programs)) newest = programs;
    }
    return newest;
  }

  // Servers refuse to run as root.
  static std::optional<passwd> find_user() {
    if (geteuid() != 0) return *getpwuid(geteuid());
    for (const char* name : {"postgres", "nobody"}) {
      if (const passwd* entry = getpwnam(name)) return *entry;
    }
    return std::nullopt;
  }

  static int free_port(const std::string& host) {
    const int file = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, host == "*" ? "127.0.0.1" : host.c_str(), &address.sin_addr);
    socklen_t size = sizeof(address);
    int port = 0;
    if (bind(file, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
        getsockname(file, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
      port = ntohs(address.sin_port);
    }
    close(file);
    return port;
  }

  bool answers() const {
    const int file = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port_));
    inet_pton(AF_INET, host_ == "*" ? "127.0.0.1" : host_.c_str(), &address.sin_addr);
    const bool open = connect(file, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    close(file);
    return open && log().find("ready to accept connections") != std::string::npos;
  }

  // It ends with this process.
  pid_t spawn(const std::vector<std::string>& words, const std::string& output = "log") const {
    std::vector<char*> arguments;
    for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const std::string log = (folder_.path() / output).string();
    const pid_t child = fork();
    if (child != 0) return child;
    if (geteuid() == 0 && (setgid(group_) != 0 || setuid(user_) != 0)) _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGINT);
    const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    if (chdir(folder_.path().c_str()) != 0) _exit(126);
    execv(arguments[0], arguments.data());
    _exit(127);
  }

  std::string data() const { return (folder_.path() / "data").string(); }

  TemporaryFolder folder_;
  std::string programs_;
  uid_t user_;
  gid_t group_;
  std::string host_;
  std::vector<std::string> settings_;
  int port_;
  std::atomic<pid_t> pid_ = -1;  // one thread stops what another has begun
};

}  // namespace quasar::servers
