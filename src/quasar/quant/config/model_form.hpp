// Which operators a quantized model has in integers, and which of them find the scales of their inputs at run time.
#pragma once

#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/quant/codes/scheme.hpp"
#include "quasar/quant/config/layer_rules.hpp"

namespace quasar::quant {

//   all                all operators that the target has in integers
//   products           Conv, ConvTranspose, MatMul and Gemm with the activation functions behind them, and tables of Gather
//   dynamic_products   the same, but MatMul, Gemm and LSTM with constant weights find the scales of their inputs at run time
//   dynamic            nothing but these and tables of Gather, as by DynamicSpec
enum class ModelForm { all, products, dynamic_products, dynamic };

// null: all. Throws Error for other words, and for activations that have no scales before the run.
ModelForm parse_model_form(const Json& words);
std::string name_of(ModelForm form);
std::vector<std::string> model_form_names();

// The key's value taken out of these words, which become those of the form: of dynamic, activation is DynamicSpec, and the form
// all.
ModelForm take_model_form(Json& canonical_words);

// How the products of form dynamic_products are quantized. `weight`: the scheme of all layers.
LayerRule rule_of_products(const Scheme& activation, const Scheme& weight);

}  // namespace quasar::quant
