// Pictures in another size, as PIL's Image.resize makes them.
//
// Along each axis, output pixel i covers the input around (i + 1/2)·s, s = input size / output size. Its weights are the
// filter's, stretched by s when the picture shrinks (antialias), cut off at the border and scaled to the sum 1. They are rounded
// to 22 bits; rows are resampled first, then columns, each rounded to 8 bits. So results equal PIL's bit by bit.
#pragma once

#include "quasar/data/image.hpp"

namespace quasar::data {

// nearest: the pixel at the centre. box: the mean. bilinear: a triangle of radius 1. bicubic: Keys' cubic with a = −1/2,
// radius 2. lanczos: sinc(x)·sinc(x/3), radius 3.
enum class Interpolation { nearest, box, bilinear, bicubic, lanczos };

struct Resampling {
  Interpolation interpolation = Interpolation::bilinear;
  bool antialias = true;  // false: the filter is not stretched when the picture shrinks, as OpenCV's resize
};

// Sizes are at least 1; the caller has checked that the result is not too large.
Image resampled(const Image& image, Size size, const Resampling& how);

}  // namespace quasar::data
