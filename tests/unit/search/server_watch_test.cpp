// A PostgreSQL server that is stopped, and keeps its connections.
#include "quasar/search/postgresql/server_watch.hpp"

#include <gtest/gtest.h>

#include "quasar/base/cancellation.hpp"
#include "quasar/search/postgresql/postgresql_session.hpp"
#include "servers/postgresql.hpp"

namespace quasar::search {
namespace {

// Here one waits for the server's answer without an end, and is let go all the same.
TEST(ServerWatch, WhoIsToEndIsLetGoWhileTheServerIsAsked) {
  const auto server = servers::Postgresql::start();
  if (!server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  const auto address = postgresql_address(server->url());
  soci::session sql;
  connect(sql, address);
  ServerWatch watch(address, 1e9, {.quiet = 0.05, .to_answer = 1e9});
  server->freeze(true);
  std::stop_source stop;
  const std::jthread ends([&] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    stop.request_stop();
  });
  {
    const CancelScope scope(stop.get_token());
    ServerWatch::Line line(watch);
    line.begin(sql);
    EXPECT_ANY_THROW(sql << "SELECT 1");
  }
  server->freeze(false);
}

}  // namespace
}  // namespace quasar::search
