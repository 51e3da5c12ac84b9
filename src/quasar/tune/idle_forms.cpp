#include "quasar/tune/idle_forms.hpp"

#include "quasar/base/error.hpp"
#include "quasar/quant/standalone.hpp"
#include "quasar/trial/nothing_quantized.hpp"
#include "quasar/trial/quantized_share.hpp"

namespace quasar::tune {

Json first_words(const Spaces& spaces) {
  const search::Space& space = spaces.calibration.front().empty() ? spaces.each.front() : spaces.calibration.front();
  return quant::without_rounding(words_of(space, space.nearest_to(Json::object())));
}

bool is_idle(const quant::Plan& plan, Variants& variants, const quant::Config& config) {
  return plan.nodes.empty() ||
         !hardly_quantized(plan, variants.graph_of(config)->model, variants.seen(config), ChosenFloat::counted).empty();
}

void require_something_quantized(const PreparedJob& prepared, Variants& variants) {
  std::string first;
  for (const quant::NodeForm form : prepared.spaces.node_forms) {
    const std::string why = why_nothing(prepared.model, form);
    if (why.empty()) return;
    if (first.empty()) first = why;
  }
  if (first.empty()) return;
  try {
    const quant::Config config = quant::parse_config(first_words(prepared.spaces));
    if (!variants.plan(config, *prepared.target).nodes.empty()) return;
  } catch (const Error&) {  // trials will fail with the same words
    return;
  }
  throw Error("nothing in this model can be quantized: " + first);
}

void leave_out_idle_forms(PreparedJob& prepared, Variants& variants, const Log& log) try {
  const std::vector<std::string> forms = prepared.spaces.names_of_other_forms();
  if (forms.empty()) return;
  Json words = first_words(prepared.spaces);
  std::map<std::string, std::string> first_with;  // by hash of the plan
  const auto plan_of = [&] { return variants.plan(quant::parse_config(words), *prepared.target); };
  const auto work_of = [&](const quant::Plan& plan) {
    const quant::Config config = quant::parse_config(words);
    return share_of(plan, variants.graph_of(config)->model, variants.seen(config), ChosenFloat::counted).work;
  };
  const quant::Plan first = plan_of();
  const double work = work_of(first);
  first_with[quant::hash_of(first)] = words.value("form", "all");
  for (const auto& form : forms) {
    words["form"] = form;
    const quant::Plan plan = plan_of();
    const auto [same, is_new] = first_with.emplace(quant::hash_of(plan), form);
    const std::string why = is_idle(plan, variants, quant::parse_config(words)) ? "quantizes hardly anything of this model"
                            : is_new                                            ? ""
                                     : "is the same as form " + same->second + " for this model";
    constexpr double lesser = 0.5;
    if (work_of(plan) < lesser * work) prepared.spaces.lesser_forms.insert(form);
    if (why.empty()) continue;
    prepared.spaces.leave_out(form, why);
    tell(log, Level::debug, "form " + form + " " + why);
  }
} catch (const Error&) {  // trials will fail with the same words
}

std::vector<std::string> schemes_of_weights(const PreparedJob& prepared, Variants& variants) {
  std::vector<std::string> out;
  const quant::Config first = quant::parse_config(first_words(prepared.spaces));
  if (!is_idle(variants.plan(first, *prepared.target), variants, first)) return out;
  for (const auto& name : quant::schemes::table().names()) {
    try {
      const quant::Config config = quant::parse_config({{"scheme", name}});
      if (quant::form_of(config.activation) != quant::NodeForm::weights_only) continue;
      if (!is_idle(variants.plan(config, *prepared.target), variants, config)) out.push_back(name);
    } catch (const Error&) {  // which this model or target does not take
    }
  }
  return out;
}

}  // namespace quasar::tune
