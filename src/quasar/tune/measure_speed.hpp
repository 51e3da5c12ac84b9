// Which operators stay in float to be fast, by measuring whole models before the first trial.
#pragma once

#include "quasar/trial/variants.hpp"
#include "quasar/tune/all_cores.hpp"
#include "quasar/tune/speed_gate.hpp"

namespace quasar::tune {

// Measures whole models, one after the other in each turn: float, as planned, with those operators in float whose integer kernels
// are known to be slower (Target::is_slower_in_codes), with nothing but matrix products and convolutions quantized, and with the
// operators in float that cheapest_float() finds by the costs of operators. The fastest of them counts where it is faster than
// the planned one by the factor job.speed_gate and beyond noise. One that is slower than float on all cores gives way to one that
// is slower on neither, where there is one (fast_on_both()). Models that are hardly quantized do not take part. Where there is no
// time for measurements, the known ones stay in float. nullopt: the job has no gate, or quantizes for what does not run here in
// integers. `float_seconds`: of a run of the float model, about; 0: not known.
std::optional<SpeedGate> measure_speed(const Job& job, const PreparedJob& prepared, Variants& variants, const Log& log,
                                       double float_seconds = 0, const Timers& timers = {});

}  // namespace quasar::tune
