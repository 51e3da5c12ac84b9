// What a point's model is about worth, without rounding it: its layers have the codes that another trial's have, or had before
// operators were given up. Where the point gives them up after rounding, that is the very model that its trial would score. What
// is foreseen only says which trials are worth while; it is no trial, and nothing of it is recorded.
//
// Where the metric is a mean over N > 64 samples, about 32 of them are enough. With d_i, what the trial loses of sample i against
// the float model, drawn with q_i = d_i + mean d, so that the few samples that lose most are not missed:
//   v(point) ≈ v(trial) + 1/N · Σ over the drawn of w_i (v_i(point) − v_i(trial)),   w_i = Σ q / (32 q_i), as often as it is
//   drawn
//
// Samples on which most was lost so far come first. A point is given up as soon as it misses the criterion even with the best
// possible values of all samples that are left, which changes no answer.
//
// A judge other than ONNX Runtime takes longer to open a model than to run it on the samples (OpenVINO 110 ms for MobileNet, ONNX
// Runtime a tenth of that). So ONNX Runtime's processor stands in for it, and what both differ by for the trial is taken off:
//   v(point) ≈ v(trial) + v_ORT(point) − v_ORT(trial)
//
// Processes that share a study go the same way, and share the samples of each model on it (shared_work.hpp).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quasar/trial/shared_work.hpp"
#include "quasar/trial/trial.hpp"

namespace quasar::tune {

class Foresight {
 public:
  static constexpr size_t quick_layers = 16;  // with at most 2²⁰ weights in all

  // `context` outlives it. `quick`: so many small layers are rounded in no time. `sharer`: with whom samples are shared.
  explicit Foresight(const TrialContext& context, size_t quick = quick_layers, Sharer sharer = {})
      : context_(context), quick_(quick), sharer_(std::move(sharer)) {}

  // Whether anything can be foreseen of the search's goal.
  bool can_tell() const;

  // From now on codes are those of this trial's model before anything was given up after rounding; it is rounded again where
  // rounding has forgotten it. -> whether anything can be foreseen from it. Not where little was rounded, as trials are quick
  // then; not for goals about costs or about other metrics than the objective, nor with an evaluator of the user's; not where
  // that model, made again, scores otherwise than the trial did; in another library than the judge's, where it does so by more
  // than may be lost.
  bool begin(const search::Trial& trial);

  // Whether the point's model meets the criterion by this estimate, with its loss (loss_of) times `factor`. False where no such
  // model can be made, and where begin() said no. Models with the same plan are looked at once.
  bool meets(const search::Point& point, double factor = 1);

  // Whether a trial at this point rounds so much that it is worth while to do that before. May throw Error, as the trial would.
  bool is_long(const search::Point& point) const;

  // Rounds what a trial at this point needs, and begin() for it. `check`: called between layers; what it throws ends that. May
  // throw Error, as the trial would.
  void prepare(const search::Point& point, const std::function<void()>& check) const;

  size_t samples_run() const { return samples_run_; }  // of models that meets() has looked at, all together, here or elsewhere

 private:
  struct Known {
    double value = 0;
    bool at_best = false;  // not all samples were looked at: those that are left may be as good as can be
  };

  bool takes_long(const quant::Config& config, const quant::Plan& plan) const;
  const std::string& metric() const { return context_.job.aim.goals.objectives.front().metric; }
  bool is_enough(double value, double factor) const;
  graph::Model model_of(const quant::Config& config, const quant::Plan& plan) const;
  bool scores_as(const search::Trial& trial);
  bool agrees(double found);
  void choose_samples(const std::vector<double>& values);
  void draw(const std::vector<double>& values);
  Known value_of(const graph::Model& model, double factor, const std::string& plan);
  quant::Config config_at(const search::Point& point) const;
  const std::string& hash_at(const search::Point& point);
  std::optional<bool> answered(const std::string& plan, double factor) const;  // nullopt: not known yet
  Known look_at(const search::Point& point, double factor, const std::string& plan);
  std::vector<double> known_values(const search::Trial& trial, const std::string& content) const;
  std::string work_on(const std::string& plan) const;
  void look(const graph::Model& model, const runtime::Device& device, const std::string& plan,
            const eval::Evaluator::Look& values) const;
  void tell_others(const std::vector<double>& values, const std::string& plan) const;
  void sort();

  const TrialContext& context_;
  const size_t quick_;
  const Sharer sharer_;
  std::optional<quant::Plan> rounded_;
  int64_t begun_with_ = -1;      // the trial's number
  std::string hash_;             // of that plan
  double value_ = 0;             // of the trial
  std::vector<size_t> order_;    // of the samples that are looked at; empty: all are scored, as the metric is no mean
  std::vector<double> weights_;  // v(point) = base_ + Σ over these of weights_[i] v_i(point)
  double base_ = 0;
  double shift_ = 0;                           // v(trial) − v_ORT(trial); 0: the judge itself is asked
  std::vector<double> lost_;                   // by sample, the most that the trial or another model has lost on it
  std::optional<double> best_ = {};            // value of any sample
  bool is_exact_ = true;                       // all samples are looked at, by the judge
  std::map<std::string, Known> known_;         // by hash of the plan
  std::map<std::string, std::string> hashes_;  // of plans, by hash of the point
  size_t samples_run_ = 0;
};

}  // namespace quasar::tune
