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
      Json one{{"name", option.name}, {"default", option.fallback}, {"help", option.help}};
      if (!option.choices.empty()) one["choices"] = option.choices;
      if (option.low) one["low"] = *option.low;
      if (option.high) one["high"] = *option.high;
      item["options"].push_back(std::move(one));
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

Json described_lists() {
  Json out = Json::array();
  for (const auto& list : lists())
    out.push_back({{"name", list.kind}, {"help", list.help}, {"aliases", Json::array()}, {"options", Json::array()}});
  return out;
}

}  // namespace

const std::vector<List>& lists() {
  static const std::vector<List> all{
      {"lists", "what can be listed", described_lists},
      {"keys", "keys of a configuration file", described_keys},
      {"presets", "named searches", [] { return described(tune::presets::table()); }},
      {"schemes", "named configurations", [] { return described(quant::schemes::table()); }},
      {"samplers", "who chooses what is tried next (search_algo)", [] { return described(search::samplers::table()); }},
      {"pruners", "who gives trials up early (pruner)", [] { return described(search::pruners::table()); }},
      {"strategies", "who decides the order of a whole search (strategy)", [] { return described(tune::strategies::table()); }},
      {"metrics", "how candidates are scored (search_metric)", [] { return described(eval::metrics::table()); }},
      {"decoders", "what makes detections of a detector's outputs (decoder)", [] { return described(eval::decoders::table()); }},
      {"evaluators", "how a score of the user's own is asked for (search_evaluator)",
       [] { return described(eval::evaluators::table()); }},
      {"ranges", "calibration methods: from statistics to a range", [] { return described(quant::ranges::table()); }},
      {"rounding", "how weights become codes (algorithms)", [] { return described(quant::rounding::table()); }},
      {"transforms", "rewrites of the float graph before it is quantized", [] { return described(quant::transforms::table()); }},
      {"readers", "how samples are read", [] { return described(data::readers::table()); }},
      {"targets", "what the model must run on (target)", [] { return described(quant::targets::table()); }},
      {"stop", "conditions that end a search (search_stop_condition)", [] { return described(search::stop::table()); }},
      {"storage", "where a study is kept (study_storage_db)", [] { return described(search::storage::table()); }},
      {"formats", "forms of a report (quasar report --format)", [] { return described(report::writers::table()); }}};
  return all;
}

}  // namespace quasar::cli
