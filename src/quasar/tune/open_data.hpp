// Samples for a model, with a guard: photographs whose values nobody has thought of make a model that looks good and is useless.
#pragma once

#include <filesystem>

#include "quasar/data/checked_ids.hpp"
#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::tune {

// As data::open() for the model's inputs. Pictures for which neither mean, scale, std nor as_is is given are accepted where the
// model's input is of bytes, or where the model itself shows that it takes 0 to 255 (pixel_evidence.hpp). Otherwise throws Error
// that says what the model seems to want, and what to write. Ids beyond the model's tables are errors (checked_ids.hpp);
// `negative` hears of those below 0.
data::DatasetPtr open_data(const Json& description, const graph::Model& model, const std::filesystem::path& base = {},
                           std::shared_ptr<data::NegativeIds> negative = nullptr);

// The same source with values for pictures of which nobody has said any: those that fit the model best, where it is a classifier;
// 0 to 1, where its first layer is meant for small values. `told` gets what was chosen, in words; "": nothing had to be. Throws
// the error of open_data() where nothing tells.
Json with_values(const Json& description, const graph::Model& model, const std::filesystem::path& base, std::string& told);

}  // namespace quasar::tune
