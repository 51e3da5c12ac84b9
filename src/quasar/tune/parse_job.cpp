#include "quasar/tune/parse_job.hpp"

#include "quasar/tune/read_job.hpp"
#include "quasar/tune/strategy.hpp"

namespace quasar::tune {

Job parse_job(const Json& words, const std::filesystem::path& base) {
  return read_job(words, base,
                  {.resolve = [](const std::string& name) { return strategies::table().resolve(name); },
                   .of = [](const std::string& name) { return strategies::table().make(name); }});
}

}  // namespace quasar::tune
