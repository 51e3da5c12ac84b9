// Several "processes" on one study, as threads with studies of their own: in memory, or on a PostgreSQL server.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "quasar/search/run.hpp"
#include "servers/postgresql.hpp"

namespace quasar::search {

inline constexpr HeartbeatOptions quick{.interval = 0.1, .grace = 0.6, .max_retry = 1};

// What the "processes" of a test open; each has a connection of its own where there are connections.
struct Place {
  std::unique_ptr<servers::Postgresql> server;
  std::unique_ptr<Storage> memory;
  int studies = 0;

  struct Opened {
    std::unique_ptr<Storage> own;
    Storage* storage;
    Storage* operator->() const { return storage; }
  };
  Opened open() const {
    if (!server) return {nullptr, memory.get()};
    auto own = open_storage(server->url());
    Storage* storage = own.get();
    return {std::move(own), storage};
  }
  std::string study() { return "study " + std::to_string(++studies); }
};

inline Space space_of(int64_t points) {
  Json a = Json::array();
  for (int64_t i = 0; i < points; ++i) a.push_back(i);
  return Space::parse({{"a", a}});
}

inline double value_of(const RunningTrial& job) {
  return job.point().find("a")->get<double>();
}

inline StudyOptions joining(const std::string& name, bool worker) {
  return {.name = name, .resume = true, .worker = worker, .heartbeat = quick};
}

// Runs `work(process, study)` in as many processes at a time; the first leads.
inline void in_processes(Place& place, const std::string& name, size_t count, const std::function<void(size_t, Study&)>& work) {
  const auto leader = place.open();
  Study led(*leader.storage, joining(name, false));
  std::vector<std::jthread> others;
  for (size_t i = 1; i < count; ++i) {
    others.emplace_back([&, i] {
      const auto mine = place.open();
      Study study(*mine.storage, joining(name, true));
      work(i, study);
    });
  }
  work(0, led);
}

}  // namespace quasar::search
