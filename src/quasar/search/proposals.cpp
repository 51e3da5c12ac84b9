#include "quasar/search/proposals.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/search/enqueued.hpp"

namespace quasar::search {
namespace {

constexpr uint64_t most_attempts = 1000;  // to draw a point that the space does not refuse
constexpr uint64_t most_asked_anew = 20;  // for a point whose result is not known yet

}  // namespace

Proposals::Proposals(const RunOptions& options, const Study& study, const Space& space, Sampler& sampler)
    : options_(options), study_(study), space_(space), sampler_(sampler) {
  if (!study.is_shared()) {
    for (const int64_t number : study.waiting(space, options.stage)) again_.push_back(number);
  }
  for (const Point& point : options.first) {
    space.check(point);
    if (!tried(point) && std::ranges::find(first_, point) == first_.end()) first_.push_back(point);
  }
}

std::optional<int64_t> Proposals::again() {
  if (study_.is_shared()) {  // at any time, another process may leave or lose a trial, or take one
    const auto waiting = study_.waiting(space_, options_.stage);
    return waiting.empty() ? std::nullopt : std::optional(waiting.front());
  }
  if (!again_.empty()) {
    const int64_t number = again_.front();
    again_.pop_front();
    return number;
  }
  for (const int64_t number : study_.waiting(space_, options_.stage)) {  // another program may enqueue one at any time
    if (is_enqueued(study_.at(number))) return number;
  }
  return std::nullopt;
}

void Proposals::give_back() {
  if (given_) first_.push_front(*given_);
  given_.reset();
}

std::optional<Point> Proposals::next() {
  given_.reset();
  while (!first_.empty()) {
    given_ = first_.front();
    first_.pop_front();
    if (!study_.is_shared() || !has_somebody(*given_)) return given_;
    given_.reset();
  }
  const uint64_t number = study_.trials().empty() ? 0 : static_cast<uint64_t>(study_.trials().back().number) + 1;
  std::optional<Point> known;
  for (uint64_t attempt = 0; attempt < most_attempts; ++attempt) {
    // A stream of its own, not that of the objective.
    Rng rng(seed_of(seed_of(options_.seed, number), 1 + attempt));
    auto point = attempt < most_attempts / 10 ? sampled(rng) : space_.sample(rng);
    if (!point) return known;
    if (!space_.refused(*point).empty()) continue;
    const bool insists = known == point;  // a grid gives the same answer again
    if (attempt >= most_asked_anew || insists || !is_known(*point)) return point;
    known = std::move(point);
  }
  throw Error("of " + std::to_string(most_attempts) + " points drawn from the search space none is possible");
}

// Or will be, because it was interrupted.
bool Proposals::tried(const Point& point) const {
  return std::ranges::any_of(study_.numbers_at(point), [&](int64_t number) {
    return study_.at(number).finished() || std::ranges::find(again_, number) != again_.end();
  });
}

// In this process or another one; what waits is tried again by itself.
bool Proposals::has_somebody(const Point& point) const {
  return !study_.numbers_at(point).empty();
}

// Some trial of the study, running ones too, has the point's result already.
bool Proposals::is_known(const Point& point) {
  if (!options_.likeness) return false;
  const auto trials = study_.trials();
  for (; looked_at_ < trials.size(); ++looked_at_) {
    if (!is_enqueued(trials[looked_at_])) known_.insert(options_.likeness(trials[looked_at_].point));
  }
  return known_.contains(options_.likeness(point));
}

std::optional<Point> Proposals::sampled(Rng& rng) {
  return sampler_.next({space_, history(), study_.directions(), options_.cost, options_.seed}, rng);
}

// The study's trials, those of an earlier study before them.
std::span<const Trial> Proposals::history() {
  if (options_.prior.empty()) return study_.trials();
  together_.assign(options_.prior.begin(), options_.prior.end());
  together_.insert(together_.end(), study_.trials().begin(), study_.trials().end());
  return together_;
}

}  // namespace quasar::search
