#include "quasar/base/system/calendar.hpp"

namespace quasar {

std::tm in_local_time(std::time_t seconds) {
  std::tm out{};
#ifdef _WIN32
  ::localtime_s(&out, &seconds);
#else
  ::localtime_r(&seconds, &out);
#endif
  return out;
}

std::tm in_utc(std::time_t seconds) {
  std::tm out{};
#ifdef _WIN32
  ::gmtime_s(&out, &seconds);
#else
  ::gmtime_r(&seconds, &out);
#endif
  return out;
}

}  // namespace quasar
