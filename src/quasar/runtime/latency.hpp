// How long a run takes, and how many times as long as another model's.
#pragma once

#include <span>
#include <vector>

#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/runtime/device.hpp"

namespace quasar::runtime {

struct Latency {
  double median_ms = 0;
  double p90_ms = 0;
  size_t runs = 0;
};

// Of times, not empty: of an even number the later of the two in the middle.
double median_of(std::vector<double> times);

// The median and the rest of these times; not empty.
Latency latency_of(std::vector<double> times);

// Whether the median of these times is known within 2 %: its 95 % interval by order statistics, ranks (n ± 1.96 √n) / 2 (Conover,
// Practical Nonparametric Statistics, 3.2), is that narrow. Fewer than 20 times are never enough.
bool is_settled(std::vector<double> times);

// How many times as long one model takes as another.
struct Ratio {
  double median = 1;
  double low = 1, high = 1;  // 95 % interval of the median by order statistics, as is_settled()
};

// Of times of the same turns. One turn at least.
Ratio ratio_of(std::span<const double> times, std::span<const double> others);

// Measuring ends after so many turns, or earlier once the medians are known within 2 %, but not before `at_least` seconds have
// passed, since another program may disturb a short while as a whole; after `seconds` in any case.
struct Effort {
  size_t turns = 50;
  double seconds = 30;
  double at_least = 0;
  int threads = 1;  // within a run
};

// Whether each turn makes two runs of every model, of which the second counts, as in a loop, which is how models are used: where
// no model's runs take more than 5 ms. What another model has left in the processor's caches costs the first up to a tenth.
// `times`: some of each model, in milliseconds.
bool run_twice(const std::vector<std::vector<double>>& times);

// Milliseconds of single runs, by model and turn: integer kernels, warm-up first, then the models one after the other in each
// turn, so that what else the machine does meets all of them, and run_twice() where it says so. On several threads the time of a
// turn is the median of runs in a row, five or 10 ms of them, without those of the first 40 ms after another model: after a run
// ONNX Runtime's threads wait for the next one at full load, and would take the other model's processors
// (bench/waiting_threads.py). Reading samples is not timed. Throws Error without samples.
std::vector<std::vector<double>> times_in_turn(std::span<const graph::Model* const> models, const data::Dataset& samples,
                                               const Effort& effort = {}, const Device& device = {});

// Of one model, as times_in_turn().
Latency latency(const graph::Model& model, const data::Dataset& samples, const Effort& effort = {}, const Device& device = {});

}  // namespace quasar::runtime
