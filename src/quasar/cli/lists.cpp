#include "quasar/cli/lists.hpp"

#include "quasar/cli/command.hpp"
#include "quasar/data/reader.hpp"
#include "quasar/eval/custom.hpp"
#include "quasar/eval/decoder.hpp"
#include "quasar/quant/config.hpp"
#include "quasar/quant/range.hpp"
#include "quasar/quant/rounding.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/report/writer.hpp"
#include "quasar/search/pruner.hpp"
#include "quasar/search/sampler.hpp"
#include "quasar/search/stop.hpp"
#include "quasar/search/storage.hpp"
#include "quasar/tune/job.hpp"
#include "quasar/tune/preset.hpp"
#include "quasar/tune/strategy.hpp"

namespace quasar::cli {
namespace {

template <class T>
Json described(const Table<T>& table) {
  Json list = Json::array();
  for (const auto& [name, entry] : table.items()) {
    Json item{{"name", name}, {"help", entry.help}, {"aliases", entry.aliases}, {"options", Json::array()}};
    for (const auto& option : entry.options) {
      item["options"].push_back({{"name", option.name}, {"default", option.fallback}, {"help", option.help}});
    }
    list.push_back(std::move(item));
  }
  return list;
}

// The keys of a configuration file.
Json described_keys() {
  Json list = Json::array();
  for (const auto& key : tune::job_keys())
    list.push_back({{"name", key.name}, {"help", key.help}, {"aliases", key.aliases}, {"options", Json::array()}});
  return list;
}

}  // namespace

const std::vector<List>& lists() {
  static const std::vector<List> all{{"keys", described_keys},
                                     {"presets", [] { return described(tune::presets::table()); }},
                                     {"schemes", [] { return described(quant::schemes::table()); }},
                                     {"samplers", [] { return described(search::samplers::table()); }},
                                     {"pruners", [] { return described(search::pruners::table()); }},
                                     {"strategies", [] { return described(tune::strategies::table()); }},
                                     {"metrics", [] { return described(eval::metrics::table()); }},
                                     {"decoders", [] { return described(eval::decoders::table()); }},
                                     {"evaluators", [] { return described(eval::evaluators::table()); }},
                                     {"ranges", [] { return described(quant::ranges::table()); }},
                                     {"rounding", [] { return described(quant::rounding::table()); }},
                                     {"transforms", [] { return described(quant::transforms::table()); }},
                                     {"readers", [] { return described(data::readers::table()); }},
                                     {"targets", [] { return described(quant::targets::table()); }},
                                     {"stop", [] { return described(search::stop::table()); }},
                                     {"storage", [] { return described(search::storage::table()); }},
                                     {"formats", [] { return described(report::writers::table()); }}};
  return all;
}

}  // namespace quasar::cli
