#include <CLI/CLI.hpp>
#include <iostream>

#include "quasar/cli/command.hpp"
#include "quasar/data/reader.hpp"
#include "quasar/eval/custom.hpp"
#include "quasar/eval/decoder.hpp"
#include "quasar/quant/config.hpp"
#include "quasar/quant/range.hpp"
#include "quasar/quant/rounding.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/search/pruner.hpp"
#include "quasar/search/sampler.hpp"
#include "quasar/search/stop.hpp"
#include "quasar/search/storage.hpp"
#include "quasar/tune/job.hpp"
#include "quasar/tune/preset.hpp"
#include "quasar/tune/strategy.hpp"

namespace quasar::cli::commands {
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

using Describe = Json (*)();

const std::vector<std::pair<std::string, Describe>>& kinds() {
  static const std::vector<std::pair<std::string, Describe>> all{
      {"keys", described_keys},
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
      {"storage", [] { return described(search::storage::table()); }}};
  return all;
}

void print(const Json& list) {
  for (const auto& item : list) {
    std::cout << item["name"].get<std::string>() << "\n    " << item["help"].get<std::string>() << "\n";
    for (const auto& option : item["options"]) {
      std::cout << "    " << option["name"].get<std::string>() << " (" << option["default"].dump()
                << "): " << option["help"].get<std::string>() << "\n";
    }
  }
}

class List final : public Command {
 public:
  void define(CLI::App& app) override {
    app.add_option(
           "kind", kind_,
           "keys (of a configuration), presets, schemes, samplers, pruners, strategies, metrics, decoders, evaluators, ranges, "
           "rounding, transforms, readers, targets, "
           "stop or storage")
        ->required();
    app.add_flag("--json", json_, "as JSON");
    app.footer("Example: quasar list presets");
  }

  int run() override {
    std::vector<std::string> names;
    for (const auto& [name, describe] : kinds()) {
      names.push_back(name);
      if (normalized(name) != normalized(kind_)) continue;
      if (json_) {
        std::cout << describe().dump(2) << "\n";
      } else {
        print(describe());
      }
      return exit_done;
    }
    throw Error("there is no list of '" + kind_ + "'; known: " + joined(names) + did_you_mean(kind_, names));
  }

 private:
  std::string kind_;
  bool json_ = false;
};

}  // namespace

Entry<Command> list() {
  return {"Names what can be chosen, with options and defaults.", make_as<List, Command>};
}

}  // namespace quasar::cli::commands
