// What it takes to turn a value into codes and back, by what such changes of form take in a quantized model.
#pragma once

#include <string>

#include "quasar/sensitivity/operator_costs.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::tune {

class ConversionCosts {
 public:
  // `seen`: gives the shapes of values, and must outlive this. Prices of an element are those of the greater changes of form in
  // `costs`; where there are none, of a usual machine.
  ConversionCosts(const OperatorCosts& costs, const stats::Statistics& seen);

  // Microseconds of one run on one thread, a kernel's call included.
  double entering(const std::string& value) const;
  double leaving(const std::string& value) const;

 private:
  const stats::Statistics& seen_;
  double entering_, leaving_;  // of an element
};

}  // namespace quasar::tune
