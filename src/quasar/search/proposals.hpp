// What a run tries next: trials that an earlier run did not end, points that the caller gave, then whatever the sampler says.
#pragma once

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "quasar/search/run_options.hpp"

namespace quasar::search {

// Not thread-safe; all that it is made from outlives it.
class Proposals {
 public:
  // Throws Error when one of options.first is not a point of the space.
  Proposals(const RunOptions& options, const Study& study, const Space& space, Sampler& sampler);

  // The number of a trial to resume, each once; these come first. nullopt: no more of them.
  std::optional<int64_t> again();

  // The point that next() gave last was not tried: it comes again.
  void give_back();

  // A new point; nullopt: the space is exhausted. Throws Error when no possible point is found.
  std::optional<Point> next();

 private:
  bool tried(const Point& point) const;
  bool has_somebody(const Point& point) const;
  bool is_known(const Point& point);
  std::optional<Point> sampled(Rng& rng);
  std::span<const Trial> history();

  const RunOptions& options_;
  const Study& study_;
  const Space& space_;
  Sampler& sampler_;
  std::deque<int64_t> again_;
  std::deque<Point> first_;
  std::optional<Point> given_;  // the last of first_ that next() gave
  std::vector<Trial> together_;
  std::set<std::string> known_;  // likenesses of the first looked_at_ trials
  size_t looked_at_ = 0;
};

}  // namespace quasar::search
