// Scaling of the channels of a value that matrix products read: X ← X/s, and the rows of the weights times s, so that the
// function stays. The division is folded into what writes X (LayerNormalization, a product or sum with constants, a layer) where
// nobody else reads it; otherwise a Mul stands before the layers.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "quasar/quant/channels/channel_layer.hpp"
#include "quasar/quant/config/transform.hpp"

namespace quasar::quant {

using ChannelScales = std::vector<double>;

// Gives the channels without a scale (0: they have nothing to share) the geometric mean of the others', or 1 where there are
// none. With 1 beside large scales, what writes such a channel would alone set the scale of its whole tensor.
void fill_neutral(ChannelScales& scales);

// The matrix products that read one value, which has as many channels (its last axis) as each has inputs.
struct ReaderGroup {
  std::string value;
  std::vector<ChannelLayer> layers;
  bool alone = false;   // nobody else reads it
  bool shares = false;  // other layers read the same weights, which copies would take the place of
};
std::vector<ReaderGroup> reader_groups(const graph::Model& model, const graph::Index& index);

// "; 3 left since other layers read their weights too", for a note; "": none are.
std::string left_shared(size_t groups);

// Multiplies the weights of a group's layers by the scales of their inputs.
void multiply_weights(const ReaderGroup& group, const ChannelScales& scales, ConstantEdits& edits);

// Divides what writes a value by the scales, in the constants on its way.
class ScaleFolding {
 public:
  // `widen`: a product with a single number may become one with a vector (which does no good where it is quantized). `layers`:
  // the weights of a layer may take the scales (which makes a scale that all of them share coarser).
  ScaleFolding(const graph::Model& model, const graph::Index& index, ConstantEdits& edits, bool widen, bool layers = true)
      : model_(model), index_(index), edits_(edits), widen_(widen), layers_(layers) {}

  // false: nothing on the way can take the scales, and nothing was changed. `touched`: the values that changed.
  bool fold(const std::string& value, const ChannelScales& scales, std::set<std::string>& touched);

 private:
  struct Place {
    std::string node;
    size_t input;
  };
  bool is_factor(const graph::Node& node, size_t input, size_t channels) const;
  bool is_vector(const graph::Node& node, size_t input, size_t channels) const;
  bool collect(const std::string& value, size_t channels, std::vector<Place>& divided, std::set<std::string>& values);

  const graph::Model& model_;
  const graph::Index& index_;
  ConstantEdits& edits_;
  bool widen_, layers_;
};

// A Mul that divides a value by its scales before the matrix products that read it; named in `out`, which stays sorted.
void insert_scaling(const std::map<std::string, ChannelScales>& scales, Transformed& out);

}  // namespace quasar::quant
