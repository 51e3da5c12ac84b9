// The trials of a strategy whose way is known as long as its guesses hold. In a shared study, a process that waits for another's
// trial makes ready what comes next: it rounds the layers of the next trial, where most of a trial's time goes. That is no trial.
// Whoever has made a point ready begins its trial if the way leads there, and the others leave it to that process. So the trials,
// their order and their results are those of one process.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quasar/search/sequence.hpp"
#include "quasar/trial/foresight.hpp"

namespace quasar::tune {

// What a strategy expects of the trials that it asks for.
struct Guess {
  // The points that come next if the guess holds, one after the other; nullopt: no more are known.
  std::function<std::optional<search::Point>()> next = {};
  // Whether this finished trial is as guessed.
  std::function<bool(const search::Trial&)> holds = {};
};

class TrialsAhead {
 public:
  // All of it outlives this.
  TrialsAhead(search::Sequence& sequence, const search::Study& study, const Foresight& foresight);
  // What was made ready and has not begun is left to others.
  ~TrialsAhead();
  TrialsAhead(const TrialsAhead&) = delete;
  TrialsAhead& operator=(const TrialsAhead&) = delete;

  // As Sequence::evaluate(). Where nothing is known to come next, a process that waits rounds the trial's own layers, which
  // foresight needs if it is good.
  search::Trial evaluate(const search::Point& point, const std::string& step, const Guess& guess = {});
  std::vector<search::Trial> evaluate(std::span<const search::Point> points, const std::string& step, const Guess& guess = {});

  // As Sequence::find().
  const search::Trial* find(const search::Point& point) const { return sequence_.find(point); }

 private:
  using Waits = std::function<bool()>;
  struct Turn {
    std::span<const search::Point> points;
    const Guess& guess;
    bool is_guessed = false, own_is_ready = false;
  };
  enum class Maker { me, another, nobody };

  search::Ahead ahead(Turn& turn);
  bool get_ahead(Turn& turn, const Waits& waits);
  void make(const search::Point& point, const Turn& turn, const Waits& waits);
  bool prepare_own(const Turn& turn) const;
  bool is_made_elsewhere(const search::Point& point);
  // Who makes the point ready: this process from now on where nobody did. nobody: it cannot be told.
  Maker maker_of(const search::Point& point);
  bool is_long(const search::Point& point);
  bool lives(const std::string& process) const;
  void forget_all();

  search::Sequence& sequence_;
  const search::Study& study_;
  const Foresight& foresight_;
  search::Answers* answers_;                                              // nullptr: there is nobody to share with
  std::map<std::string, bool> mine_;                                      // question -> whether the point has been made ready
  std::map<std::string, bool> is_long_;                                   // by question
  std::optional<std::chrono::steady_clock::time_point> left_since_ = {};  // the point that is next
};

}  // namespace quasar::tune
