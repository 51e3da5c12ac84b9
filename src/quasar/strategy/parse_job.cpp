#include "quasar/strategy/parse_job.hpp"

#include "quasar/job/read_job.hpp"
#include "quasar/strategy/strategy.hpp"

namespace quasar::tune {

Job parse_job(const Json& words, const std::filesystem::path& base) {
  return read_job(words, base,
                  {.names = strategies::table().names(),
                   .resolve = [](const std::string& name) { return strategies::table().resolve(name); },
                   .of = [](const std::string& name) { return strategies::table().make(name); }});
}

}  // namespace quasar::tune
