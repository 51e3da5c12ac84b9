#include "quasar/quant/config/model_form.hpp"

#include <array>

#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/quant/codes/scheme_words.hpp"

namespace quasar::quant {
namespace {

constexpr std::array names{"all", "products", "dynamic_products", "dynamic"};

}  // namespace

std::vector<std::string> model_form_names() {
  return {names.begin(), names.end()};
}

std::string name_of(ModelForm form) {
  return names.at(static_cast<size_t>(form));
}

ModelForm parse_model_form(const Json& words) {
  if (words.is_null()) return ModelForm::all;
  const std::vector<std::string> known = model_form_names();
  if (!words.is_string()) throw Error("form is " + words.dump() + ", but must be one of " + joined(known));
  for (size_t i = 0; i < known.size(); i++) {
    if (normalized(known[i]) == normalized(words.get<std::string>())) return static_cast<ModelForm>(i);
  }
  throw Error("form is " + words.dump() + ", but must be one of " + joined(known) +
              did_you_mean(words.get<std::string>(), known));
}

ModelForm take_model_form(Json& canonical_words) {
  const ModelForm form = parse_model_form(canonical_words.value("form", Json()));
  canonical_words.erase("form");
  if (form == ModelForm::all) return form;
  const Json activation = canonical_words.value("activation", Json("Int8Spec"));
  if (activation.is_null() || has_no_parameters(activation))
    throw Error("form is " + name_of(form) + ", but activation is " + activation.dump() +
                ": forms are for integers whose scales are known before the run");
  if (form != ModelForm::dynamic) return form;
  canonical_words["activation"] = "DynamicSpec";
  canonical_words.erase("activation_params");
  return ModelForm::all;
}

LayerRule rule_of_products(const Scheme& activation, const Scheme& weight) {
  const Json words{{"layer_type_config", {{{"spec", "DynamicSpec"}, {"op_types", {"MatMul", "Gemm", "LSTM"}}}}}};
  return parse_layer_rules(words, activation, weight).front();
}

}  // namespace quasar::quant
