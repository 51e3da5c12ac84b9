// Which forms of a search's spaces (quant/config/model_form.hpp) are worth a trial for a model, before anything is measured.
#pragma once

#include "quasar/trial/variants.hpp"
#include "quasar/tune/prepared_job.hpp"

namespace quasar::tune {

// The configuration of the first point, without optimized rounding.
Json first_words(const Spaces& spaces);

// Whether hardly anything is quantized.
bool is_idle(const quant::Plan& plan, Variants& variants, const quant::Config& config);

// Throws Error with the reason where no configuration can quantize anything in this model.
void require_something_quantized(const PreparedJob& prepared, Variants& variants);

// Takes forms out of the spaces that quantize hardly anything of this model, or the same as an earlier one.
void leave_out_idle_forms(PreparedJob& prepared, Variants& variants, const Log& log);

// Where the first point of the space quantizes hardly anything of this model: the schemes of weights alone (values stay in float)
// that quantize more.
std::vector<std::string> schemes_of_weights(const PreparedJob& prepared, Variants& variants);

}  // namespace quasar::tune
