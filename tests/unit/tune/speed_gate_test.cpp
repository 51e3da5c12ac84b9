#include "quasar/tune/speed_gate.hpp"

#include <gtest/gtest.h>

#include "unit/tune/made_up_trials.hpp"

namespace quasar::tune {
namespace {

Json gated_words() {
  Json words = digits_words();
  for (const char* key : {"strategy", "accuracy_criterion"}) words.erase(key);
  words["speed_gate"] = 1;
  words["search_space"] = parse_json(R"({"activation": ["UInt8Spec", "Int8Spec"], "weight": ["Int8Spec"],
    "algorithms": [null, "adaround"]})",
                                     "test");
  return words;
}

// Which form is the fastest depends on the machine; what is decided must hold together on any.
TEST(SpeedGate, WhatIsDecidedIsNeverSlowerThanPlanned) {
  MadeUpTrials trials(gated_words());
  const auto gate = measure_speed(trials.job, trials.setting, trials.variants, {});
  ASSERT_TRUE(gate);
  EXPECT_GT(gate->planned, 0);
  EXPECT_LE(gate->gated, gate->planned);
  if (gate->regions.empty()) {
    EXPECT_EQ(gate->gated, gate->planned) << gate->told;
  }
  const graph::Index index(trials.setting.model);
  std::set<std::string> all;
  for (const auto& [first, nodes] : gate->regions) {
    EXPECT_EQ(nodes.front(), first);
    for (const auto& node : nodes) {
      EXPECT_NE(index.node(node), nullptr) << node;
      EXPECT_TRUE(all.insert(node).second) << node << " is in two regions";
    }
  }
}

TEST(SpeedGate, NothingIsMeasuredForWhatDoesNotRunHere) {
  for (const auto& [key, value] : std::map<std::string, Json>{{"speed_gate", "off"}, {"target", "xint8"}}) {
    Json words = gated_words();
    words[key] = value;
    if (key == "target") words["search_space"] = {{"scheme", {"XINT8"}}};
    MadeUpTrials trials(words);
    EXPECT_FALSE(measure_speed(trials.job, trials.setting, trials.variants, {})) << key;
  }
  Json words = gated_words();
  words["search_space"] = {{"scheme", {"DYNAMIC"}}};
  MadeUpTrials trials(words);
  EXPECT_FALSE(measure_speed(trials.job, trials.setting, trials.variants, {}));
}

TEST(SpeedGate, RegionsStayInFloatInEveryPoint) {
  MadeUpTrials trials(gated_words());
  PreparedJob prepared = prepare(trials.job);
  const std::vector<std::string> names{prepared.model.nodes[0].name, prepared.model.nodes[1].name};
  hold_regions(prepared.spaces, {.regions = {{names[0], names}}, .told = {}});
  for (const search::Space* space : {&prepared.spaces.each.front(), &prepared.spaces.calibration.front(), &prepared.spaces.all}) {
    const Json words = words_of(*space, space->at(0));
    EXPECT_EQ(words["exclude"], Json(names));
    EXPECT_FALSE(words.contains("region " + names[0]));
  }
}

TEST(SpeedGate, StandsInTheStudy) {
  const auto storage = search::open_storage("memory");
  search::Study study(*storage, {.directions = {Direction::minimize}});
  EXPECT_FALSE(decided_speed(study));
  const SpeedGate gate{.regions = {{"a", {"a", "b"}}}, .planned = 1.5, .gated = 0.75, .told = "why"};
  study.set_attribute("speed_gate", to_json(gate));
  EXPECT_EQ(to_json(*decided_speed(study)), to_json(gate));
}

}  // namespace
}  // namespace quasar::tune
