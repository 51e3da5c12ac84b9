// How one tensor is quantized: type, symmetry, granularity, scale type, range method; and what comes out: scales.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quasar/base/json.hpp"
#include "quasar/graph/tensor.hpp"
#include "quasar/stats/statistics.hpp"

namespace quasar::quant {

enum class ScaleType { float32, power_of_two, int16 };
enum class Granularity { tensor, channel, group };

struct Scheme {
  DataType type = DataType::int8;
  bool symmetric = true;
  ScaleType scale_type = ScaleType::float32;
  Granularity granularity = Granularity::tensor;
  size_t group_size = 0;                 // Granularity::group: how many weights along the inputs share a scale
  std::string range_method = "min_max";  // a name in ranges/
  Json range_options = Json::object();
  bool dynamic = false;  // activations: scales are found at run time, for every input anew
  bool operator==(const Scheme&) const = default;
};

// The integers that a scheme may use: int8 asymmetric −128…127, symmetric −127…127; uint8 asymmetric 0…255, symmetric 1…255
// around its zero point 128; 4 and 16 bits alike; int32 (bias) the same way. Asymmetric is all that the type can hold. Throws
// Error for other types.
struct Grid {
  int64_t low = 0, high = 0;
  bool symmetric = true;
  bool operator==(const Grid&) const = default;
};
Grid grid_of(DataType type, bool symmetric);

// Scales and zero points of one tensor: one of each, one per slice along `axis`, or one per block along it: then they have the
// tensor's shape with ⌈size of the axis / block⌉ in the axis' place, in memory order (ONNX's blocked quantization).
// Law: dequantize(q) = scale · (q − zero_point)   (ONNX QuantizeLinear). float16 and bfloat16 have neither: values are rounded.
struct QuantParams {
  DataType type = DataType::int8;
  std::vector<float> scales;
  std::vector<int32_t> zero_points;
  int axis = -1;  // −1: per tensor
  int block = 0;  // so many neighbours along the axis share a scale; 0: whole slices do
  // Zero points that are no integers (half_quadratic.hpp), which hold in place of the others. Empty: the others hold.
  std::vector<float> real_zero_points = {};
  bool operator==(const QuantParams&) const = default;
};

// Range -> scale and zero point on a grid. Zero is always representable: the range is widened to hold it.
// Affine: s = (high − low)/(grid.high − grid.low), z = round(grid.low − low/s). Symmetric: s = max|range|/(grid.high − z), z = 0
// (8, 128 and 32768 for unsigned types). Power of two: s becomes 2^−pos, pos = round(−log2 s) (to the nearest exponent, as Quark
// does, so that up to 30 % of the range may be clipped), before z is computed. Int16: the nearest m · 2^−n with m an int16, at
// most 2^−15 away in proportion. All rounding is half to even.
// A range that is not finite, or whose scale is below the smallest normal float, gives scale 1 and the type's neutral zero
// point.
struct ScaleAndZero {
  float scale = 1;
  int32_t zero_point = 0;
};
ScaleAndZero scale_for(const stats::Range& range, DataType type, bool symmetric, ScaleType scale_type = ScaleType::float32);

// Whether a range, or a constant in float32, holds zeros only, at the precision of scales: no type of up to 16 bits has
// a normal float32 scale for what remains.
bool is_zero(const stats::Range& range);
bool is_zero(const Tensor& constant);

// The least scale of this type that is not below the given one: 2^n, or m · 2^−n.
double scale_above(double scale, ScaleType scale_type);
double power_of_two_above(double scale);

// float16 and bfloat16: values are cast, there is nothing to scale.
bool is_half(DataType type);

// saturate(round_half_even(x / scale) + zero_point), bit by bit as ONNX Runtime's QuantizeLinear computes it (float32 division,
// the type's whole range); int32 codes (bias) are computed in double precision. NaN becomes the lowest code. Throws Error when
// the number of scales does not fit the shape along `axis`.
Tensor quantize(const Tensor& values, const QuantParams& params);
// scale · (code − zero_point) in float32.
Tensor dequantize(const Tensor& codes, const QuantParams& params);

// The shape of the scales of a tensor of this shape: [] , [slices], or the tensor's with blocks counted along the axis.
Shape scales_shape(const Shape& shape, const QuantParams& params);

// Codes of 4, 8, 16 or 32 bits as plain integers, and back (values beyond the type are the caller's mistake).
std::vector<int32_t> plain_codes(const Tensor& codes);
Tensor codes_tensor(DataType type, const Shape& shape, std::span<const int32_t> codes);

// The zero point moves with the type, so that every code keeps its meaning: int8 −128…127 is uint8 0…255.
QuantParams stored_as(DataType type, QuantParams params);

}  // namespace quasar::quant
