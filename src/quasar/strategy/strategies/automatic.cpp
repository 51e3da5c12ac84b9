#include "quasar/strategy/tuner.hpp"

namespace quasar::tune::strategies {
namespace {

// The default configuration, then conservative, then basic, with one history and one budget. A success of conservative with next
// to nothing quantized does not keep basic from trying.
class Automatic final : public TuningStrategy {
 public:
  bool is_rescued() const override { return true; }
  void traverse(Tuner& tuner) const override {
    tuner.tell("default configuration");
    tuner.evaluate(TuneConfig{});
    for (const char* name : {"conservative", "basic"}) {
      const auto strategy = table().make(name);
      tuner.begin_part();
      dynamic_cast<const TuningStrategy&>(*strategy).traverse(tuner);
      if (tuner.met() && !tuner.met_in_float()) return;
    }
  }

 protected:
  std::string name() const override { return "automatic"; }
};

}  // namespace

Entry<Strategy> automatic() {
  return {.help = "The default configuration, then conservative, then basic, with one budget (quant_level auto).",
          .make = make_as<Automatic, Strategy>,
          .aliases = {"auto"}};
}

}  // namespace quasar::tune::strategies
