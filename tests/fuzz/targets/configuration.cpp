// The bytes as a configuration file: every key that a search or `quasar quantize` takes, up to where something would be run.
#include "fuzz/target.hpp"
#include "quasar/base/yaml.hpp"
#include "quasar/job/job.hpp"
#include "quasar/job/spaces.hpp"
#include "quasar/quant/config/config.hpp"
#include "quasar/strategy/parse_job.hpp"

namespace quasar::fuzz {
namespace {

// Looking through a space of thousands of points is right, but slow.
bool is_small(const search::Space& space) {
  const auto size = space.size();
  return size && *size <= 64;
}

void read_job(const Json& words) {
  const tune::Job job = tune::parse_job(words, scratch());
  for (const Json& space : job.spaces) {
    if (!is_small(search::Space::parse(space))) return;
  }
  tune::read_spaces(job);
}

}  // namespace
}  // namespace quasar::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quasar;
  Json words;
  if (!fuzz::refusal([&] { words = parse_yaml(fuzz::text_of(data, size), "the configuration"); }).empty()) return 0;
  const std::string again = fuzz::refusal([&] {
    const std::string text = to_yaml(words);
    fuzz::expect(to_yaml(parse_yaml(text, "what was written")) == text, "a configuration that was written is read as it was");
  });
  fuzz::expect(again.empty(), "what to_yaml writes is YAML");
  fuzz::refusal([&] { fuzz::read_job(words); });
  if (!words.is_object()) return 0;
  fuzz::refusal([&] { quant::parse_config(words); });
  fuzz::refusal([&] { search::Space::parse(words.value("search_space", words)).size(); });
  return 0;
}
