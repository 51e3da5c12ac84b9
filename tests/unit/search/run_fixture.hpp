// A run of 36 configurations in memory.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "quasar/search/run.hpp"

namespace quasar::search {

inline Space space_36() {
  return Space::parse({{"a", {0, 1, 2, 3, 4, 5}}, {"b", {0, 1, 2, 3, 4, 5}}});
}

inline double number(const RunningTrial& job, const char* name) {
  return job.point().find(name)->get<double>();
}

inline Outcome sum_of_point(RunningTrial& job) {
  return {.values = {number(job, "a") + 10 * number(job, "b")}};
}

// Trials as they would look after another run: without ids and times.
inline Json without_times(std::span<const Trial> trials) {
  Json out = Json::array();
  for (const Trial& t : trials) {
    Json point = Json::object();
    for (const auto& [name, value] : t.point.values()) point[name] = value;
    out.push_back({{"number", t.number},
                   {"state", static_cast<int>(t.state)},
                   {"point", point},
                   {"values", t.values},
                   {"user", t.user_attributes}});
  }
  return out;
}

struct RunFixture {
  std::unique_ptr<Storage> storage = open_storage("memory");
  Space space = space_36();
  RunOptions options;
  Json stop = Json::object();

  RunResult run(const std::string& sampler, const Objective& objective, bool resume = false) {
    Study study(*storage, {.resume = resume});
    const auto result = search::run(options, study, space, *samplers::table().make(sampler), stop_conditions(stop), objective);
    trials.assign(study.trials().begin(), study.trials().end());
    best = study.best() ? study.best()->number : -1;
    return result;
  }

  std::vector<Trial> trials;
  int64_t best = -1;
};

// 36 configurations with 8 different plans, as in Quark's grid.
struct Plans {
  std::mutex mutex;
  std::map<std::string, int> executed;

  Outcome operator()(RunningTrial& job) {
    const int plan = (job.point().find("a")->get<int>() * 6 + job.point().find("b")->get<int>()) % 8;
    const std::string hash = "plan" + std::to_string(plan);
    if (const auto owner = job.claim(hash)) return {.duplicate_of = owner};
    {
      const std::scoped_lock lock(mutex);
      ++executed[hash];
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    if (plan == 3) throw std::runtime_error("plan 3 fails");
    return {.values = {plan / 2.0}, .candidate = plan < 2, .user_attributes = {{"metrics", {{"L2", plan}}}}};
  }
};

}  // namespace quasar::search
