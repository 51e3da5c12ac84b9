#include "quasar/search/study.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "quasar/base/error.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/search/enqueued.hpp"
#include "quasar/search/space.hpp"

namespace quasar::search {
namespace {

uint64_t hash_of_value(const Json& value) {
  if (value.is_number()) return std::hash<double>()(value.get<double>());
  if (value.is_string()) return std::hash<std::string_view>()(value.get_ref<const std::string&>());
  if (!value.is_structured()) return std::hash<std::string>()(value.dump());
  uint64_t hash = value.size();
  for (const auto& [key, inner] : value.items()) {
    if (value.is_object()) hash = seed_of(hash, std::hash<std::string_view>()(key));
    hash = seed_of(hash, hash_of_value(inner));
  }
  return hash;
}

// Equal for equal points: 1 and 1.0 are, as a study's file may have either.
uint64_t point_hash(const Point& point) {
  uint64_t hash = point.values().size();
  for (const auto& [name, value] : point.values())
    hash = seed_of(seed_of(hash, std::hash<std::string_view>()(name)), hash_of_value(value));
  return hash;
}

}  // namespace

void Study::set_attribute(const std::string& key, const Json& value) {
  storage_.set_attribute(record_.id, key, value);
  record_.user_attributes[key] = value;
}

std::unique_ptr<StudyTransaction> Study::transaction() {
  return sharing_ == nullptr ? nullptr : sharing_->transaction(record_.id);
}

std::vector<Change> Study::refresh() {
  std::vector<Change> changes;
  if (sharing_ == nullptr) {
    for (Trial& trial : storage_.later(record_.id, trials_.empty() ? -1 : trials_.back().id))
      take_over(std::move(trial), changes);
    return changes;
  }
  std::map<int64_t, State> known;
  std::map<int64_t, int64_t> numbers;  // by id
  for (const int64_t number : unfinished_) {
    const Trial& trial = at(number);
    known[trial.id] = trial.state;
    numbers[trial.id] = number;
  }
  Updates updates = sharing_->updates(record_.id, trials_.empty() ? -1 : trials_.back().id, known, words());
  hear(updates.words);
  for (const auto& [id, hash] : updates.plan_hashes) {
    Trial& trial = trials_[position(numbers.at(id))];
    if (trial.user_attributes.contains(attribute::plan_hash)) continue;
    trial.user_attributes[attribute::plan_hash] = hash;
    changes.push_back({trial.number, trial.state});
  }
  for (Trial& trial : updates.trials) take_over(std::move(trial), changes);
  return changes;
}

void Study::take_over(Trial trial, std::vector<Change>& changes) {
  const int64_t number = trial.number;
  if (trials_.empty() || number > trials_.back().number) {
    trials_.push_back(std::move(trial));
    changes.push_back({number, std::nullopt});
    keep_new(trials_.size() - 1);
    return compare(trials_.size() - 1);
  }
  const size_t place = position(number);
  if (trial.distributions.empty()) {  // they do not change, and were not read again
    trial.point = trials_[place].point;
    trial.distributions = trials_[place].distributions;
  }
  changes.push_back({number, trials_[place].state});
  if (trials_[place].point != trial.point) {  // it had been enqueued
    std::erase(by_point_[point_hash(trials_[place].point)], number);
    by_point_[point_hash(trial.point)].push_back(number);
  }
  trials_[place] = std::move(trial);
  keep(place);
  compare(place);
}

void Study::note_claim(int64_t number, const std::string& hash) {
  if (sharing_ != nullptr) sharing_->note(at(number), attribute::plan_hash, hash);
}

void Study::keep(size_t position) {
  const Trial& trial = trials_[position];
  if (trial.finished()) {
    unfinished_.erase(trial.number);
  } else {
    unfinished_.insert(trial.number);
  }
}

void Study::keep_new(size_t position) {
  by_point_[point_hash(trials_[position].point)].push_back(trials_[position].number);
  keep(position);
}

void Study::check(const Space& space) const {
  for (const Trial& trial : trials_) {
    if (!trial.finished()) continue;
    for (size_t i = 0; i < trial.distributions.size(); ++i) {
      const auto& [name, value] = trial.point.values()[i];
      const Parameter* parameter = space.find(name);
      if (parameter == nullptr || *parameter->in_study() == *trial.distributions[i]) continue;
      throw Error(
          "the study '" + record_.name + "' cannot be continued with this search space: trial " + std::to_string(trial.number) +
          " drew '" + name +
          "' from other choices or bounds; restore them, or start a new search in another output_dir that this one teaches "
          "(warm_start: the folder of this study)");
    }
  }
}

std::vector<int64_t> Study::waiting(const Space& space, const std::string& stage) const {
  const auto lies_inside = [&](const Trial& trial) {
    for (size_t i = 0; i < trial.distributions.size(); ++i) {
      const Parameter* parameter = space.find(trial.point.values()[i].first);
      if (parameter == nullptr || *parameter->in_study() != *trial.distributions[i]) return false;
    }
    return space.has(trial.point);
  };
  std::vector<int64_t> out;
  for (const int64_t number : unfinished_) {
    const Trial& trial = at(number);
    if (is_enqueued(trial)) {
      if (enqueued_point(trial, space)) out.push_back(trial.number);
      continue;
    }
    const bool mine = trial.user_attributes.value(attribute::stage, std::string()) == stage;
    if (mine && trial.state == State::waiting && lies_inside(trial)) out.push_back(trial.number);
  }
  return out;
}

void Study::reconsider(const std::function<bool(const Trial&)>& is_candidate) {
  for (Trial& trial : trials_) {
    if (trial.state != State::complete || trial.values.empty()) continue;
    trial.user_attributes.erase(attribute::candidate);
    if (is_candidate(trial)) trial.user_attributes[attribute::candidate] = true;
  }
}

void Study::outdate(const std::function<bool(const Trial&)>& is_outdated) {
  for (Trial& trial : trials_) {
    if (!trial.finished() || !is_outdated(trial)) continue;
    std::erase(by_point_[point_hash(trial.point)], trial.number);
    trial.user_attributes.erase(attribute::plan_hash);
  }
}

namespace {

void give_point(Trial& trial, const Space& space, const Point& point) {
  trial.point = point;
  for (const auto& [name, value] : point.values()) {
    const Parameter* parameter = space.find(name);
    if (parameter == nullptr) throw Error("the point has '" + name + "', which is not in the search space");
    trial.distributions.push_back(parameter->in_study());
  }
}

}  // namespace

const Trial& Study::start(const Space& space, const Point& point, const Json& user_attributes) {
  Trial trial;
  trial.user_attributes = user_attributes;
  trial.start = now();
  give_point(trial, space, point);
  if (is_shared()) trial.system_attributes[worker_attribute] = process_;
  storage_.start(record_.id, trial);
  trials_.push_back(std::move(trial));
  keep_new(trials_.size() - 1);
  begun_id_ = trials_.back().id;
  return trials_.back();
}

const Trial& Study::finish(Trial trial) {
  if (!trial.complete) trial.complete = now();
  const size_t mine = position(trial.number);
  try {
    storage_.finish(record_.id, trial);
  } catch (const TrialChanged&) {
    if (sharing_ == nullptr) throw;
    return as_others_left_it(trial.number);
  }
  trials_[mine] = std::move(trial);
  keep(mine);
  compare(mine);
  return trials_[mine];
}

const Trial& Study::release(int64_t number) {
  Trial& trial = trials_[position(number)];
  try {
    storage_.release(record_.id, trial);
  } catch (const TrialChanged&) {
    if (sharing_ == nullptr) throw;
    return as_others_left_it(number);
  }
  trial.state = State::waiting;
  trial.start.reset();
  return trial;
}

void Study::undo(int64_t number) {
  const size_t place = position(number);
  if (trials_[place].id == begun_id_ && place + 1 == trials_.size()) {
    unfinished_.erase(number);
    std::erase(by_point_[point_hash(trials_[place].point)], number);
    trials_.pop_back();
  } else {
    trials_[place].state = State::waiting;
    trials_[place].start.reset();
  }
}

// Others took this process for dead, and the trial over.
const Trial& Study::as_others_left_it(int64_t number) {
  const Trial& trial = at(number);
  Updates updates = sharing_->updates(record_.id, trials_.back().id, {{trial.id, trial.state}}, {});
  std::vector<Change> changes;
  for (Trial& one : updates.trials) {
    if (one.number == number) take_over(std::move(one), changes);
  }
  return at(number);
}

const Trial& Study::resume(int64_t number, const Space& space, const std::string& stage) {
  Trial& trial = trials_[position(number)];
  Trial begun = trial;
  const auto enqueued = is_enqueued(trial) ? enqueued_point(trial, space) : std::nullopt;
  if (enqueued) give_point(begun, space, *enqueued);
  if (enqueued && !stage.empty()) begun.user_attributes[attribute::stage] = stage;
  begun.start = now();
  begun.state = State::running;
  if (is_shared()) begun.system_attributes[worker_attribute] = process_;
  storage_.resume(record_.id, begun);
  if (enqueued) {
    std::erase(by_point_[point_hash(trial.point)], number);
    by_point_[point_hash(begun.point)].push_back(number);
  }
  return trial = std::move(begun);
}

const Trial& Study::at(int64_t number) const {
  return trials_.at(position(number));
}

std::vector<int64_t> Study::numbers_at(const Point& point) const {
  std::vector<int64_t> out;
  const auto found = by_point_.find(point_hash(point));
  if (found == by_point_.end()) return out;
  std::ranges::copy_if(found->second, std::back_inserter(out), [&](int64_t number) { return at(number).point == point; });
  return out;
}

void Study::compare(size_t position) {
  const Trial& trial = trials_[position];
  if (trial.state != State::complete) return;
  if (only_claimed_ && !trial.user_attributes.contains(attribute::plan_hash)) return;
  const auto is_better = [&](const Trial& best) {
    if (trial.violation() != best.violation()) return trial.violation() < best.violation();
    // Ties in the first objective are decided by the others, so that nothing dominates the best.
    for (size_t i = 0; i < std::min({trial.values.size(), best.values.size(), record_.directions.size()}); ++i) {
      if (trial.values[i] != best.values[i]) return better(trial.values[i], best.values[i], record_.directions[i]);
    }
    return trial.number < best.number;
  };
  if (!best_ || is_better(trials_[*best_])) best_ = position;
}

size_t Study::position(int64_t number) const {
  const auto found =
      std::lower_bound(trials_.begin(), trials_.end(), number, [](const Trial& trial, int64_t n) { return trial.number < n; });
  if (found == trials_.end() || found->number != number)
    throw Error("the study '" + record_.name + "' in " + storage_.where() + " has no trial " + std::to_string(number));
  return static_cast<size_t>(found - trials_.begin());
}

}  // namespace quasar::search
