#include <gtest/gtest.h>

#include "quasar/base/machine.hpp"
#include "quasar/tune/idle_forms.hpp"
#include "quasar/tune/measure_speed.hpp"
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

using Times = std::vector<std::vector<double>>;

// Of `turns` turns, in milliseconds, each a hundredth more or less.
std::vector<double> about(double time, size_t turns = 30) {
  std::vector<double> out;
  for (size_t i = 0; i < turns; i++) out.push_back(time * (0.99 + 0.005 * static_cast<double>(i % 5)));
  return out;
}

TEST(SpeedGate, WhatIsFasterByTheFactorCounts) {
  const SpeedGate gate = decide_speed(Times{about(2), about(1.8), about(1.2)}, 1.02, 3);
  EXPECT_NEAR(gate.planned, 0.9, 1e-9);
  EXPECT_NEAR(gate.gated, 0.6, 1e-9);
  EXPECT_EQ(
      gate.told,
      "as planned a run takes 0.9 × the float model's time, with 3 operators in float 0.6 ×: they stay in float (speed_gate)");
}

TEST(SpeedGate, WhatGainsLessMovesNothing) {
  for (const double time : {1.79, 1.8, 2.5}) {
    const SpeedGate gate = decide_speed(Times{about(2), about(1.8), about(time)}, 1.02, 3);
    EXPECT_EQ(gate.gated, gate.planned) << time;
    EXPECT_NE(gate.told.find("no operators in float make it faster by 2 %"), std::string::npos) << gate.told;
  }
  const SpeedGate alone = decide_speed(Times{about(2), about(2.6)}, 1.02, 0);
  EXPECT_NEAR(alone.planned, 1.3, 1e-9);
  EXPECT_EQ(alone.gated, alone.planned);
}

TEST(SpeedGate, ANoisyMachineMovesNothing) {
  // Faster in a little more than half of the turns.
  std::vector<double> restless;
  for (int i = 0; i < 30; i++) restless.push_back(i % 9 < 5 ? 1.2 : 3);
  const SpeedGate gate = decide_speed(Times{about(2), about(1.8), restless}, 1.02, 3);
  EXPECT_EQ(gate.gated, gate.planned);
  EXPECT_NE(gate.told.find("too noisy"), std::string::npos) << gate.told;
}

// Which form is the fastest depends on the machine; what is decided must hold together on any.
TEST(SpeedGate, RegionsAreNeighboursOfTheModel) {
  MadeUpTrials trials(gated_words());
  const auto gate = measure_speed(trials.job, trials.setting, trials.variants, {});
  ASSERT_TRUE(gate);
  EXPECT_GT(gate->planned, 0);
  EXPECT_EQ(gate->regions.empty(), gate->gated == gate->planned) << gate->told;
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

TEST(SpeedGate, WithoutTimeToMeasureWhatIsKnownToBeSlowStaysInFloat) {
  Json words = gated_words();
  words["search_stop_condition"] = {{"time_limit", 1e-6}};
  MadeUpTrials trials(words);
  const auto gate = measure_speed(trials.job, trials.setting, trials.variants, {});
  ASSERT_TRUE(gate);
  EXPECT_EQ(gate->regions, (std::map<std::string, std::vector<std::string>>{{"softmax", {"softmax"}}})) << gate->told;
  EXPECT_TRUE(gate->form_times.empty());
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
  const auto gate = measure_speed(trials.job, trials.setting, trials.variants, {});
  ASSERT_TRUE(gate);
  EXPECT_TRUE(gate->regions.empty());
  EXPECT_NE(gate->told.find("without pairs"), std::string::npos) << gate->told;
}

TEST(SpeedGate, RegionsStayInFloatInEveryPoint) {
  MadeUpTrials trials(gated_words());
  PreparedJob prepared = prepare(trials.job);
  const std::vector<std::string> names{prepared.model.nodes[0].name, prepared.model.nodes[1].name};
  apply({.regions = {{names[0], names}}, .told = {}}, prepared.spaces);
  for (const search::Space* space : {&prepared.spaces.each.front(), &prepared.spaces.calibration.front(), &prepared.spaces.all}) {
    const Json words = words_of(*space, space->at(0));
    EXPECT_EQ(words["exclude"], Json(names));
    EXPECT_FALSE(words.contains("region " + names[0]));
  }
}

std::vector<std::string> forms_offered(const Spaces& spaces) {
  return spaces.names_of_other_forms();
}

TEST(SpeedGate, FormsThatTheModelDoesNotHaveAreLeftOut) {
  Json words = gated_words();
  words["search_space"]["form"] = {"all", "products", "dynamic_products", "dynamic"};
  MadeUpTrials trials(words);
  PreparedJob prepared = prepare(trials.job);
  EXPECT_EQ(forms_offered(prepared.spaces), (std::vector<std::string>{"products", "dynamic_products", "dynamic"}));
  leave_out_idle_forms(prepared, trials.variants, {});
  EXPECT_EQ(forms_offered(prepared.spaces), (std::vector<std::string>{"products", "dynamic_products"})) << "one small Gemm";
  const auto gate = measure_speed(trials.job, prepared, trials.variants, {});
  ASSERT_TRUE(gate);
  for (const auto& form : forms_offered(prepared.spaces)) {
    EXPECT_NE(gate->form_times.contains(form), gate->idle_forms.contains(form)) << form;
  }
  for (const auto& form : gate->slower_forms) EXPECT_GT(gate->form_times.at(form), 1) << form;
  SpeedGate slow = *gate;
  slow.slower_forms = {"products"};
  slow.idle_forms = {"dynamic_products"};
  apply(slow, prepared.spaces);
  EXPECT_TRUE(forms_offered(prepared.spaces).empty());
  const search::Space& each = prepared.spaces.each.front();
  EXPECT_LT(*each.valid(), *each.size()) << "a flat search does not try it either";
}

// It would win by being near to float, for hardly any gain.
TEST(SpeedGate, AFormThatGainsLessThanHalfOfTheTimeIsALesserOne) {
  Json words = gated_words();
  words["search_space"]["form"] = {"all", "products", "dynamic_products"};
  const MadeUpTrials trials(words);
  const auto lesser = [&](double usual, double dynamic = 0.9) {
    Spaces spaces = prepare(trials.job).spaces;
    apply({.form_times = {{"all", usual}, {"products", 0.5}, {"dynamic_products", dynamic}}, .told = {}}, spaces);
    return spaces.lesser_forms;
  };
  EXPECT_EQ(lesser(0.3), std::set<std::string>{"dynamic_products"});
  EXPECT_TRUE(lesser(0.85).empty());
  EXPECT_EQ(lesser(0.85, 1), std::set<std::string>{"dynamic_products"});
  EXPECT_TRUE(lesser(0.95, 1).empty()) << "there is hardly anything to lose";
  EXPECT_TRUE(lesser(1.1).empty()) << "the first form gains nothing";
}

bool is_in_codes(const graph::Model& model, const std::string& name) {
  const graph::Index index(model);
  const graph::Node* node = index.node(name);
  if (node == nullptr) return true;                                // fused into one that computes on codes
  const graph::Node* before = index.producer(node->inputs.at(1));  // what enters may be rounded in either case
  return before != nullptr && before->is("DequantizeLinear");
}

// As on a machine where a convolution gains of codes on one thread, and loses `there` times float's time on all cores, where
// operators cost as said.
Timers made_up_timers(const std::string& convolution, double there, const OperatorCost& on_all) {
  Timers out;
  out.models = [=](std::span<const graph::Model* const> models, const data::Dataset&, const runtime::Effort& effort,
                   const runtime::Device&) {
    Times times{about(2)};
    for (const graph::Model* model : models.subspan(1)) {
      const bool codes = is_in_codes(*model, convolution);
      times.push_back(about(effort.threads > 1 ? (codes ? 2 * there : 1.2) : (codes ? 1.5 : 1.6)));
    }
    return times;
  };
  out.operators = [=](const graph::Model& model, const graph::Model&, const data::Dataset&, double, int threads) {
    OperatorCosts costs;
    for (const auto& node : model.nodes) costs.operators[node.name] = {.in_float = 10, .quantized = 1};
    if (threads > 1) costs.operators[convolution] = on_all;
    return costs;
  };
  return out;
}

TEST(SpeedGate, AFormThatIsSlowerThanFloatOnAllCoresGivesWayToOneThatIsNot) {
  if (cores() == 1) GTEST_SKIP() << "one core";
  Json words = gated_words();
  words["speed_gate"] = 1.02;
  MadeUpTrials trials(words);
  const std::string conv = "block3/pointwise/conv";
  const auto decided = [&](double there, const OperatorCost& on_all) {
    return *measure_speed(trials.job, trials.setting, trials.variants, {}, 0, made_up_timers(conv, there, on_all));
  };
  const OperatorCost loses{.in_float = 1, .quantized = 1000}, gains{.in_float = 10, .quantized = 1};
  const auto stays = [&](const SpeedGate& gate) {
    return std::ranges::any_of(gate.regions, [&](const auto& region) { return std::ranges::count(region.second, conv) == 1; });
  };

  const SpeedGate moved = decided(1.2, loses);
  EXPECT_TRUE(stays(moved)) << moved.told;
  EXPECT_NEAR(moved.gated, 0.8, 0.01);
  EXPECT_NEAR(moved.on_all.value(), 0.6, 0.01);
  EXPECT_NE(moved.told.find("on all " + std::to_string(cores()) + " cores it takes 1.2 ×"), std::string::npos) << moved.told;

  const SpeedGate unknown = decided(1.2, gains);
  EXPECT_FALSE(stays(unknown)) << "no operator is known to cost it: " << unknown.told;
  EXPECT_NEAR(unknown.on_all.value(), 1.2, 0.01);

  const SpeedGate fast = decided(0.7, loses);
  EXPECT_FALSE(stays(fast)) << "not slower there: " << fast.told;
  EXPECT_NEAR(fast.on_all.value(), 0.7, 0.01);
}

TEST(SpeedGate, StandsInTheStudy) {
  const auto storage = search::open_storage("memory");
  search::Study study(*storage, {.directions = {Direction::minimize}});
  EXPECT_FALSE(decided_speed(study));
  const SpeedGate gate{.regions = {{"a", {"a", "b"}}},
                       .planned = 1.5,
                       .gated = 0.75,
                       .form_times = {{"all", 0.75}, {"dynamic", 1.2}},
                       .slower_forms = {"dynamic"},
                       .idle_forms = {"products"},
                       .saturation = "raise_scales",
                       .on_all = 0.9,
                       .told = "why"};
  study.set_attribute("speed_gate", to_json(gate));
  EXPECT_EQ(to_json(*decided_speed(study)), to_json(gate));
}

}  // namespace
}  // namespace quasar::tune
