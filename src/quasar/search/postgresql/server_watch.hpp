// Whether a PostgreSQL server answers: a stopped one keeps its connections, and says nothing for as long as it is stopped. libpq
// waits for an answer without an end; this says so, and ends the wait of whoever is to end.
#pragma once

#include <soci/soci.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "quasar/base/log.hpp"
#include "quasar/search/postgresql/postgresql_address.hpp"

namespace quasar::search {

// Whether the server says anything to a new connection within so many seconds. A refusal, an unknown host or a wrong address is
// an answer, too: whoever connects then hears it in words. nullopt: `is_over` said so meanwhile, which is asked often.
std::optional<bool> answers(const PostgresqlAddress& address, double seconds, const std::function<bool()>& is_over);

// When a server is taken for one that does not answer. Together they stay below the ten seconds of docs/scale.md.
struct ServerPatience {
  double quiet = 4;      // seconds of silence until one asks whether the server lives
  double to_answer = 3;  // seconds that it has then
};

class ServerWatch {
 public:
  // `patience`: seconds after which the wait for a server that does not answer is over.
  ServerWatch(PostgresqlAddress address, double patience, ServerPatience times = {});
  ~ServerWatch();
  ServerWatch(const ServerWatch&) = delete;
  ServerWatch& operator=(const ServerWatch&) = delete;

  // Who hears that the server does not answer, and that it does again; from a thread of the watch's own, or the one that waited.
  void tell_to(Log log);

  // What one thread at a time waits for on one connection.
  class Line {
   public:
    explicit Line(ServerWatch& watch);
    ~Line();
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    // From here to end(), this thread waits for answers on the connection. Where the thread's work is to end (cancellation.hpp),
    // and the server has said nothing for a second then, the connection is cut.
    void begin(soci::session& sql);
    // Seconds for which the server is known not to have answered; 0 where it did.
    double end();

   private:
    friend class ServerWatch;
    ServerWatch& watch_;
    int socket_ = -1;  // -1: nobody waits, or it was cut
    bool waits_ = false, silent_ = false;
    double pause_ = 0;  // seconds until one asks whether the server lives
    std::chrono::steady_clock::time_point since_, asked_;
    std::stop_token stop_;
  };

 private:
  using Clock = std::chrono::steady_clock;

  void watch(const std::stop_token& over);
  bool is_to_end(const Line& line, Clock::time_point now);
  // A line that has waited long enough for one to ask whether the server lives.
  Line* doubtful(Clock::time_point now);
  bool is_some_to_end();
  void ask(std::unique_lock<std::mutex>& lock, const std::stop_token& over);
  std::string silence(double seconds) const;

  const PostgresqlAddress address_;
  const double patience_;
  const ServerPatience times_;
  std::mutex mutex_;  // guards all below
  std::condition_variable_any wake_;
  std::vector<Line*> lines_;
  Log log_;
  bool told_ = false;        // somebody has heard of a silence
  std::stop_token stopped_;  // the last one that was seen to stop, and since when
  std::optional<Clock::time_point> stopped_at_;
  std::jthread thread_;  // the last member: it ends first
};

}  // namespace quasar::search
