// The float graphs that clean-up and transforms make of a model, each made and calibrated once, on first use.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "quasar/data/dataset.hpp"
#include "quasar/job/calibration.hpp"
#include "quasar/quant/node_names.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/rounding/rounding.hpp"
#include "quasar/trial/variant.hpp"

namespace quasar::tune {

struct VariantOptions {
  RounderOptions rounding = {};
  Log log = {};
  Progress progress = {};                     // of calibration and rounding
  std::filesystem::path statistics_dir = {};  // through which processes share statistics; empty: this one observes by itself
};

// A quantized model, and how its rounding went.
struct Built {
  graph::Model model;
  RoundingReport rounding;
};

// Statistics belong to a variant: what a transform leaves alone keeps what was observed of the prepared graph, all else is
// observed again. All functions may be called from several threads.
class Variants {
 public:
  // `original`: the model as it came, whose names users know; `prepared`: after clean-up. Both must outlive this.
  Variants(const graph::Model& original, const graph::Model& prepared, data::DatasetPtr samples, const CalibrationNeeds& needs,
           VariantOptions options = {});

  // The model as it came.
  const graph::Model& original() const { return original_; }
  ~Variants();

  // Observes the prepared graph now.
  void observe();
  double seconds() const;  // spent on observing, all variants

  // The float graph of a configuration, and what was observed of it.
  std::shared_ptr<const Variant> graph_of(const quant::Config& config) { return of(config); }
  const stats::Statistics& seen(const quant::Config& config);

  // The plan of a configuration, before rounding is optimized. Throws Error when it cannot be carried out.
  quant::Plan plan(const quant::Config& config, const quant::Target& target);

  // Puts codes and biases into the plan, as its rounding and its corrections say; those of another plan where the configuration
  // changes operators after rounding. `check` is called between layers; what it throws ends the work.
  RoundingReport improve(const quant::Config& config, quant::Plan& plan, const std::function<void()>& check = {});

  // The model of a plan whose layers have the codes that `rounded`, an improved plan of this configuration's graph, gives them.
  graph::Model built_alike(const quant::Config& config, quant::Plan plan, const quant::Plan& rounded);

  // The quantized model of a plan for this configuration; the plan gets what improve() puts into it. `check` is called between
  // layers; what it throws ends the work.
  Built build(const quant::Config& config, quant::Plan& plan, const std::function<void()>& check = {});

  // For as long as it lives, rounding shares samples with others. What `sharer` names outlives it.
  class SharedRounding {
   public:
    SharedRounding(Variants& variants, Sharer sharer) : place_(*variants.sharer_) { place_ = std::move(sharer); }
    ~SharedRounding() { place_ = {}; }
    SharedRounding(const SharedRounding&) = delete;
    SharedRounding& operator=(const SharedRounding&) = delete;

   private:
    Sharer& place_;
  };

 private:
  std::shared_ptr<const Variant> of(const quant::Config& config);
  std::shared_ptr<const Variant> make(const quant::Config& config);
  std::shared_ptr<Variant> start(const quant::Config& config);
  std::shared_ptr<Calibration> calibration_of(const graph::Model& model) const;
  quant::Config resolved(const quant::Config& config, const Variant& variant);
  struct Rounded;
  RoundingReport round(const quant::Config& config, quant::Plan& plan, const std::function<void()>& check);
  std::shared_ptr<Rounded> rounded(const quant::Config& config, const quant::Plan& plan, const std::function<void()>& check);
  void correct(const Variant& variant, quant::Plan& plan) const;
  void tell_new(const std::vector<std::string>& notes);  // each once

  const graph::Model &original_, &prepared_;
  const quant::NodeNames names_;
  std::optional<quant::NodeNames> raw_names_;  // of the graph without clean-up
  data::DatasetPtr samples_;
  CalibrationNeeds needs_;
  const std::shared_ptr<Sharer> sharer_ = std::make_shared<Sharer>();
  VariantOptions options_;
  std::shared_ptr<StatisticsFolder> shared_;
  std::shared_ptr<Variant> base_, raw_;
  std::mutex guard_;
  std::map<std::string, std::shared_ptr<const Variant>> by_settings_, by_digest_;
  std::set<std::string> told_, told_kinds_;
  std::vector<std::pair<std::string, std::shared_ptr<Rounded>>> rounded_;  // by hash of the plan, the latest last
};

}  // namespace quasar::tune
