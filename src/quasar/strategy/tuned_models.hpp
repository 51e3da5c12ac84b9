// What a configuration of operators becomes: a point of the search's space, a plan, models.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quasar/sensitivity/toggled_model.hpp"
#include "quasar/strategy/strategy.hpp"
#include "quasar/strategy/tuning_space.hpp"

namespace quasar::tune {

// Differences to the default configuration.
struct TuneConfig {
  std::map<std::string, Json> nodes;          // by name: one of the node's options, or one of its float types
  std::map<std::string, Json> settings = {};  // other parameters of the space: recipes, SmoothAlpha …

  std::vector<std::string> in_float() const;
};

class TunedModels {
 public:
  // `strategy` is named in messages. The others outlive it.
  TunedModels(const StrategyContext& context, const TuningSpace& space, const std::string& strategy)
      : context_(context), space_(space), strategy_(strategy) {}

  const TuningSpace& space() const { return space_; }
  const StrategyContext& context() const { return context_; }

  // Throws Error for an operator, an option or a setting that the space does not have.
  search::Point point_of(const TuneConfig& config) const;
  // A model with this configuration in which operators can be switched; samples to run it on.
  ToggledModel toggled(const TuneConfig& config) const;
  quant::Plan plan_for(const TuneConfig& config) const;  // with its rounding
  // Equal for two configurations that differ in kernels only (quant/same_values.hpp), or in nothing; where costs decide or are
  // bounded, kernels count. Throws Error where why_impossible() speaks against one.
  std::string computed(const TuneConfig& config) const;
  // Why a trial of this configuration would fail before anything is built; "": nothing speaks against it.
  std::string why_impossible(const TuneConfig& config) const;
  const graph::Model& graph_for(const TuneConfig& config) const;
  data::DatasetPtr samples(size_t most) const;

 protected:
  size_t instrumented() const { return instrumented_; }  // models made by toggled()
  // The sampling size of the traverse that is under way, of several.
  void begin_round(const Json& size) { round_ = size; }
  const std::optional<Json>& round() const { return round_; }

 private:
  void check(const std::string& parameter, const Json& choice) const;
  quant::Config config_of(const TuneConfig& config) const;

  const StrategyContext& context_;
  const TuningSpace& space_;
  const std::string strategy_;
  std::optional<Json> round_;
  mutable size_t instrumented_ = 0;
};

}  // namespace quasar::tune
