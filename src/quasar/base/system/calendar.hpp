// Seconds since 1970 as date and time of day.
#pragma once

#include <ctime>

namespace quasar {

// From any thread.
std::tm in_local_time(std::time_t seconds);
std::tm in_utc(std::time_t seconds);

}  // namespace quasar
