// A strategy of one's own that makes mistakes.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "quasar/job/precision.hpp"
#include "quasar/strategy/tuner.hpp"
#include "unit/tune/made_up_trials.hpp"

namespace quasar::tune {
namespace {

class Own final : public TuningStrategy {
 public:
  explicit Own(std::function<void(Tuner&)> way) : way_(std::move(way)) {}
  void traverse(Tuner& tuner) const override { way_(tuner); }

 protected:
  std::string name() const override { return "own"; }

 private:
  std::function<void(Tuner&)> way_;
};

struct OwnStrategy : testing::Test {
  static Json words() {
    Json out = digits_words();
    out["strategy"] = "basic";  // whose space it has
    return out;
  }
  Finding run(std::function<void(Tuner&)> way) {
    return trials.run(Own(std::move(way)), [](const search::Point& point) {
      return Measures{{"L2", 0.01 / (1.0 + static_cast<double>(float_nodes(point).size()))}};
    });
  }
  std::string error_of(const TuneConfig& config) {
    try {
      run([&](Tuner& tuner) { tuner.evaluate(config); });
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  MadeUpTrials trials{words()};
};

TEST_F(OwnStrategy, NamesThatDoNotExistAreErrors) {
  EXPECT_NE(error_of({.nodes = {{"stem/cnv", "float32"}}}).find("no operator 'stem/cnv' is tuned; did you mean 'stem/conv'?"),
            std::string::npos)
      << error_of({.nodes = {{"stem/cnv", "float32"}}});
  EXPECT_NE(error_of({.nodes = {{"stem/conv", "float33"}}}).find("'stem/conv' cannot be 'float33'; did you mean 'float32'?"),
            std::string::npos)
      << error_of({.nodes = {{"stem/conv", "float33"}}});
  EXPECT_NE(error_of({.nodes = {}, .settings = {{"Foo", 1}}}).find("no setting 'Foo'"), std::string::npos);
  EXPECT_TRUE(trials.study.trials().empty()) << "and nothing is tried in their place";
}

TEST_F(OwnStrategy, WhatQuantizesNothingIsNoTrial) {
  TuneConfig all;
  std::vector<search::Trial> given;
  const Finding finding = run([&](Tuner& tuner) {
    for (const auto& node : tuner.space().nodes) all.nodes[node.name] = in_float;
    const size_t left = tuner.left();
    const std::vector<TuneConfig> three{TuneConfig{}, all, TuneConfig{.nodes = {{"classifier", in_float}}}};
    tuner.tell({"first", "second", "third"});
    given = tuner.explore(three);
    EXPECT_EQ(tuner.left(), left - 2);
    EXPECT_TRUE(std::isinf(tuner.loss(given[1])));
    EXPECT_EQ(tuner.best()->number, 1);
    while (true) tuner.evaluate(all);
  });
  ASSERT_EQ(given.size(), 3U);
  EXPECT_EQ(given[1].number, -1);
  EXPECT_EQ(given[1].state, search::State::failed);
  EXPECT_EQ(given[2].number, 1);
  EXPECT_NE(given[1].user_attributes[search::attribute::error].get<std::string>().find("nothing in this model is quantized"),
            std::string::npos);
  EXPECT_EQ(trials.study.trials().size(), 2U);
  EXPECT_EQ(finding.result.counts.failed, 0U);
  EXPECT_NE(finding.result.reason.find("nothing new"), std::string::npos) << finding.result.reason;
  ASSERT_EQ(finding.story->steps.size(), 2U);
  EXPECT_EQ(finding.story->steps[1].name, "third");
}

TEST_F(OwnStrategy, AnExceptionKeepsWhatWasFound) {
  const Finding finding = run([](Tuner& tuner) {
    tuner.evaluate(TuneConfig{});
    throw std::runtime_error("boom");
  });
  EXPECT_TRUE(finding.failed);
  EXPECT_EQ(finding.result.reason, "strategy own ended with an exception: boom");
  ASSERT_EQ(finding.warnings.size(), 1U);
  EXPECT_EQ(finding.story->steps.size(), 1U);
  EXPECT_NE(trials.study.best(), nullptr);
}

TEST_F(OwnStrategy, ReasonsHaveOneLine) {
  const Finding finding = run([](Tuner& tuner) {
    tuner.evaluate(TuneConfig{});
    throw std::runtime_error("boom\n\nAt:\n  here\n");
  });
  EXPECT_EQ(finding.result.reason, "strategy own ended with an exception: boom At: here");
}

TEST_F(OwnStrategy, AnExceptionBeforeTheFirstTrialIsThrown) {
  EXPECT_THROW(run([](Tuner&) { throw std::runtime_error("boom"); }), std::runtime_error);
}

TEST_F(OwnStrategy, WhatIsThrownNeedNotBeAnException) {
  const Finding finding = run([](Tuner& tuner) {
    tuner.evaluate(TuneConfig{});
    throw 7;  // NOLINT
  });
  EXPECT_TRUE(finding.failed);
  EXPECT_EQ(finding.result.reason, "strategy own ended with an exception: it threw something that is no std::exception");
  EXPECT_EQ(finding.story->steps.size(), 1U);
}

TEST_F(OwnStrategy, WhatIsThrownBeforeTheFirstTrialIsAnError) {
  EXPECT_THROW(run([](Tuner&) { throw 7; }), Error);  // NOLINT
}

TEST_F(OwnStrategy, TheReportSaysWhatAnOperatorGained) {
  const Finding finding = run([](Tuner& tuner) {
    TuneConfig config;
    for (const char* node : {"stem/conv", "classifier"}) {
      tuner.evaluate(config);
      config.nodes[node] = in_float;
    }
    tuner.tell("two of them");
    tuner.evaluate(config);
  });
  const auto& given = finding.story->in_float;
  ASSERT_EQ(given.size(), 2U);
  EXPECT_NEAR(given[0].gained.value(), 0.005, 1e-9);
  EXPECT_NEAR(given[1].gained.value(), 0.005 - 0.01 / 3, 1e-9);
  EXPECT_EQ(given[1].why, "in the configuration of step 'two of them'; without it the loss is 0.005, with it 0.003333");
}

// What a strategy of Quasar's tried, and what it chose.
struct Walk {
  std::vector<search::Point> points;  // by the trials' numbers
  std::optional<search::Point> winner;
  size_t at_a_time = 0;  // the most
  Json steps;
};

// The first success takes longest.
Walk walk(Json words, const std::vector<search::Point>& successes) {
  MadeUpTrials trials(std::move(words));
  std::mutex guard;
  size_t running = 0;
  Walk out;
  const Finding finding = trials.run([&](const search::Point& point) {
    const auto success = std::ranges::find(successes, point);
    {
      const std::lock_guard lock(guard);
      out.at_a_time = std::max(out.at_a_time, ++running);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(success == successes.begin() && !successes.empty() ? 100 : 10));
    const std::lock_guard lock(guard);
    --running;
    return Measures{{"L2", success == successes.end() ? 0.01 : 0.00001}};
  });
  for (const auto& trial : trials.study.trials()) out.points.push_back(trial.point);
  if (finding.winner) out.winner = trials.study.at(*finding.winner).point;
  out.steps = to_json(*finding.story)["steps"];
  return out;
}

// Whatever is run at the same time, the answer is that of one after the other.
TEST(Steps, AreSharedOutInOrder) {
  for (const char* strategy : {"exhaustive", "basic"}) {
    Json words = digits_words();
    words["strategy"] = strategy;
    words["tuning_criterion"] = {{"max_trials", 14}};
    const Walk all = walk(words, {});
    ASSERT_EQ(all.points.size(), 14U) << strategy;
    EXPECT_EQ(all.at_a_time, 1U);
    const std::vector<search::Point> successes{all.points[8], all.points[9], all.points[10]};
    const Walk alone = walk(words, successes);
    EXPECT_EQ(alone.points.size(), 9U) << strategy;
    EXPECT_EQ(alone.winner, successes[0]) << strategy;

    words["n_jobs"] = 4;
    const Walk together = walk(words, successes);
    EXPECT_GT(together.at_a_time, 1U) << strategy;
    EXPECT_EQ(together.winner, successes[0]) << strategy;
    EXPECT_LE(together.points.size(), 14U) << strategy;
    ASSERT_EQ(together.steps.size(), alone.steps.size()) << strategy;
    for (size_t i = 0; i < alone.steps.size(); ++i) EXPECT_EQ(together.steps[i]["step"], alone.steps[i]["step"]) << strategy;
    EXPECT_EQ(walk(words, {}).points.size(), 14U) << strategy;
  }
}

}  // namespace
}  // namespace quasar::tune
