// Samples for a model, with a guard: photographs whose values nobody has thought of make a model that looks good and is useless.
#pragma once

#include <filesystem>

#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::tune {

// As data::open() for the model's inputs. Pictures for which neither mean, scale, std nor as_is is given are accepted where the
// model's input is of bytes, or where the model itself shows that it takes 0 to 255 (pixel_evidence.hpp). Otherwise throws Error
// that says what the model seems to want, and what to write.
data::DatasetPtr open_data(const Json& description, const graph::Model& model, const std::filesystem::path& base = {});

}  // namespace quasar::tune
