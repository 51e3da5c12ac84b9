// Types of a pipeline's models, each its own (graph/pipeline/pipeline.hpp):
//   models: {encoder: U8S8_CHANNEL, decoder: {scheme: W4, weight_params: {group_size: 64}}, vocoder: Float32Spec}
// A rule by name (specific_layer_config) and one by kind (layer_kinds) come before a model's.
#pragma once

#include <vector>

#include "quasar/quant/config/layer_rules.hpp"

namespace quasar::quant {

// Reads the key and takes it out of the words. A model's value is the name of a scheme, a specification for both sides
// (Float32Spec: the model stays in float), a mapping {scheme, activation, activation_params, weight, weight_params}, or null,
// which says nothing: the model is as the rest of the words says. Switches of a scheme (BiasCorrection) become those of the whole
// configuration, where it does not say them itself. Throws Error for other words, and for schemes that say what holds for no
// single model: rounding, layer_kinds, form.
std::vector<LayerRule> take_model_rules(Json& canonical_words);

// Back in the user's words; null: there is none.
Json models_json(const std::vector<LayerRule>& rules);

}  // namespace quasar::quant
