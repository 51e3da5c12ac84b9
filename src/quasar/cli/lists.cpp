#include "quasar/cli/lists.hpp"

#include "quasar/cli/command.hpp"
#include "quasar/data/reader.hpp"
#include "quasar/eval/custom.hpp"
#include "quasar/eval/decoder.hpp"
#include "quasar/eval/head.hpp"
#include "quasar/job/job.hpp"
#include "quasar/job/preset.hpp"
#include "quasar/quant/codes/range.hpp"
#include "quasar/quant/codes/rounding.hpp"
#include "quasar/quant/config/named_schemes.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/report/writer.hpp"
#include "quasar/search/pruner.hpp"
#include "quasar/search/sampler.hpp"
#include "quasar/search/stop.hpp"
#include "quasar/search/storage.hpp"
#include "quasar/strategy/strategy.hpp"

namespace quasar::cli {
namespace {

Json described(const std::string& name, const std::string& help, const std::vector<std::string>& aliases = {}) {
  return {{"name", name}, {"help", help}, {"aliases", aliases}, {"options", Json::array()}};
}

Json described(const OptionSpec& option) {
  Json out{{"name", option.name}, {"default", option.fallback}, {"help", option.help}};
  if (!option.choices.empty()) out["choices"] = option.choices;
  if (option.low) out["low"] = *option.low;
  if (option.high) out["high"] = *option.high;
  return out;
}

// Everything in one extension folder.
template <const auto& (*table)()>
Json extensions() {
  Json list = Json::array();
  for (const auto& [name, entry] : table().items()) {
    list.push_back(described(name, entry.help, entry.aliases));
    for (const auto& option : entry.options) list.back()["options"].push_back(described(option));
  }
  return list;
}

Json schemes() {
  Json list = Json::array();
  for (const auto& scheme : quant::named_schemes()) {
    list.push_back(described(scheme.name, scheme.help, scheme.aliases));
    list.back()["rounded"] = scheme.rounded;
  }
  return list;
}

Json keys() {
  Json list = Json::array();
  for (const auto& key : tune::job_keys()) list.push_back(described(key.name, key.help, key.aliases));
  return list;
}

Json list_kinds() {
  Json list = Json::array();
  for (const auto& one : lists()) list.push_back(described(one.kind, one.help));
  return list;
}

}  // namespace

const std::vector<List>& lists() {
  static const std::vector<List> all{
      {"lists", "what can be listed", list_kinds},
      {"keys", "keys of a configuration file", keys},
      {"presets", "named searches", extensions<tune::presets::table>},
      {"schemes", "named configurations, Quasar's own and then AMD Quark's", schemes},
      {"samplers", "who chooses what is tried next (search_algo)", extensions<search::samplers::table>},
      {"pruners", "who gives trials up early (pruner)", extensions<search::pruners::table>},
      {"strategies", "who decides the order of a whole search (strategy)", extensions<tune::strategies::table>},
      {"metrics", "how candidates are scored (search_metric)", extensions<eval::metrics::table>},
      {"decoders", "what makes detections of a detector's outputs (decoder)", extensions<eval::decoders::table>},
      {"heads", "what a model's outputs are recognized as, and judged by", extensions<eval::heads::table>},
      {"evaluators", "how a score of the user's own is asked for (search_evaluator)", extensions<eval::evaluators::table>},
      {"ranges", "calibration methods: from statistics to a range", extensions<quant::ranges::table>},
      {"rounding", "how weights become codes (algorithms)", extensions<quant::rounding::table>},
      {"transforms", "rewrites of the float graph before it is quantized", extensions<quant::transforms::table>},
      {"readers", "how samples are read", extensions<data::readers::table>},
      {"targets", "what the model must run on (target)", extensions<quant::targets::table>},
      {"stop", "conditions that end a search (search_stop_condition)", extensions<search::stop::table>},
      {"storage", "where a study is kept (study_storage_db)", extensions<search::storage::table>},
      {"formats", "forms of a report (quasar report --format)", extensions<report::writers::table>}};
  return all;
}

}  // namespace quasar::cli
