#include "quasar/strategy/trials_ahead.hpp"

#include <algorithm>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/process.hpp"

namespace quasar::tune {
namespace {

// The way has turned out to lead elsewhere.
struct LeadsElsewhere {};

std::string question_of(const search::Point& point) {
  return "ready " + hash_of(Json(point.values()).dump());
}

}  // namespace

TrialsAhead::TrialsAhead(search::Sequence& sequence, const search::Study& study, const Foresight& foresight)
    : sequence_(sequence), study_(study), foresight_(foresight), answers_(companions_in(study).answers) {}

TrialsAhead::~TrialsAhead() {
  forget_all();
}

search::Trial TrialsAhead::evaluate(const search::Point& point, const std::string& step, const Guess& guess) {
  return evaluate(std::span<const search::Point>(&point, 1), step, guess).front();
}

std::vector<search::Trial> TrialsAhead::evaluate(std::span<const search::Point> points, const std::string& step,
                                                 const Guess& guess) {
  Turn turn{points, guess};
  const std::vector<std::string> steps(points.size(), step);
  std::vector<search::Trial> trials = sequence_.evaluate(points, steps, ahead(turn));
  for (const auto& point : points) mine_.erase(question_of(point));
  if (guess.holds && !std::ranges::all_of(trials, guess.holds)) forget_all();
  return trials;
}

search::Ahead TrialsAhead::ahead(Turn& turn) {
  if (answers_ == nullptr) return {};
  left_since_.reset();
  return {[&](const Waits& waits) { return get_ahead(turn, waits); },
          [this](const search::Point& point) { return is_made_elsewhere(point); }};
}

// One point at a time: the codes of a few plans are kept, and what is ready is to be begun.
bool TrialsAhead::get_ahead(Turn& turn, const Waits& waits) {
  if (!mine_.empty()) return false;
  while (turn.guess.next && waits()) {
    const auto point = turn.guess.next();
    if (!point) break;
    turn.is_guessed = true;
    if (find(*point) != nullptr || !is_long(*point) || maker_of(*point) != Maker::me) continue;
    make(*point, turn, waits);
    return true;
  }
  if (turn.is_guessed || std::exchange(turn.own_is_ready, true)) return false;
  return prepare_own(turn);
}

void TrialsAhead::make(const search::Point& point, const Turn& turn, const Waits& waits) {
  const auto check = [&] {
    throw_if_cancelled();
    if (waits() || !turn.guess.holds) return;
    for (const auto& waited : turn.points) {
      const search::Trial* const trial = find(waited);
      if (trial != nullptr && !turn.guess.holds(*trial)) throw LeadsElsewhere();
    }
  };
  try {
    foresight_.prepare(point, check);
  } catch (const LeadsElsewhere&) {
    return forget_all();
  } catch (const Error&) {  // the trial tells it
  }
  mine_[question_of(point)] = true;
}

bool TrialsAhead::prepare_own(const Turn& turn) const {
  if (turn.points.size() > 1 || !foresight_.can_tell() || !foresight_.is_long(turn.points.front())) return false;
  foresight_.prepare(turn.points.front(), throw_if_cancelled);
  return true;
}

// A process that has the same name as one that died looks alive: nobody is waited for longer than a dead worker is.
bool TrialsAhead::is_made_elsewhere(const search::Point& point) {
  const auto now = std::chrono::steady_clock::now();
  if (!left_since_) left_since_ = now;
  if (std::chrono::duration<double>(now - *left_since_).count() > study_.heartbeat().grace) return false;
  return is_long(point) && maker_of(point) == Maker::another;
}

TrialsAhead::Maker TrialsAhead::maker_of(const search::Point& point) {
  const std::string question = question_of(point);
  if (mine_.contains(question)) return Maker::me;
  if (answers_ == nullptr) return Maker::nobody;
  try {
    const auto known = answers_->ask(study_.id(), std::span(&question, 1));
    const auto said = known.answers.find(question);
    if (!known.mine.empty()) {
      mine_[question] = false;
      answers_->answer(study_.id(), {{question, process_name()}});
      return Maker::me;
    }
    if (said == known.answers.end()) return Maker::another;  // who has just taken it, and says so in a moment
    return said->second.is_string() && lives(said->second.get<std::string>()) ? Maker::another : Maker::nobody;
  } catch (const search::ConnectionLost&) {
    throw;
  } catch (const Error&) {  // a role that may not make the table
    answers_ = nullptr;
    return Maker::nobody;
  }
}

bool TrialsAhead::is_long(const search::Point& point) {
  const auto [known, is_new] = is_long_.try_emplace(question_of(point), false);
  try {
    if (is_new) known->second = foresight_.is_long(point);
  } catch (const Error&) {  // the trial tells it
  }
  return known->second;
}

// The server keeps no more than so much of a name.
bool TrialsAhead::lives(const std::string& process) const {
  constexpr size_t longest_name = 63;
  const search::Liveness alive = study_.sharing()->liveness(study_.id());
  return std::ranges::any_of(alive.processes, [&](const auto& name) { return name == process.substr(0, longest_name); });
}

void TrialsAhead::forget_all() {
  for (const auto& [question, is_made] : std::exchange(mine_, {})) {
    try {
      if (answers_ != nullptr) answers_->forget(study_.id(), question);
    } catch (const std::exception&) {  // whoever waits for this process does so for a while
    }
  }
}

}  // namespace quasar::tune
