// The role of the hosted service of this name in Intel Neural Compressor: the accuracy criterion is a constraint, latency the
// objective, and a model of both says what is tried next. Here the model is our own Gaussian process (samplers/gp.cpp) and
// nothing leaves the machine: a search must not need an account, nor tell a third party what is tuned; the service's keys are
// accepted and have no effect. Operators may fall back, since without that latency hardly differs.
#include "quasar/strategy/tuner.hpp"

namespace quasar::tune::strategies {
namespace {

class SigOpt final : public SampledStrategy {
 public:
  std::vector<std::string> kwargs() const override { return {secret_keyword, "sigopt_project_id", "sigopt_experiment_name"}; }
  std::string note(const Job& job) const override {
    if (!job.aim.criterion) return "";
    return "strategy sigopt uses no hosted service: a Gaussian process here takes its place (accuracy as constraint, latency as "
           "objective), nothing is sent anywhere, and the sigopt_* keys have no effect";
  }
  Json objectives() const override { return Json::array({Json{{"metric", "latency"}}}); }

 protected:
  std::string name() const override { return "sigopt"; }
  std::string sampler() const override { return "gp"; }
};

}  // namespace

Entry<Strategy> sigopt() {
  return {
      .help = "Gaussian processes: the lowest latency among configurations that keep the accuracy criterion; no hosted service.",
      .make = make_as<SigOpt, Strategy>};
}

}  // namespace quasar::tune::strategies
