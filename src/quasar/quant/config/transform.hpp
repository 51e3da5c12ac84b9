// Transforms: float graph -> a float graph that computes the same and is easier to quantize (or, where an entry says so, a
// correction of the plan). One file per transform in transforms/.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "quasar/base/plugin.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/stats/channels.hpp"

namespace quasar::quant {

struct Plan;

// A transform that a configuration asks for.
struct TransformUse {
  std::string name;  // in transforms/
  Json options = Json::object();
  bool operator==(const TransformUse&) const = default;
};

// What became of the graph.
struct Transformed {
  graph::Model model;
  size_t changes = 0;                   // pairs equalized, layers smoothed …; 0: the model is the one that was given
  std::set<std::string> values = {};    // whose statistics are not those of the given model (new ones included)
  std::set<std::string> in_float = {};  // new nodes that quantization leaves alone
  std::vector<std::string> notes = {};
  std::map<std::string, std::set<std::string>> became = {};  // nodes that are gone or have company -> those that stand for them
};

class Transform {
 public:
  virtual ~Transform() = default;
  // Whether the model computes the same afterwards, but for rounding.
  virtual bool equivalent() const { return true; }
  // The values whose channels must have been observed, with the axis of the channels (negative: from the end).
  virtual std::map<std::string, int> needs(const graph::Model&) const { return {}; }
  // Channels per block of the mean products that are needed too; 0: none.
  virtual size_t product_block() const { return 0; }
  virtual Transformed rewrite(const graph::Model& model, const stats::ChannelStatistics&) const { return {.model = model}; }
  // Corrects what was planned for the model, given the statistics that needs() asked for. -> number of layers changed.
  virtual bool corrects_plan() const { return false; }
  virtual size_t correct(const graph::Model&, const stats::ChannelStatistics&, Plan&) const { return 0; }
};

// Whether one of these changes the float graph; those that correct the plan leave its values as they are.
bool change_values(const std::vector<TransformUse>& transforms);

// The first-level keys that choose transforms.
std::vector<std::string> transform_keys();

// The transforms that a configuration (with canonical first-level keys) asks for, in the order in which they apply. Throws Error
// for unknown options and wrong values, also of transforms that are switched off.
std::vector<TransformUse> parse_transforms(const Json& words);

// Back in the user's words.
Json to_json(const std::vector<TransformUse>& transforms);

}  // namespace quasar::quant

namespace quasar::quant::transforms {
const Table<Transform>& table();
}
