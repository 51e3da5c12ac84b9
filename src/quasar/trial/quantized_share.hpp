// How much of a model a plan quantizes. One that quantizes next to nothing is as accurate as float, and no smaller or faster: it
// would win every search.
#pragma once

#include <string>

#include "quasar/graph/model.hpp"
#include "quasar/quant/plan.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::tune {

// What becomes of operators that the configuration itself leaves in float.
enum class ChosenFloat { ignored, counted };

struct QuantizedShare {
  double work = 1;      // of the multiply-adds of Conv, MatMul, LSTM …, by what is quantized; 1: there are none
  double bytes = 1;     // of their constants and all others, beside float's
  bool by_work = true;  // false: shapes are unknown, and `work` is a share of the weights

  std::string unit() const { return by_work ? "multiply-adds" : "weights"; }
};

// `seen`: gives the shapes of values; where one is unknown, every weight counts once.
QuantizedShare share_of(const quant::Plan& plan, const graph::Model& model, const stats::Statistics& seen,
                        ChosenFloat chosen = ChosenFloat::ignored);

// "": enough is quantized. Otherwise why not, in words: less than 5 % of the multiply-adds, and 95 % of the bytes stay.
std::string hardly_quantized(const quant::Plan& plan, const graph::Model& model, const stats::Statistics& seen,
                             ChosenFloat chosen = ChosenFloat::ignored);

}  // namespace quasar::tune
