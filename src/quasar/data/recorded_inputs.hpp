// Inputs that hold what the model itself gave before: caches of keys and values, states of recurrent layers.
#pragma once

#include <string>

#include "quasar/graph/model.hpp"

namespace quasar::data {

// For messages that samples lack this input: how its values are had, "; for a cache …". "": it is an input like others.
std::string how_to_record(const graph::Value& input);

}  // namespace quasar::data
