#include "quasar/report/timeline.hpp"

#include <algorithm>
#include <utility>

#include "quasar/search/storage.hpp"

namespace quasar::report {
namespace {

using search::State;
using search::Time;
using search::Trial;
using Span = std::pair<Time, Time>;

double seconds_of(Span span) {
  return std::chrono::duration<double>(span.second - span.first).count();
}

// Of one process, or of all.
struct Spans {
  std::vector<Span> all;

  double sum() const {
    double out = 0;
    for (const Span& span : all) out += seconds_of(span);
    return out;
  }

  // Seconds that lie in at least one of them.
  double covered() {
    std::ranges::sort(all);
    double out = 0;
    std::optional<Time> until;
    for (const auto& [begin, end] : all) {
      const Time from = until ? std::max(begin, *until) : begin;
      if (end > from) out += seconds_of({from, end});
      until = until ? std::max(*until, end) : end;
    }
    return out;
  }
};

bool is_work(const Trial& trial) {
  return trial.finished() && !trial.is_duplicate() && trial.start && trial.complete && *trial.complete >= *trial.start;
}

Json share_of(std::optional<double> share) {
  return share ? Json(*share) : Json();
}

}  // namespace

std::string worker_of(const Trial& trial) {
  const Json name = trial.system_attributes.value(search::worker_attribute, Json());
  return name.is_string() ? name.get<std::string>() : "";
}

std::optional<double> Work::share() const {
  const double span = first && last ? seconds_of({*first, *last}) : 0;
  return span > 0 ? std::optional(busy / span) : std::nullopt;
}

std::map<std::string, Work> work_of(std::span<const Trial> trials) {
  std::map<std::string, Work> out;
  std::map<std::string, Spans> spans;
  for (const Trial& trial : trials) {
    if (!trial.is_duplicate()) {
      for (const auto& run : search::lost_runs_of(trial)) {
        Work& work = out[run.worker];
        ++work.lost;
        if (run.start && (!work.first || *run.start < *work.first)) work.first = run.start;
      }
    }
    if (!trial.start) continue;
    const std::string name = worker_of(trial);
    Work& work = out[name];
    if (trial.state == State::running) work.running.push_back(trial.number);
    if (!work.first || *trial.start < *work.first) work.first = trial.start;
    if (!trial.finished()) continue;
    ++work.finished;
    if (!is_work(trial)) continue;
    spans[name].all.emplace_back(*trial.start, *trial.complete);
    if (!work.last || *trial.complete > *work.last) work.last = trial.complete;
  }
  for (auto& [name, of] : spans) out[name].busy = of.covered();
  return out;
}

namespace {

Json workers_of_timeline(const std::map<std::string, Work>& workers, Time origin) {
  std::vector<std::pair<std::string, Work>> ordered(workers.begin(), workers.end());
  std::ranges::stable_sort(ordered, [](const auto& a, const auto& b) {
    return a.second.first.value_or(Time::max()) < b.second.first.value_or(Time::max());
  });
  const auto since = [&](const std::optional<Time>& time) { return time ? Json(seconds_of({origin, *time})) : Json(); };
  Json out = Json::array();
  for (const auto& [name, work] : ordered) {
    out.push_back({{"name", name},
                   {"finished", work.finished},
                   {"first_s", since(work.first)},
                   {"last_s", since(work.last)},
                   {"busy_s", work.busy},
                   {"share", share_of(work.share())},
                   {"lost", work.lost}});
  }
  return out;
}

}  // namespace

Json timeline_json(std::span<const Trial> trials, Time origin) {
  const auto workers = work_of(trials);
  Spans all;
  double busy = 0, present = 0;
  for (const Trial& trial : trials) {
    if (is_work(trial)) all.all.emplace_back(*trial.start, *trial.complete);
  }
  for (const auto& [name, work] : workers) {
    busy += work.busy;
    if (work.first && work.last) present += seconds_of({*work.first, *work.last});
  }
  const double covered = all.covered();
  const bool beside_each_other = all.sum() > covered * (1 + 1e-9);
  if (workers.empty() || (workers.size() == 1 && !beside_each_other)) return nullptr;
  Json lost = Json::array(), running = Json::array();
  for (const Trial& trial : trials) {
    if (trial.state == State::running && trial.start)
      running.push_back(
          {{"number", trial.number}, {"worker", worker_of(trial)}, {"start_s", seconds_of({origin, *trial.start})}});
    if (trial.is_duplicate()) continue;
    for (const auto& run : search::lost_runs_of(trial)) {
      lost.push_back({{"trial", trial.number},
                      {"worker", run.worker},
                      {"start_s", run.start ? Json(seconds_of({origin, *run.start})) : Json()},
                      {"found_s", seconds_of({origin, run.found})}});
    }
  }
  return {{"workers", workers_of_timeline(workers, origin)},
          {"share", share_of(present > 0 ? std::optional(busy / present) : std::nullopt)},
          {"at_once", share_of(covered > 0 ? std::optional(all.sum() / covered) : std::nullopt)},
          {"lost", lost},
          {"running", running}};
}

}  // namespace quasar::report
