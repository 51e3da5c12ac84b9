#include "quasar/search/postgresql/server_watch.hpp"

#include <libpq-fe.h>
#include <soci/postgresql/soci-postgresql.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/json.hpp"
#include "quasar/base/system/socket.hpp"

namespace quasar::search {
namespace {

constexpr std::chrono::milliseconds look{100};  // between two looks
constexpr double last_words = 1.0;              // seconds that a call may take once its work is to end
constexpr double one_end = 20;                  // seconds within which all threads of a process end
constexpr double last_call = 0.15;              // seconds that a call may take which begins later

double seconds_since(std::chrono::steady_clock::time_point begin, std::chrono::steady_clock::time_point now) {
  return std::chrono::duration<double>(now - begin).count();
}

}  // namespace

std::optional<bool> answers(const PostgresqlAddress& address, double seconds, const std::function<bool()>& is_over) {
  constexpr int slice = 50;  // milliseconds
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectStart(address.connection.c_str()), &PQfinish);
  const auto begin = std::chrono::steady_clock::now();
  auto next = PGRES_POLLING_WRITING;
  while (PQstatus(connection.get()) != CONNECTION_BAD && next != PGRES_POLLING_OK && next != PGRES_POLLING_FAILED) {
    const bool to_read = next == PGRES_POLLING_READING;
    while (!is_ready(PQsocket(connection.get()), to_read, slice)) {
      if (is_over()) return std::nullopt;
      if (seconds_since(begin, std::chrono::steady_clock::now()) > seconds) return false;
    }
    if (to_read) return true;  // it has said something
    next = PQconnectPoll(connection.get());
  }
  return true;
}

ServerWatch::ServerWatch(PostgresqlAddress address, double patience, ServerPatience times)
    : address_(std::move(address)),
      patience_(patience),
      times_(times),
      thread_([this](const std::stop_token& over) { watch(over); }) {}

ServerWatch::~ServerWatch() = default;

void ServerWatch::tell_to(Log log) {
  const std::scoped_lock lock(mutex_);
  log_ = std::move(log);
}

ServerWatch::Line::Line(ServerWatch& watch) : watch_(watch) {
  const std::scoped_lock lock(watch_.mutex_);
  watch_.lines_.push_back(this);
}

ServerWatch::Line::~Line() {
  end();
  const std::scoped_lock lock(watch_.mutex_);
  std::erase(watch_.lines_, this);
}

void ServerWatch::Line::begin(soci::session& sql) {
  const auto* backend = static_cast<soci::postgresql_session_backend*>(sql.get_backend());
  const std::scoped_lock lock(watch_.mutex_);
  socket_ = backend == nullptr || backend->conn_ == nullptr ? -1 : PQsocket(backend->conn_);
  waits_ = true;
  silent_ = false;
  pause_ = watch_.times_.quiet;
  since_ = asked_ = Clock::now();
  stop_ = current_cancellation();
}

double ServerWatch::Line::end() {
  double seconds = 0;
  Log log;
  {
    const std::scoped_lock lock(watch_.mutex_);
    if (!waits_) return 0;
    waits_ = false;
    if (std::exchange(silent_, false)) seconds = seconds_since(since_, Clock::now());
    if (socket_ < 0 || !std::exchange(watch_.told_, false)) return seconds;  // it was cut, or nobody has heard of a silence
    log = watch_.log_;
  }
  tell(log, Level::warning, "study database " + watch_.address_.shown + ": the server answers again");
  return seconds;
}

bool ServerWatch::is_to_end(const Line& line, Clock::time_point now) {
  if (line.silent_ && seconds_since(line.since_, now) > patience_) return true;
  if (!line.stop_.stop_requested()) return false;
  // What stops soon after something else ends with it, and has had its time.
  if (!stopped_at_ || (stopped_ != line.stop_ && seconds_since(*stopped_at_, now) > one_end)) stopped_at_ = now;
  stopped_ = line.stop_;
  return seconds_since(*stopped_at_, now) >= last_words && seconds_since(line.since_, now) >= last_call;
}

ServerWatch::Line* ServerWatch::doubtful(Clock::time_point now) {
  const auto found = std::ranges::find_if(lines_, [&](const Line* line) {
    return line->waits_ && line->socket_ >= 0 && seconds_since(line->asked_, now) >= line->pause_;
  });
  return found == lines_.end() ? nullptr : *found;
}

std::string ServerWatch::silence(double seconds) const {
  return "study database " + address_.shown + ": the server has not answered for " + std::to_string(std::lround(seconds)) +
         " s, as one does that is stopped or has too much to do; waiting up to " + Json(patience_).dump() +
         " s for it; trials that are running go on meanwhile";
}

bool ServerWatch::is_some_to_end() {
  const std::scoped_lock lock(mutex_);
  return std::ranges::any_of(lines_,
                             [](const Line* line) { return line->waits_ && line->socket_ >= 0 && line->stop_.stop_requested(); });
}

// Without the lock, as long as it takes, or until somebody's work is to end, who is cut by this thread. Meanwhile the line may
// have come to its end, and begun anew.
void ServerWatch::ask(std::unique_lock<std::mutex>& lock, const std::stop_token& over) {
  Line* const doubted = doubtful(Clock::now());
  if (doubted == nullptr) return;
  const auto since = doubted->since_;
  for (Line* line : lines_) line->asked_ = Clock::now();
  lock.unlock();
  const auto answered = answers(address_, times_.to_answer, [&] { return over.stop_requested() || is_some_to_end(); });
  lock.lock();
  if (!answered) return;
  const bool is_there = std::ranges::find(lines_, doubted) != lines_.end();
  if (!is_there || !doubted->waits_ || doubted->since_ != since) return;
  if (*answered) {  // it waits for its turn among many
    doubted->pause_ *= 2;
    return;
  }
  doubted->silent_ = true;
  if (std::exchange(told_, true)) return;
  const Log log = log_;
  const std::string said = silence(seconds_since(since, Clock::now()));
  lock.unlock();
  tell(log, Level::warning, said);
  lock.lock();
}

void ServerWatch::watch(const std::stop_token& over) {
  std::unique_lock lock(mutex_);
  while (!over.stop_requested()) {
    wake_.wait_for(lock, over, look, [] { return false; });
    const auto now = Clock::now();
    for (Line* line : lines_) {
      if (line->waits_ && line->socket_ >= 0 && is_to_end(*line, now)) cut(std::exchange(line->socket_, -1));
    }
    try {
      if (!over.stop_requested()) ask(lock, over);
    } catch (const std::exception&) {  // no memory under a trial's limit: it is asked again
      if (!lock.owns_lock()) lock.lock();
    }
  }
}

}  // namespace quasar::search
