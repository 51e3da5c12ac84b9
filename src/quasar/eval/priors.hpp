// Prior boxes of single-shot detectors whose head gives offsets from them (Liu et al. 2016).
#pragma once

#include <vector>

#include "quasar/base/json.hpp"

namespace quasar::eval {

struct Prior {
  double x = 0, y = 0, width = 0, height = 0;  // centre and size, shares of the picture
};

// From a decoder's option `priors`:
//   a file .npy or .npz (its only array, or the one called priors or anchors) [N, 4] of centres and sizes, with `y_first` as y,
//   x, height, width; {grids: [19, 10 …], boxes: [[[w, h], …] of each grid]}: shares of the picture, for every cell in turn;
//   {grids: [19, 10 …], min_scale: 0.2, max_scale: 0.95, ratios: [1, 2, 0.5, 3, 0.3333]}: those of TensorFlow's SSDs. With L
//   grids, the scale of grid k is s_k = min + (max − min)·k / (L − 1), s_L = 1; a ratio r gives s_k·√r by s_k / √r, and
//   √(s_k·s_{k+1}) by itself comes last; the first grid has 0.1 by 0.1 and the ratios 2 and ½ at s_0 (reduced: false: as the
//   others).
// A grid is its number of rows and columns, or [rows, columns]. Throws Error.
std::vector<Prior> read_priors(const Json& words, bool y_first);

}  // namespace quasar::eval
