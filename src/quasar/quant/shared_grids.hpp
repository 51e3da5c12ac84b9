// Values of very different ranges on one quantization grid: a Concat that packs boxes of 0…320 and scores of 0…1 rounds every
// score to zero, and the error of the whole still looks small.
//   power   mean square of a part over the samples
//   noise   step² / 12, that of rounding to the nearest code; the step from the least and greatest values
// A part is lost where √(noise / power) is above a tenth on the shared grid, and its own grid's step at most a quarter of that
// grid's.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quasar/quant/value_params.hpp"

namespace quasar::quant {

struct SharedGrids {
  std::map<std::string, std::string> left;  // nodes that must stay in float for the sake of such a part -> why
  std::vector<std::string> notes;           // what was found, in words
};

// Looks at every Concat and Where with a grid. It can stay in float where nothing that it leads to is computed in integers:
// whoever computes needs one grid for all again. Moving and elementwise nodes behind it stay in float with it. What cannot is
// noted: where the target or AlignConcat demands one grid, and, where nothing is left of a part, before sums in integers. Grids
// that the user gave (ranges, overrides) are his.
SharedGrids find_lost_parts(const Ground& ground);

}  // namespace quasar::quant
