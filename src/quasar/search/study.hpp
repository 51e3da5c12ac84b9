// A study: trials towards one goal, in memory and in its storage.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quasar/search/storage.hpp"

namespace quasar::search {

struct StudyOptions {
  std::string name = "AutoSearch";
  std::vector<Direction> directions = {Direction::minimize};
  bool resume = false;  // an existing study is continued; otherwise it is an error
};

// Not thread-safe; `storage` must outlive it.
class Study {
 public:
  // Creates the study, or continues it, and holds it to its own end. Trials that were running when their process died wait to be
  // tried again. Throws Error when it exists and resume is off, when its directions are others, and, naming the holder, when
  // another process holds it.
  Study(Storage& storage, const StudyOptions& options);

  const std::string& name() const { return record_.name; }
  const std::vector<Direction>& directions() const { return record_.directions; }
  const Json& user_attributes() const { return record_.user_attributes; }
  std::span<const Trial> trials() const { return trials_; }

  void set_attribute(const std::string& key, const Json& value);

  // Throws Error when a finished trial used one of the space's parameters with other choices or bounds: such a study cannot be
  // continued with this space.
  void check(const Space& space) const;

  // Numbers of the waiting trials with this attribute `stage` ("": without) whose point is one of the space.
  std::vector<int64_t> waiting(const Space& space, const std::string& stage) const;

  // Says anew which complete trials are good enough, for a study that is continued with another tolerance.
  void reconsider(const std::function<bool(const Trial&)>& is_candidate);

  // Ask: a new running trial at this point. The reference holds until the next start().
  const Trial& start(const Space& space, const Point& point, const Json& user_attributes = Json::object());

  // Tell: replaces the trial of this number, which now has its final state; the end is now unless it is set.
  const Trial& finish(Trial trial);

  // A running trial ended from outside: it waits as it was when it began. And runs again from now on, under its number.
  const Trial& release(int64_t number);
  const Trial& resume(int64_t number);

  // Throws Error when there is no trial of this number.
  const Trial& at(int64_t number) const;

  // The complete trial with the best first value (the earliest of equals) among those that violate the constraints least;
  // nullptr: none.
  const Trial* best() const { return best_ ? &trials_[*best_] : nullptr; }

 private:
  size_t position(int64_t number) const;
  void compare(size_t position);  // with the best so far

  Storage& storage_;
  StudyRecord record_;
  std::unique_ptr<Hold> hold_;
  std::vector<Trial> trials_;
  std::optional<size_t> best_;
};

}  // namespace quasar::search
