// How the processes of a shared study know of each other's death.
#pragma once

#include <cstdint>

namespace quasar::search {

struct HeartbeatOptions {
  double interval = 10;   // seconds between two heartbeats
  double grace = 60;      // seconds without one after which a worker is taken for dead
  int64_t max_retry = 2;  // a trial whose worker died runs again, so often; then it has failed
};

}  // namespace quasar::search
