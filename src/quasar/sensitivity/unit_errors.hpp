// What the quantization of single operators costs, on a few samples of a toggled model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/base/log.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/runtime/output_distance.hpp"
#include "quasar/sensitivity/toggled_model.hpp"

namespace quasar::tune {

struct UnitError {
  Unit unit;
  double work = 0;             // multiplications and additions per sample (weighted sums), or outputs
  double noise_to_signal = 0;  // ‖y − ŷ‖² / ‖y‖² at its own output with everything before it in float, over all samples
  double output_error = 0;     // mean over samples of the distance of the model's outputs, ‖f − q‖₂ if no other is given
};

// Of so many units each is looked at by itself.
constexpr size_t most_single_units = 256;

// With whom samples are shared, and a name that only the same model has on the same samples.
struct SharedBy {
  Sharer sharer = {};
  std::string name = {};
};

// Every unit quantized alone. `output_error` is what the model then loses; in models of more units an estimate from groups of
// neighbours on the first two samples (group_errors.hpp), so that the cost stays that of some 500 runs.
std::vector<UnitError> alone(const ToggledModel& model, const data::Dataset& samples, size_t threads = 0,
                             const Distance& distance = output_distance, const Progress& progress = {},
                             const SharedBy& shared = {});

// As alone(), `output_error` only: half the work and no second session.
std::vector<double> alone_at_outputs(const ToggledModel& model, const data::Dataset& samples, size_t threads = 0,
                                     const Distance& distance = output_distance, const Progress& progress = {});

// Multiplications and additions that alone() and up_to_each() take for this sample: for each unit what it and all units behind it
// take, twice.
double work_by_units(const ToggledModel& model, const data::Sample& sample);

// So many passages through the model fit into its kept_bytes() at a time, the first sample's values taken for all, and at most
// one per thread: at least one.
size_t passages_at_once(const ToggledModel& model, const data::Dataset& samples, size_t threads = 0);

// The distance with every unit quantized.
double with_all(const ToggledModel& model, const data::Dataset& samples, size_t threads = 0);

// The distance after each unit, with it and all units before it quantized; the last one is the whole model's.
std::vector<double> up_to_each(const ToggledModel& model, const data::Dataset& samples, size_t threads = 0,
                               const Progress& progress = {});

// Of the units `among` those that are on: the distance to the float outputs when this one returns to float. The others' are left
// 0.
std::vector<double> without_each(const ToggledModel& model, const data::Dataset& samples, const std::vector<bool>& on,
                                 const std::vector<bool>& among, size_t threads = 0);

// Of the units that are off: the distance when this one is quantized too. The others' are left 0.
std::vector<double> with_each(const ToggledModel& model, const data::Dataset& samples, const std::vector<bool>& on,
                              size_t threads = 0);

}  // namespace quasar::tune
