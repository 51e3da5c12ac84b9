#include "quasar/cli/private_server.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/process.hpp"
#include "quasar/base/system/environment.hpp"
#include "quasar/base/system/other_process.hpp"
#include "quasar/cli/new_password.hpp"

namespace quasar::cli {
namespace fs = std::filesystem;
namespace {

constexpr const char* server_user = "quasar";                           // who owns the studies
constexpr const char* administrator = "postgres";                       // who may do anything, and whom nothing lets in
constexpr int64_t most_connections = 500, kept_for_administrators = 3;  // which PostgreSQL gives to nobody else

// Where Debian's packages put each version's: that which the data are of, the newest where there are none.
fs::path programs_of_server(const fs::path& data) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", ignored)) {
    if (fs::exists(version.path() / "bin" / "initdb", ignored)) found.push_back(version.path() / "bin");
  }
  if (found.empty())
    throw Error(
        "there is no PostgreSQL server on this machine: install it (Debian: apt-get install postgresql), or use one on "
        "another machine");
  const auto version = [](const fs::path& programs) {
    const std::string name = programs.parent_path().filename().string();
    return std::atoi(name.c_str());
  };
  if (!fs::exists(data / "PG_VERSION")) return std::ranges::max(found, {}, version);
  const int made_by = std::atoi(read_file(data / "PG_VERSION").c_str());
  const auto same = std::ranges::find(found, made_by, version);
  if (same == found.end())
    throw Error("the database in " + data.parent_path().string() + " is of PostgreSQL " + std::to_string(made_by) +
                ", which is not installed (Debian: apt-get install postgresql-" + std::to_string(made_by) + ")");
  return *same;
}

std::string in_quotes(std::string text) {
  for (size_t at = text.find('\''); at != std::string::npos; at = text.find('\'', at + 2)) text.insert(at, 1, '\'');
  return "'" + text + "'";
}

std::string host_name() {
  const std::string name = process_name();
  return name.substr(name.rfind(' ') + 1);
}

void keep_to_owner(const fs::path& path) {
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
}

std::string end_of(const fs::path& file) {
  constexpr size_t most = 600;
  const std::string text = fs::exists(file) ? read_file(file) : "";
  const size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos) return "";
  const size_t begin = end < most ? 0 : text.find('\n', end - most);
  return text.substr(begin, end + 1 - begin);
}

}  // namespace

PrivateServer::PrivateServer(PrivateServerOptions options, const Log& log) : options_(std::move(options)) {
  options_.folder = fs::absolute(options_.folder);
  programs_ = programs_of_server(data());
  if (is_superuser()) user_ = "postgres";
  if (!fs::exists(options_.folder / "password")) expect_no_other_files();
  fs::create_directories(options_.folder);
  if (!take_hold(log)) return;
  if (!user_.empty())
    tell(log, Level::info,
         "PostgreSQL refuses to run as root: it runs as the user " + user_ + ", who owns " + options_.folder.string());
  fs::permissions(options_.folder, fs::perms::owner_all);
  remove_unfinished();
  forget_dead_server(log);
  own(options_.folder);
  if (!fs::exists(data() / "PG_VERSION")) {
    expect_no_other_files();
    make(log);
  }
  if (runs()) {
    expect_same_settings("a server runs in " + options_.folder.string() + " already");
    tell(log, Level::warning, "a server runs in " + options_.folder.string() + " already, and is taken over as it is");
    return;
  }
  write_file(data() / "quasar.conf", settings());
  write_file(machine(), host_name());
  own(options_.folder);
  const uintmax_t before = size_of_log();
  if (!run(control({"-w", "-t", "60", "-l", (options_.folder / "log").string(), "start"}))) refuse_to_start(before);
}

void PrivateServer::expect_no_other_files() const {
  std::error_code ignored;
  if (fs::exists(data() / "PG_VERSION") || !fs::exists(options_.folder)) return;
  bool others = !fs::is_directory(options_.folder);
  for (const auto& entry : fs::directory_iterator(options_.folder, ignored)) others = others || entry.path() != lock_file();
  if (others) throw Error("'" + options_.folder.string() + "' is no folder of `quasar serve`, and not empty: name a new one");
}

// Whoever holds the folder begins the server and ends it. Another one that comes while it runs shows its address alone.
bool PrivateServer::take_hold(const Log& log) {
  try {
    lock_ = std::make_unique<FileLock>(lock_file(), "'" + options_.folder.string() + "'",
                                       "end that `quasar serve` first, or name another folder");
    return true;
  } catch (const Error& held) {
    if (FileLock::is_held(lock_file()) != true) throw;
    if (!fs::exists(data() / "quasar.conf") || !runs()) throw;  // it begins, or ends
    const std::string said = held.what(), whose = said.substr(0, said.rfind("; "));
    expect_same_settings(whose);
    tell(log, Level::warning, whose + ": here its address is shown, and the server ends with that process alone");
    return false;
  }
}

void PrivateServer::expect_same_settings(const std::string& who) const {
  if (read_file(data() / "quasar.conf") != settings()) throw Error(who + ", with another --listen: end it first");
}

uintmax_t PrivateServer::size_of_log() const {
  std::error_code none;
  const uintmax_t size = fs::file_size(options_.folder / "log", none);
  return none ? 0 : size;
}

// In the words of what was asked, where the server's own are known.
void PrivateServer::refuse_to_start(uintmax_t before) const {
  const std::string log = fs::exists(options_.folder / "log") ? read_file(options_.folder / "log") : "";
  const std::string said = log.substr(std::min<uintmax_t>(before, log.size()));
  const auto says = [&](const char* words) { return said.find(words) != std::string::npos; };
  const std::string host = options_.listen.find(':') == std::string::npos ? options_.listen : "[" + options_.listen + "]";
  const auto at = [&](int64_t port) { return host + ":" + std::to_string(port); };
  if (says("Address already in use"))
    throw Error("another program listens on " + at(options_.port) +
                    ", perhaps another PostgreSQL server: choose another port, such as "
                    "--listen " +
                    at(options_.port == 65535 ? 65534 : options_.port + 1),
                Blame::world);
  if (says("Cannot assign requested address") || says("could not translate host name"))
    throw Error("--listen names '" + options_.listen +
                    "', which is no address of this machine; 0.0.0.0 is all that it has, 127.0.0.1 for itself alone",
                Blame::setup);
  throw Error("the server in " + options_.folder.string() + " does not start: " + last_words(), Blame::world);
}

// A server that died with its machine leaves a process number behind. It means nothing on another machine, and may be another
// process's by now.
void PrivateServer::forget_dead_server(const Log& log) const {
  const fs::path lock = data() / "postmaster.pid";
  if (!fs::exists(lock)) return;
  std::istringstream lines(read_file(lock));
  std::string number, folder, begin, port, sockets, listens;  // its first lines
  for (std::string* line : {&number, &folder, &begin, &port, &sockets, &listens}) std::getline(lines, *line);
  const std::string here = host_name(), there = fs::exists(machine()) ? read_file(machine()) : here;
  if (there == here) {
    const auto command = command_of_process(std::atoll(number.c_str()));
    const std::string program = fs::path(command.value_or("").substr(0, command.value_or("").find(' '))).filename().string();
    if (!command || program.starts_with("postgres")) return;  // pg_ctl sees whether it lives
  } else {
    const std::string in_folder = "a server was started in " + options_.folder.string() + " on the machine " + there;
    if (listens == "localhost" || listens.starts_with("127.") || listens == "::1")
      throw Error(in_folder + ", and nobody sees from here whether it runs: end it there, or remove " + lock.string() +
                  " if that machine is gone");
    if (run({(programs_ / "pg_isready").string(), "-q", "-t", "5", "-h", there, "-p", port}))
      throw Error(in_folder + ", and runs: end it there first");
  }
  tell(log, Level::warning,
       "the server that ran in " + options_.folder.string() + " on " + there + " has died, and is begun again");
  fs::remove(lock);
}

// What an earlier `quasar serve` began to make, and could not: the settings come last.
void PrivateServer::remove_unfinished() const {
  if (fs::exists(options_.folder / "password") && !fs::exists(data() / "quasar.conf")) clear();
}

void PrivateServer::clear() const {
  std::error_code ignored;
  for (const char* own : {"password", "machine", "server.key", "server.crt"}) fs::remove(options_.folder / own, ignored);
  for (const auto& own : {data(), output(), errors()}) fs::remove_all(own, ignored);
}

void PrivateServer::own(const fs::path& path) const {
  if (user_.empty()) return;
  if (!Process({.arguments = {"chown", "-R", user_, path.string()}}).wait().good())
    throw Error("'" + path.string() + "' cannot be given to the user " + user_, Blame::world);
}

bool PrivateServer::run(std::vector<std::string> words) const {
  if (!user_.empty()) words.insert(words.begin(), {"runuser", "-u", user_, "--"});
  return Process({.arguments = std::move(words), .folder = options_.folder, .output = output(), .errors = errors()})
      .wait()
      .good();
}

std::vector<std::string> PrivateServer::control(const std::vector<std::string>& words) const {
  std::vector<std::string> out{(programs_ / "pg_ctl").string(), "-D", data().string()};
  out.insert(out.end(), words.begin(), words.end());
  return out;
}

void PrivateServer::make(const Log& log) {
  const fs::path password = options_.folder / "password", key = options_.folder / "server.key";
  write_file(password, new_password());
  keep_to_owner(password);
  own(password);
  tell(log, Level::info, "making a database in " + options_.folder.string());
  if (!run({(programs_ / "initdb").string(), "-D", data().string(), "-U", administrator, "-A", "reject", "-E", "UTF8",
            "--locale=C"}) ||
      !make_owner()) {
    const std::string why = end_of(errors());
    clear();
    throw Error("no database can be made in " + options_.folder.string() + ": " + why, Blame::world);
  }
  Process certificate({.arguments = {"openssl", "req", "-new", "-x509", "-nodes", "-days", "3650", "-subj", "/CN=" + host_name(),
                                     "-keyout", key.string(), "-out", (options_.folder / "server.crt").string()},
                       .output = output(),
                       .errors = errors()});
  if (!certificate.wait().good()) throw Error("no certificate can be made (openssl): " + end_of(errors()), Blame::world);
  keep_to_owner(key);
  write_file(data() / "pg_hba.conf", std::string("hostssl all ") + server_user + " all scram-sha-256\n");
  write_file(data() / "postgresql.conf", "include 'quasar.conf'\n" + read_file(data() / "postgresql.conf"));
}

// Of the database, without any other right. The server does not run yet: nobody is let in who could do this later.
bool PrivateServer::make_owner() const {
  const fs::path statements = options_.folder / "statements";
  write_file(statements, "CREATE ROLE " + std::string(server_user) + " LOGIN PASSWORD '" +
                             read_file(options_.folder / "password") + "'\nALTER DATABASE postgres OWNER TO " + server_user +
                             "\n");
  keep_to_owner(statements);
  own(statements);
  const bool made = run(
      {"sh", "-c", "exec \"$0\" --single -c exit_on_error=on -c password_encryption=scram-sha-256 -D \"$1\" postgres < \"$2\"",
       (programs_ / "postgres").string(), data().string(), statements.string()});
  fs::remove(statements);
  return made;
}

std::string PrivateServer::settings() const {
  const auto in_folder = [&](const char* name) { return in_quotes((options_.folder / name).string()); };
  return "listen_addresses = " + in_quotes(options_.listen) + "\nport = " + std::to_string(options_.port) +
         "\nunix_socket_directories = ''\nmax_connections = " + std::to_string(most_connections + kept_for_administrators) +
         "\nssl = on\nssl_cert_file = " + in_folder("server.crt") + "\nssl_key_file = " + in_folder("server.key") +
         "\npassword_encryption = 'scram-sha-256'\n";
}

bool PrivateServer::runs() const {
  return run(control({"status"}));
}

void PrivateServer::stop() {
  if (lock_ == nullptr) return;
  const CancelScope to_the_end{std::stop_token()};
  if (!run(control({"-w", "-m", "fast", "-t", "60", "stop"})))
    throw Error("the server in " + options_.folder.string() + " does not end: " + end_of(errors()), Blame::world);
}

std::string PrivateServer::address() const {
  const bool everywhere = options_.listen == "*" || options_.listen == "0.0.0.0" || options_.listen == "::";
  const std::string host = everywhere ? host_name() : options_.listen;
  return std::string("postgresql://") + server_user + ":" + read_file(options_.folder / "password") + "@" +
         (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(options_.port) +
         "/postgres?sslmode=require&channel_binding=require";
}

std::string PrivateServer::last_words() const {
  const std::string log = end_of(options_.folder / "log");
  return log.empty() ? end_of(errors()) : log;
}

}  // namespace quasar::cli
