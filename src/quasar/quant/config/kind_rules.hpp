// Weights by what their layers do in a transformer, whatever their names:
//   layer_kinds: {last: UInt8Spec, down: {weight: UInt8Spec, layers: k_quant}, table: UInt4Spec}
// A rule by name (specific_layer_config) comes before one by kind.
#pragma once

#include <string>
#include <vector>

#include "quasar/quant/config/layer_rules.hpp"

namespace quasar::quant {

// last: the product behind which no other comes (logits). down: back to the stream of states, at the end of a feed-forward part.
// table: rows that are gathered and added up, an embedding.
enum class LayerKind { query_key_value, attention_output, feed_forward, down, last, table };

struct KindRule {
  LayerKind kind = LayerKind::last;
  bool some = false;  // of the layers 0 … n − 1 those of has_more_bits() only
  Json words;         // as written
  LayerRule rule;     // names no nodes yet
  bool operator==(const KindRule&) const = default;
};

std::string name_of(LayerKind kind);

// The layers that llama.cpp's mixes of k-quants, and Olive's k_quant_mixed after them, give more bits: the first and the last
// eighth, and every third between them (i < n/8, i ≥ 7n/8, or (i − ⌊n/8⌋) mod 3 = 2).
bool has_more_bits(size_t layer, size_t layers);

// `value`: of layer_kinds; the schemes are those of all other layers. What a rule does not say of the weights is as there, but
// zero points that are no integers (HQQ): tables and weights of 8 bits cannot have them, and get MinMSE. Throws Error for unknown
// kinds, keys and values.
std::vector<KindRule> parse_kind_rules(const Json& value, const Scheme& activation, const Scheme& weight);

// Back in the user's words.
Json to_json(const std::vector<KindRule>& rules);

}  // namespace quasar::quant
