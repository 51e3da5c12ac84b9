// How much of a model a plan quantizes. One that quantizes next to nothing is as accurate as float, and no smaller or faster: it
// would win every search.
#pragma once

#include <string>

#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::tune {

// Which operators count: all, or those that the configuration does not leave in float itself.
enum class Counted { but_chosen, all };

struct QuantizedShare {
  double work = 1;   // of the multiply-adds of Conv, MatMul, LSTM …, by what is quantized; 1: there are none
  double bytes = 1;  // of their constants and all others, beside float's
};

// `seen`: gives the shapes of values; where they are unknown, every weight counts once.
QuantizedShare share_of(const quant::Plan& plan, const graph::Model& model, const stats::Statistics& seen,
                        Counted counted = Counted::but_chosen);

// "": enough is quantized. Otherwise why not, in words: less than 5 % of the multiply-adds, and 95 % of the bytes stay.
std::string hardly_quantized(const quant::Plan& plan, const graph::Model& model, const stats::Statistics& seen,
                             Counted counted = Counted::but_chosen);

}  // namespace quasar::tune
