// A tuning strategy of one's own in each of the two ways, known by name while the program runs: all at once in traverse(), or one
// configuration after another in next(). In Quasar's tree the same class is a file in src/quasar/strategy/strategies/.
// usage: tuning_strategy FOLDER_OF_EXAMPLE_DIGITS OUTPUT_FOLDER
#include <algorithm>
#include <cstdio>

#include "quasar/strategy/parse_job.hpp"
#include "quasar/strategy/tuner.hpp"
#include "quasar/tune/search.hpp"

using namespace quasar;

// From the last operator to the first, one more in float each time, until the goal is met.
class BackToFront final : public tune::TuningStrategy {
 public:
  void traverse(tune::Tuner& tuner) const override {
    tune::TuneConfig config;
    const auto& nodes = tuner.space().nodes;
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      tuner.tell("back to front");
      tuner.evaluate(config);  // ends the strategy at the first success
      config.nodes[node->name] = "float32";
    }
  }

 protected:
  std::string name() const override { return "back_to_front"; }
};

// Each operator's options by themselves, then the two that lost least together.
class OneByOne final : public tune::NextStrategy {
 protected:
  std::optional<tune::TuneConfig> next(const tune::Tuner& tuner, std::span<const search::Trial> history) const override {
    const auto& nodes = tuner.space().nodes;
    if (history.empty()) return tune::TuneConfig();
    if (history.size() <= nodes.size()) return alone(tuner, history.size() - 1);
    if (history.size() > nodes.size() + 1) return std::nullopt;
    std::vector<size_t> order(nodes.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](size_t i) { return tuner.loss(history[i + 1]); });
    tune::TuneConfig both = alone(tuner, order[0]);
    both.nodes.merge(alone(tuner, order[1]).nodes);
    return both;
  }
  std::string name() const override { return "one_by_one"; }

 private:
  static tune::TuneConfig alone(const tune::Tuner& tuner, size_t i) {
    const auto& node = tuner.space().nodes[i];
    return {.nodes = {{node.name, node.options.size() > 1 ? node.options[1] : Json("float32")}}};
  }
};

static int run(const std::string& strategy, const std::string& samples, const std::string& output, double goal) {
  const Json words{
      {"model_input", samples + "/digits.onnx"},
      {"calib_data_reader", {{"reader", "npz"}, {"path", samples + "/calibration.npz"}, {"labels", "label"}, {"limit", 60}}},
      {"eval_data_reader", {{"reader", "npz"}, {"path", samples + "/evaluation.npz"}, {"labels", "label"}, {"limit", 200}}},
      {"search_metric", "L2"},
      {"accuracy_criterion", {{"criterion", "absolute"}, {"tolerable_loss", goal}}},
      {"tuning_criterion", {{"strategy", strategy}, {"max_trials", 40}}},
      {"output_dir", output + "/" + strategy}};
  const tune::Summary found = tune::search(tune::parse_job(words, "."), {});
  std::printf("%s: %zu trials, %s\n", strategy.c_str(), found.counts.finished(), found.reason.c_str());
  return found.best && found.story && found.story->strategy == strategy && found.counts.finished() > 1 ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const Registration<tune::Strategy> first(tune::strategies::table(), "back_to_front",
                                           {.help = "From the outputs on.", .make = make_as<BackToFront, tune::Strategy>});
  const Registration<tune::Strategy> second(tune::strategies::table(), "one_by_one",
                                            {.help = "Options alone.", .make = make_as<OneByOne, tune::Strategy>});
  try {
    return run("back_to_front", argv[1], argv[2], 0.0011) + run("one_by_one", argv[1], argv[2], 0);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
