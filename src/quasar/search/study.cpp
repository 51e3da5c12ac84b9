#include "quasar/search/study.hpp"

#include <algorithm>

#include "quasar/base/error.hpp"

namespace quasar::search {

Study::Study(Storage& storage, const StudyOptions& options) : storage_(storage) {
  const auto known = storage.studies();
  const auto found = std::find_if(known.begin(), known.end(), [&](const StudyRecord& r) { return r.name == options.name; });
  if (found == known.end()) {
    record_ = storage.create(options.name, options.directions);
    hold_ = storage.hold(record_);
    return;
  }
  if (!options.resume) {
    throw Error("the study '" + options.name +
                "' exists already; continue it with --resume (load_study_if_exists: true), or choose another "
                "output_dir or study_name");
  }
  if (found->directions != options.directions) {
    throw Error("the study '" + options.name + "' has other objectives or directions; choose another study_name");
  }
  record_ = *found;
  hold_ = storage.hold(record_);
  trials_ = storage.trials(record_.id);
  for (size_t i = 0; i < trials_.size(); ++i) {
    compare(i);
    if (trials_[i].state == State::running) release(trials_[i].number);
  }
}

void Study::set_attribute(const std::string& key, const Json& value) {
  storage_.set_attribute(record_.id, key, value);
  record_.user_attributes[key] = value;
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
  for (const Trial& trial : trials_) {
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

const Trial& Study::start(const Space& space, const Point& point, const Json& user_attributes) {
  Trial trial;
  trial.point = point;
  trial.user_attributes = user_attributes;
  trial.start = now();
  for (const auto& [name, value] : point.values()) {
    const Parameter* parameter = space.find(name);
    if (parameter == nullptr) throw Error("the point has '" + name + "', which is not in the search space");
    trial.distributions.push_back(parameter->in_study());
  }
  storage_.start(record_.id, trial);
  trials_.push_back(std::move(trial));
  return trials_.back();
}

const Trial& Study::finish(Trial trial) {
  if (!trial.complete) trial.complete = now();
  const size_t mine = position(trial.number);
  storage_.finish(record_.id, trial);
  trials_[mine] = std::move(trial);
  compare(mine);
  return trials_[mine];
}

const Trial& Study::release(int64_t number) {
  Trial& trial = trials_[position(number)];
  storage_.release(record_.id, trial);
  trial.state = State::waiting;
  trial.start.reset();
  return trial;
}

const Trial& Study::resume(int64_t number) {
  Trial& trial = trials_[position(number)];
  Trial begun = trial;
  begun.start = now();
  begun.state = State::running;
  storage_.resume(record_.id, begun);
  return trial = std::move(begun);
}

const Trial& Study::at(int64_t number) const {
  return trials_.at(position(number));
}

void Study::compare(size_t position) {
  const Trial& trial = trials_[position];
  if (trial.state != State::complete) return;
  const auto is_better = [&](const Trial& best) {
    if (trial.violation() != best.violation()) return trial.violation() < best.violation();
    const double a = trial.values.front();
    const double b = best.values.front();
    return better(a, b, record_.directions.front()) || (a == b && trial.number < best.number);
  };
  if (!best_ || is_better(trials_[*best_])) best_ = position;
}

size_t Study::position(int64_t number) const {
  const auto found =
      std::lower_bound(trials_.begin(), trials_.end(), number, [](const Trial& trial, int64_t n) { return trial.number < n; });
  if (found == trials_.end() || found->number != number) throw Error("the study has no trial " + std::to_string(number));
  return static_cast<size_t>(found - trials_.begin());
}

}  // namespace quasar::search
