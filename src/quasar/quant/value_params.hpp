// The parameters of values, one after the other: the second half of resolving a configuration.
//   own range      the value's statistics, by the configuration's calibration method
//   movement       the input's parameters, so that codes pass through unchanged
//   before an activation that the target does not absorb: the activation's own parameters; what it would clip saturates
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "quasar/quant/codes/range.hpp"
#include "quasar/quant/node_schemes.hpp"
#include "quasar/quant/placement.hpp"
#include "quasar/quant/target.hpp"
#include "quasar/quant/ties.hpp"
#include "quasar/quant/weight_memo.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::quant {

// What a configuration is resolved against, and where pairs stand.
struct Ground {
  const graph::Index& index;
  const stats::Statistics& seen;
  const Config& config;
  const Target& target;
  const Placement& placement;
  const Ties& ties;
  const NodeSchemes& schemes;
  bool npu = false;
  WeightMemo* memo = nullptr;  // may be null
  bool on(std::string_view key) const { return is_on(config.switches, key, npu); }
};

class ValueParams {
 public:
  explicit ValueParams(const Ground& ground) : at_(ground) {}

  // References stay valid. Throws Error for a value without statistics.
  const QuantParams& of(const std::string& value);
  // Of the value as the node reads it.
  const QuantParams& read_by(const std::string& value, const std::string& node);
  // Of a constant that is quantized as a weight; `axis`: its channels.
  QuantParams of_weights(const std::string& name, std::optional<int> axis, const Scheme& usual);

  // Of the constants that the node joins with values which share one pair's parameters (AlignConcat); nullptr: their own.
  const QuantParams* joined(const graph::Node& node);

  // Values between a node and the activation that its kernel computes too; ranges that were found; overrides of single tensors
  // that were used: of what has been asked for.
  const std::set<std::string>& absorbed() const { return absorbed_; }
  const std::map<std::string, stats::Range>& ranges() const { return ranges_; }
  const std::set<std::string>& overrides_used() const { return used_; }

 private:
  QuantParams find(const std::string& value);
  QuantParams own(const std::string& value, const Scheme& usual);
  std::optional<QuantParams> written_by_kernel(const std::string& value, const Scheme& scheme) const;
  std::optional<QuantParams> came_with(const std::string& value, const Scheme& scheme);
  bool holds_states(const std::string& value) const;  // of an operator that reads it (Target::holds_state_on_grid)
  QuantParams aligned(const std::vector<std::string>& group);
  bool share_grid(const std::vector<std::string>& group) const;
  const RangeMethod& method_of(const Scheme& scheme);

  const Ground& at_;
  std::map<const Scheme*, std::unique_ptr<RangeMethod>> methods_;
  std::unordered_map<std::string, QuantParams> params_;
  std::map<std::string, stats::Range> ranges_;
  std::set<std::string> absorbed_, used_;
};

// A table that rows are taken from has one scale, whatever the weights of sums have.
Scheme stored_scheme(const ops::Roles& roles, Scheme weight);

}  // namespace quasar::quant
