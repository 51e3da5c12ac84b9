// `quasar serve`: a database of the user's own.
#include <arpa/inet.h>
#include <sys/socket.h>

#include "e2e/workers.hpp"
#include "unit/error_of.hpp"

namespace quasar::e2e {
namespace {

struct Serve : testing::Test {
  TemporaryFolder folder;
  std::string where = "127.0.0.1:" + std::to_string(free_port());

  void SetUp() override {
    // Whoever the server runs as must reach its folder.
    fs::permissions(folder.path(), fs::perms::others_exec | fs::perms::others_read, fs::perm_options::add);
    if (!servers::Postgresql::start()) GTEST_SKIP() << "no PostgreSQL server can be started here";
  }

  static int free_port() {
    const int file = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    bind(file, reinterpret_cast<sockaddr*>(&address), size);
    getsockname(file, reinterpret_cast<sockaddr*>(&address), &size);
    close(file);
    return ntohs(address.sin_port);
  }

  // By the server's own program: whose role the address has may work with its database, and change nothing of the server.
  static void expect_no_superuser(const std::string& address) {
    const std::string psql = "PGOPTIONS= psql -XAtqc ";
    EXPECT_EQ(std::system((psql + "'CREATE TABLE mine (one int); DROP TABLE mine' '" + address + "'").c_str()), 0);
    for (const char* statement : {"CREATE ROLE other SUPERUSER", "COPY (SELECT 1) TO PROGRAM $$true$$"})
      EXPECT_NE(std::system((psql + "'" + statement + "' '" + address + "' 2> /dev/null").c_str()), 0) << statement;
  }

  // The line that names it; "": it has ended without one.
  static std::string address_in(Child& server) {
    for (int i = 0; i < 6000 * patience; ++i) {
      const std::string said = server.output();
      const size_t begin = said.find("postgresql://"), end = said.find('\n', begin);
      if (begin != std::string::npos && end != std::string::npos) return said.substr(begin, end - begin);
      if (waitpid(server.pid(), nullptr, WNOHANG | WNOWAIT) == server.pid()) return "";
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return "";
  }
};

TEST_F(Serve, KeepsStudiesUntilItIsEnded) {
  const std::vector<std::string> words{"serve", (folder.path() / "kept").string(), "--listen", where};
  std::string address;
  for (const bool again : {false, true}) {
    Child server(words, folder.path() / (again ? "again" : "first"));
    const std::string said = address_in(server);
    ASSERT_NE(said.find("@" + where + "/"), std::string::npos) << server.output();
    EXPECT_TRUE(!again || said == address) << said;
    address = said;
    const auto storage = search::open_storage(address);
    EXPECT_EQ(storage->studies().size(), again ? 1u : 0u);
    if (!again) storage->create("kept", {Direction::minimize});
    expect_no_superuser(address);
    std::string open = address, stranger = address;
    open.replace(open.find("require"), 7, "disable");
    EXPECT_NE(test::error_of([&] { search::open_storage(open.substr(0, open.find('&'))); }).find("no encryption"),
              std::string::npos);
    stranger.replace(stranger.find("quasar:") + 7, 1, "-");
    EXPECT_NE(test::error_of([&] { search::open_storage(stranger); }).find("password"), std::string::npos);
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 0) << server.output();
  }
  EXPECT_FALSE(fs::exists(folder.path() / "kept" / "data" / "postmaster.pid"));
  std::vector<std::string> for_programs = words;
  for_programs.push_back("--json");
  // What a machine that died leaves: a number that another process has by now, or means nothing here.
  const fs::path kept = folder.path() / "kept", lock = kept / "data" / "postmaster.pid";
  const std::string rest = "\n" + (kept / "data").string() + "\n1700000000\n1\n\n";
  write_file(kept / "machine", "elsewhere.invalid");
  write_file(lock, std::to_string(getpid()) + rest + "127.0.0.1\n");
  const Ran hidden = run("serve " + kept.string() + " --listen " + where);
  EXPECT_EQ(hidden.code, 1) << hidden.err;
  EXPECT_NE(hidden.err.find("on the machine elsewhere.invalid, and nobody sees from here"), std::string::npos) << hidden.err;
  write_file(lock, std::to_string(getpid()) + rest + "0.0.0.0\n");
  {
    Child after(words, folder.path() / "after");
    ASSERT_EQ(address_in(after), address) << after.output();
    EXPECT_NE(after.output().find("on elsewhere.invalid has died"), std::string::npos) << after.output();
    after.signal(SIGTERM);
    EXPECT_EQ(after.wait(), 0) << after.output();
  }
  write_file(lock, std::to_string(getpid()) + rest + "127.0.0.1\n");  // this process is no server
  Child server(for_programs, folder.path() / "json");
  ASSERT_NE(address_in(server), "") << server.output();
  EXPECT_NE(server.output().find("has died, and is begun again"), std::string::npos) << server.output();
  const std::string said = server.output();
  const size_t line = said.find('{');
  const Json document = parse_json(said.substr(line, said.find('\n', line) - line), "serve --json");
  EXPECT_EQ(document, (Json{{"address", address}, {"folder", (folder.path() / "kept").string()}}));
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0) << server.output();
}

// Ended between its first file and its last one.
TEST_F(Serve, BeginsAnewWhereMakingADatabaseWasInterrupted) {
  const fs::path begun = folder.path() / "begun";
  fs::create_directories(begun / "data");
  write_file(begun / "password", "unused");
  write_file(begun / "data" / "PG_VERSION", "15\n");
  Child server({"serve", begun.string(), "--listen", where}, folder.path() / "out");
  const std::string address = address_in(server);
  ASSERT_NE(address, "") << server.output();
  EXPECT_TRUE(search::open_storage(address)->studies().empty());
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0) << server.output();
}

// Ctrl-C there would otherwise take the server from those who work with it.
TEST_F(Serve, ASecondOneShowsTheAddressAndLeavesTheServerAlone) {
  const std::vector<std::string> words{"serve", (folder.path() / "kept").string(), "--listen", where};
  auto first = std::make_unique<Child>(words, folder.path() / "first");
  const std::string address = address_in(*first);
  ASSERT_NE(address, "") << first->output();
  {
    Child second(words, folder.path() / "second");
    EXPECT_EQ(address_in(second), address) << second.output();
    EXPECT_NE(second.output().find("is in use by process " + std::to_string(first->pid()) + " on "), std::string::npos)
        << second.output();
    second.signal(SIGTERM);
    EXPECT_EQ(second.wait(), 0) << second.output();
  }
  EXPECT_TRUE(search::open_storage(address)->studies().empty());  // it runs
  const Ran other = run("serve " + words[1] + " --listen 127.0.0.1:1");
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("with another --listen: end it first"), std::string::npos) << other.err;
  // One that was killed is followed by the next, which ends the server then.
  first->signal(SIGKILL);
  first->wait();
  Child third(words, folder.path() / "third");
  EXPECT_EQ(address_in(third), address) << third.output();
  EXPECT_NE(third.output().find("is taken over as it is"), std::string::npos) << third.output();
  third.signal(SIGTERM);
  EXPECT_EQ(third.wait(), 0) << third.output();
  EXPECT_FALSE(fs::exists(folder.path() / "kept" / "data" / "postmaster.pid"));
}

TEST_F(Serve, ListensToAddressesOfIPv6) {
  const std::string port = where.substr(where.rfind(':') + 1);
  Child server({"serve", (folder.path() / "six").string(), "--listen", "[::1]:" + port}, folder.path() / "out");
  const std::string address = address_in(server);
  if (address.empty() && (server.output().find("which is no address of this machine") != std::string::npos ||
                          server.output().find("could not create any TCP/IP sockets") != std::string::npos))
    GTEST_SKIP() << "there is no IPv6 here";
  ASSERT_NE(address.find("@[::1]:" + port + "/"), std::string::npos) << server.output();
  EXPECT_TRUE(search::open_storage(address)->studies().empty());
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait(), 0) << server.output();
}

TEST_F(Serve, SaysWhatDoesNotFit) {
  const fs::path older = folder.path() / "older";
  fs::create_directories(older / "data");
  for (const auto& [file, text] : {std::pair("password", "x"), {"data/PG_VERSION", "7\n"}, {"data/quasar.conf", ""}})
    write_file(older / file, text);
  EXPECT_NE(run("serve " + older.string() + " --listen " + where).err.find("is of PostgreSQL 7, which is not installed"),
            std::string::npos);

  EXPECT_NE(run("serve " + folder.path().string() + "/new --listen 127.0.0.1:x").err.find("a port from 1 to 65535"),
            std::string::npos);
  for (const char* wrong : {"[::1]:x", "[::1", "[::1]5432", "[]:5432"}) {
    const Ran ran = run("serve " + folder.path().string() + "/new --listen '" + wrong + "'");
    EXPECT_NE(ran.err.find("a port from 1 to 65535"), std::string::npos) << wrong << ": " << ran.err;
  }
  fs::create_directories(folder.path() / "mine");
  write_file(folder.path() / "mine" / "file", "mine");
  const Ran full = run("serve " + folder.path().string() + "/mine --listen " + where);
  EXPECT_EQ(full.code, 1);
  EXPECT_NE(full.err.find("and not empty: name a new one"), std::string::npos) << full.err;
  const int taken = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size);
  const Ran busy = run("serve " + folder.path().string() + "/new --listen 127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
  close(taken);
  EXPECT_EQ(busy.code, 75);  // the port may be free again later
  EXPECT_NE(busy.err.find("another program listens on 127.0.0.1:"), std::string::npos) << busy.err;
  EXPECT_NE(busy.err.find("choose another port, such as --listen 127.0.0.1:"), std::string::npos) << busy.err;
  EXPECT_EQ(busy.err.find("Address already in use"), std::string::npos) << busy.err;
  for (const char* elsewhere : {"192.0.2.1:5557", "no-such-host.invalid:5557"}) {
    const Ran ran = run("serve " + folder.path().string() + "/new --listen " + elsewhere);
    EXPECT_EQ(ran.code, 1) << elsewhere;
    EXPECT_NE(ran.err.find("which is no address of this machine"), std::string::npos) << ran.err;
  }
}

}  // namespace
}  // namespace quasar::e2e
