#include <gtest/gtest.h>

#include "quasar/strategy/tuner.hpp"
#include "quasar/trial/trial.hpp"
#include "unit/tune/made_up_trials.hpp"

namespace quasar::tune {
namespace {

// Looks at the model that strategies measure operators with.
class Looking final : public TuningStrategy {
 public:
  explicit Looking(size_t& kept) : kept_(kept) {}
  void traverse(Tuner& tuner) const override { kept_ = tuner.toggled({}).kept_bytes(); }

 protected:
  std::string name() const override { return "looking"; }

 private:
  size_t& kept_;
};

size_t kept_with(int64_t memory_limit) {
  Json words = digits_words();
  words["strategy"] = "mse";
  words["memory_limit"] = memory_limit;
  MadeUpTrials trials(words);
  const quant::Config config = quant::parse_config(words_of(trials.setting.spaces.all, trials.default_point()));
  const size_t direct = instrumented(trials.trial_context(), config, rounded_plan(trials.trial_context(), config)).kept_bytes();
  size_t kept = 0;
  trials.run(Looking(kept), [](const search::Point&) { return Measures{{"L2", 0.0}}; });
  EXPECT_EQ(kept, direct);
  return kept;
}

// However little memory_limit allowed, samples on their way through the model kept up to 2 GiB.
TEST(Instrumented, KeepsWhatMemoryLimitAllows) {
  EXPECT_EQ(kept_with(100'000), 100'000U);
  EXPECT_EQ(kept_with(int64_t{64} << 30), size_t{2} << 30);
}

}  // namespace
}  // namespace quasar::tune
