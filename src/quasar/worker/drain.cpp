#include "quasar/worker/drain.hpp"

#include <utility>

#include "quasar/base/error.hpp"
#include "quasar/base/json.hpp"

namespace quasar::tune {
namespace {

constexpr double to_choose = 2;  // seconds: what takes longer waits for a server that does not answer

double seconds_between(std::chrono::steady_clock::time_point begin, std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

Drain::Drain(DrainOptions options, std::stop_token asked)
    : options_(options), asked_(std::move(asked)), thread_([this](const std::stop_token& over) { watch(over); }) {}

Drain::~Drain() = default;

void Drain::begin() {
  const std::scoped_lock lock(mutex_);
  if (!free_since_) free_since_ = Clock::now();
}

class Drain::Mine final : public search::Heartbeat::Turn {
 public:
  explicit Mine(Drain& drain) : drain_(drain) {}  // counted by whoever has the lock
  ~Mine() override {
    const std::scoped_lock lock(drain_.mutex_);
    --(taken_ ? drain_.running_ : drain_.choosing_);
    if (taken_) drain_.free_since_ = Clock::now();
    drain_.changed_.notify_all();
  }
  void taken() override {
    const std::scoped_lock lock(drain_.mutex_);
    taken_ = true;
    --drain_.choosing_;
    ++drain_.running_;
  }

 private:
  Drain& drain_;
  bool taken_ = false;
};

std::unique_ptr<search::Heartbeat::Turn> Drain::turn() {
  std::unique_lock lock(mutex_);
  if (options_.drain && asked_.stop_requested()) {
    changed_.wait(lock, stop_.get_token(), [] { return false; });
    throw Cancelled("the worker was asked to end");
  }
  auto out = std::make_unique<Mine>(*this);
  ++choosing_;
  return out;
}

std::string Drain::reason() const {
  const std::scoped_lock lock(mutex_);
  return reason_;
}

bool Drain::was_idle() const {
  const std::scoped_lock lock(mutex_);
  return idle_;
}

void Drain::end(const std::string& reason) {
  reason_ = reason;
  stop_.request_stop();
}

void Drain::look(Clock::time_point now) {
  if (asked_.stop_requested()) {
    if (!options_.drain) return end("");
    if (!asked_at_) asked_at_ = now;
    const bool late = seconds_between(*asked_at_, now) >= *options_.drain;
    const bool chooses = choosing_ > 0 && seconds_between(*asked_at_, now) < to_choose;
    if (running_ == 0 && !chooses) return end("it was asked to end, and has finished what it ran (--drain)");
    if (late) end("it was asked to end, and what it ran after " + Json(*options_.drain).dump() + " s waits for others (--drain)");
    return;
  }
  if (!options_.idle || running_ > 0 || !free_since_ || seconds_between(*free_since_, now) < *options_.idle) return;
  idle_ = true;
  end("there was nothing to do for " + Json(*options_.idle).dump() + " s (--until-idle)");
}

void Drain::watch(const std::stop_token& over) {
  std::unique_lock lock(mutex_);
  while (!over.stop_requested() && !stop_.stop_requested()) {
    look(Clock::now());
    changed_.wait_for(lock, over, std::chrono::milliseconds(50), [] { return false; });
  }
}

}  // namespace quasar::tune
