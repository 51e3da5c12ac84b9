// What ONNX Runtime really does with a quantized model: which nodes run in integer kernels, and how long a run takes.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "quasar/data/dataset.hpp"
#include "quasar/graph/model.hpp"
#include "quasar/runtime/device.hpp"

namespace quasar::runtime {

// For each of the nodes named in `nodes`, whether ONNX Runtime runs it quantized. Seen in the graph that it optimizes the
// quantized model to (level extended; the last level changes memory layouts only):
//   node still there        it reads a tensor or weights of 4, 8 or 16-bit integers (QLinearConv, MatMulNBits, a MaxPool of
//                           codes …), and is no Cast and no Q/DQ itself;
//   fused into another      as that one, found by its name "<node>/<fusion>" or by the values that it gives;
//   gone                    (a Relu absorbed by the codes' lower end, a node that did nothing) as the node that gave its input.
// A name that the quantized model does not have gives false. Throws Error when ONNX Runtime cannot open the model.
std::map<std::string, bool> runs_quantized(const graph::Model& quantized, const std::vector<std::string>& nodes);

// The graph that ONNX Runtime runs (level extended), but for memory layouts.
graph::Model optimized(const graph::Model& model);

// Bytes of the weights and of the most tensors that are alive at the same time, in the graph that ONNX Runtime runs, for the
// first sample. Computed from the sizes of one run's tensors, freed after their last use: the same on every machine; what kernels
// need besides (packed weights, work buffers, the arena's slack) is not in it. Throws Error without samples.
size_t peak_memory(const graph::Model& model, const data::Dataset& samples);

struct Latency {
  double median_ms = 0;
  double p90_ms = 0;
  size_t runs = 0;
};

// Whether the median of these times is known within 2 %: its 95 % interval by order statistics, ranks (n ± 1.96 √n) / 2 (Conover,
// Practical Nonparametric Statistics, 3.2), is that narrow. Fewer than 20 times are never enough.
bool is_settled(std::vector<double> times);

// Milliseconds of single runs, by model and turn: one thread, warm-up first, then the models one after the other in each turn, so
// that what else the machine does meets all of them. Up to `turns`: fewer when `seconds` are over, or when each model's ratio to
// the first is known within 1 % (ratio_of()). Throws Error without samples.
std::vector<std::vector<double>> times_in_turn(std::span<const graph::Model* const> models, const data::Dataset& samples,
                                               size_t turns, double seconds, const Device& device = {});

// How many times as long one model takes as another.
struct Ratio {
  double median = 1;
  double low = 1, high = 1;  // 95 % interval of the median by order statistics, as is_settled()
};

// Of times of the same turns. One turn at least.
Ratio ratio_of(std::span<const double> times, std::span<const double> others);

// The median and the rest of these times; not empty.
Latency latency_of(std::vector<double> times);

// One thread, integer kernels, warm-up first, then up to `runs` runs over the samples in turn: fewer when `seconds` are over or
// the median is settled. Reading samples is not timed. Throws Error without samples.
Latency latency(const graph::Model& model, const data::Dataset& samples, size_t runs = 50, double seconds = 30,
                const Device& device = {});

}  // namespace quasar::runtime
