#include "quasar/search/loop.hpp"

#include <algorithm>
#include <latch>
#include <thread>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/memory_cap.hpp"
#include "quasar/search/enqueued.hpp"

namespace quasar::search {

Loop::Loop(const RunOptions& options, Study& study, const Space& space, Sampler& sampler, const StopConditions& conditions,
           const Objective& objective)
    : options_(options),
      study_(study),
      space_(space),
      conditions_(conditions),
      objective_(objective),
      stop_(options.stop, deadline_of(conditions, begin_)),
      claims_(study.trials()),
      proposals_(options, study, space, sampler),
      tracker_(study.trials(), options.stage, study.directions()) {
  sampler.check(space);
  check_objectives(sampler, study_.directions());
  study_.check(space);
  for (const auto& condition : conditions_) {
    if (const auto limit = condition->limit()) total_ = std::min(*limit, total_.value_or(*limit));
  }
  if (const auto size = space.valid()) total_ = std::min(*size, total_.value_or(*size));
}

RunResult Loop::run() {
  if (study_.is_shared()) {
    listening_.heart = &Heartbeat::of(study_);
    listening_.heart->hear({[this](const std::string& why) { return end_by_leader(why); }, [this] { hear_news(); }});
  }
  if (options_.n_jobs <= 1) {
    work();
  } else {
    work_together();
  }
  if (failure_) std::rethrow_exception(broken_ ? broken_ : failure_);
  give_up_waiting();
  if (broken_) std::rethrow_exception(broken_);
  return result();
}

// All threads are there before the first of them begins, and its trial may bound the memory of the process.
void Loop::work_together() {
  std::latch there(static_cast<ptrdiff_t>(options_.n_jobs));
  std::vector<std::jthread> workers;
  try {
    workers.reserve(options_.n_jobs);
    while (workers.size() < options_.n_jobs) {
      workers.emplace_back([this, &there, outer = current_cancellation()] {
        const CancelScope scope(outer);
        there.arrive_and_wait();
        work();
      });
    }
  } catch (const std::exception& e) {
    fail(std::make_exception_ptr(Error("n_jobs is " + std::to_string(options_.n_jobs) + ", but thread " +
                                       std::to_string(workers.size() + 1) + " cannot be started: " + e.what())));
    there.count_down(static_cast<ptrdiff_t>(options_.n_jobs - workers.size()));
  }
}

std::optional<Deadline::Clock::time_point> Loop::deadline_of(const StopConditions& conditions,
                                                             Deadline::Clock::time_point begin) {
  std::optional<Deadline::Clock::time_point> earliest;
  for (const auto& condition : conditions) {
    if (const auto seconds = condition->deadline()) {
      const auto moment = Deadline::after(*seconds, begin);
      earliest = std::min(moment, earliest.value_or(moment));
    }
  }
  return earliest;
}

double Loop::seconds() const {
  return std::chrono::duration<double>(Deadline::Clock::now() - begin_).count();
}

void Loop::work() {
  try {
    while (auto job = ask()) tell(attempt(*job));
  } catch (const Cancelled&) {  // a sampler or a condition, in its thoughts
    if (!stop_.token().stop_requested()) fail(std::current_exception());
    changed_.notify_all();
  } catch (...) {
    fail(std::current_exception());
  }
}

void Loop::fail(std::exception_ptr failure) {
  const std::scoped_lock lock(mutex_);
  if (!failure_) failure_ = std::move(failure);
  stop_.stop();
  changed_.notify_all();
}

std::unique_ptr<Loop::MyRunningTrial> Loop::ask() {
  std::unique_lock lock(mutex_);
  while (!stop_.token().stop_requested() && !end_) {
    const uint64_t before = version_;
    const bool is_left = is_left_to_another(lock);
    if (!is_left) {
      auto mine = turn(lock);
      if (end_ || stop_.token().stop_requested()) break;
      if (auto job = take_turn()) {
        if (mine) mine->taken();
        job->keep(std::move(mine));
        return job;
      }
    }
    if (end_) break;
    if (study_.is_shared()) {
      if (!get_ahead(lock)) wait_for_others(lock, before, is_left);
    } else {
      changed_.wait(lock);  // enough is running, unless some of it turns out to be duplicates
    }
  }
  return nullptr;
}

std::unique_ptr<Heartbeat::Turn> Loop::turn(std::unique_lock<std::mutex>& lock) const {
  if (listening_.heart == nullptr) return nullptr;
  lock.unlock();
  auto out = listening_.heart->turn();
  lock.lock();
  return out;
}

bool Loop::is_left_to_another(std::unique_lock<std::mutex>& lock) {
  if (!options_.ahead.is_made_elsewhere || options_.n_jobs > 1 || !study_.is_shared()) return false;
  const auto next = std::ranges::find_if(options_.first, [&](const Point& point) { return study_.numbers_at(point).empty(); });
  if (next == options_.first.end()) return false;
  lock.unlock();
  bool is_left = false;
  try {
    is_left = options_.ahead.is_made_elsewhere(*next);
  } catch (const ConnectionLost&) {  // the next turn waits for it
  }
  lock.lock();
  return is_left;
}

bool Loop::get_ahead(std::unique_lock<std::mutex>& lock) {
  if (!options_.ahead.work || options_.n_jobs > 1 || nothing_ahead_) return false;
  ++waiting_for_others_;
  bool done = false;
  try {
    study_.sharing()->follow(study_.id(), true);
    heard_ahead_ = news_;
    hear_from_others();  // what was not told before
    lock.unlock();
    const CancelScope scope(stop_.token());
    done = options_.ahead.work([this] { return waits_for_first(); });
  } catch (const Cancelled&) {
    throw;
  } catch (const std::exception&) {  // a trial tells it, or the next turn waits for the storage
  }
  if (!lock) lock.lock();
  --waiting_for_others_;
  nothing_ahead_ = !done;
  return true;
}

// What runs elsewhere, to be run here. Where nothing but the first points counts, others may be at a later step.
bool Loop::may_come_back() const {
  return options_.first_only ? is_first_open() : tracker_.counts().running > 0;
}

bool Loop::waits_for_first() {
  const std::scoped_lock lock(mutex_);
  if (heard_ahead_ != news_) {
    heard_ahead_ = news_;
    hear_from_others();
  }
  return is_first_open();
}

bool Loop::is_first_open() const {
  return std::ranges::any_of(options_.first, [&](const Point& point) {
    return std::ranges::none_of(study_.numbers_at(point), [&](int64_t number) { return study_.at(number).finished(); });
  });
}

void Loop::wait_for_others(std::unique_lock<std::mutex>& lock, uint64_t before, bool once) {
  constexpr double longest = 5;  // seconds: other programs tell nothing
  const std::chrono::duration<double> pause(std::min(study_.heartbeat().interval, longest));
  ++waiting_for_others_;
  const auto over = [&] { return version_ != before || stop_.token().stop_requested() || end_; };
  try {
    study_.sharing()->follow(study_.id(), true);
  } catch (const ConnectionLost&) {  // looked for below
  }
  uint64_t heard = news_;
  hear_from_others();  // what was not told before
  while (!over()) {
    changed_.wait_for(lock, stop_.token(), pause, [&] { return news_ != heard || over(); });
    heard = news_;
    if (!over()) hear_from_others();
    if (once) break;
  }
  --waiting_for_others_;
}

// The user's listener is called under the lock, and may take its time. Whoever waits for news cannot be between his question and
// his waiting then, so that he hears of them without the lock.
void Loop::hear_news() {
  const auto lock = lock_soon();
  ++news_;
  changed_.notify_all();
  if (lock && waiting_for_others_ == 0) study_.sharing()->follow(study_.id(), false);
}

std::unique_lock<std::mutex> Loop::lock_soon() {
  std::unique_lock lock(mutex_, std::try_to_lock);
  for (int i = 0; i < 20 && !lock; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    lock = std::unique_lock(mutex_, std::try_to_lock);
  }
  return lock;
}

std::unique_ptr<Loop::MyRunningTrial> Loop::take_turn() {
  const Uncapped no_cap;
  hear_from_others();  // the most of it before anybody has to wait
  std::optional<int64_t> begun;
  try {
    const auto transaction = study_.transaction();
    refresh();
    begun = decide();
    if (transaction) transaction->commit();
  } catch (const ConnectionLost&) {  // transaction() waits until the storage is back
    if (begun) study_.undo(*begun);
    proposals_.give_back();
    end_.reset();
    ++version_;
    return nullptr;
  } catch (const TrialChanged&) {  // a process that was taken for dead ended the trial that this one would have taken over
    if (!study_.is_shared()) throw;
    ++version_;
    return nullptr;
  }
  settle_others();
  if (!begun) return nullptr;
  tracker_.start();
  const Trial& trial = study_.at(*begun);
  if (listening_.heart != nullptr) listening_.heart->begin(trial.id);
  hear(Event::Kind::started, trial);
  return std::make_unique<MyRunningTrial>(*this, trial);
}

std::optional<int64_t> Loop::decide() {
  if (const auto ended = study_.leader_message().ended) {
    end_told(*ended);
    return std::nullopt;
  }
  const Progress now = tracker_.progress(seconds());
  Progress settled = now;
  settled.counts.running = 0;
  if (const auto reason = met(settled)) {
    end(RunResult::End::condition, *reason);
    return std::nullopt;
  }
  // What another process left was counted when it began.
  if (study_.is_shared()) {
    if (const auto number = proposals_.again(); number && !is_enqueued(study_.at(*number))) return resume(*number);
  }
  if (met(now)) return std::nullopt;
  return start();
}

int64_t Loop::resume(int64_t number) {
  return study_.resume(number, space_, options_.stage).number;
}

std::optional<int64_t> Loop::start() {
  if (const auto number = proposals_.again()) return resume(*number);
  const auto point = proposals_.next();
  if (!point) {
    if (!study_.is_shared() || !may_come_back()) end(RunResult::End::exhausted, "every point of the search space was tried");
    return std::nullopt;
  }
  Json attributes = Json::object();
  if (!options_.stage.empty()) attributes[attribute::stage] = options_.stage;
  if (std::string step = options_.step ? options_.step(*point) : ""; !step.empty()) attributes[attribute::step] = std::move(step);
  return study_.start(space_, *point, attributes).number;
}

void Loop::end(RunResult::End how, const std::string& why) {
  end_ = {how, why};
  changed_.notify_all();
}

bool Loop::end_by_leader(const std::string& why) {
  const auto lock = lock_soon();
  if (lock) end_told(why);
  return static_cast<bool>(lock);
}

void Loop::end_told(const std::string& why) {
  end(RunResult::End::condition, "the search has ended: " + why);
  stop_.stop();
}

std::optional<int64_t> Loop::claim(const std::string& hash, int64_t number) {
  const std::scoped_lock lock(mutex_);
  const Uncapped no_cap;
  for (;;) {
    try {
      const auto transaction = study_.transaction();
      refresh();
      const auto owner = claims_.claim(hash, number);
      if (!owner) study_.note_claim(number, hash);
      if (transaction) transaction->commit();
      settle_others();
      return owner;
    } catch (const ConnectionLost&) {
      claims_.give_up(number);
    }
  }
}

void Loop::refresh() {
  for (const Change& change : study_.refresh()) {
    const Trial& trial = study_.at(change.number);
    tracker_.see(change.before, trial);
    claims_.learn(trial);
    if (trial.finished()) ended_elsewhere_.push_back(trial.number);
    ++version_;
  }
}

void Loop::hear_from_others() {
  if (!study_.is_shared()) return;
  const Uncapped no_cap;
  try {
    refresh();
  } catch (const ConnectionLost&) {  // the next transaction waits for it
  }
  settle_others();
}

void Loop::settle_others() {
  for (const int64_t number : std::exchange(ended_elsewhere_, {})) {
    const Trial original = study_.at(number);
    hear(Event::Kind::finished, original, true);
    settle_duplicates(original);
  }
}

void Loop::give_up_waiting() {
  const std::scoped_lock lock(mutex_);
  for (auto& [number, duplicates] : std::exchange(waiting_, {})) {
    for (Trial& duplicate : duplicates) {
      duplicate.state = State::waiting;
      settle(std::move(duplicate));
    }
  }
}

std::optional<std::string> Loop::met(const Progress& progress) const {
  for (const auto& condition : conditions_) {
    if (auto reason = condition->met(progress)) return reason;
  }
  return std::nullopt;
}

}  // namespace quasar::search
