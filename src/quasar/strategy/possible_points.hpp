// A sampler that proposes nothing of which it is known beforehand that its trial fails.
#pragma once

#include <functional>
#include <memory>

#include "quasar/search/sampler.hpp"

namespace quasar::tune {

// In the stead of an impossible point of `inner` stands one next to it with a single operator quantized again; where none of
// those is possible and new, `inner` is asked again, and takes the point for a trial that failed, so that a finite space comes to
// its end. `inner` must outlive this; `possible` is asked once for each point.
std::unique_ptr<search::Sampler> possible_points(search::Sampler& inner, std::function<bool(const search::Point&)> possible);

}  // namespace quasar::tune
