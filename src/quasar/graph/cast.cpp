// converted() and to_doubles(): every real type goes through double, which holds all of them exactly but 64-bit integers; those
// go to other integers directly.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "quasar/base/error.hpp"
#include "quasar/graph/tensor.hpp"

namespace quasar {
namespace {

struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
// As it stands in files: any byte but 0 is true, while a C++ bool may be 0 or 1 only.
struct Truth {
  uint8_t bits;
};

// IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits.
double widened(Half half) {
  const int exponent = half.bits >> 10 & 0x1F;
  const int fraction = half.bits & 0x3FF;
  double magnitude = std::ldexp(fraction, -24);  // subnormal
  if (exponent == 31) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent > 0) {
    magnitude = std::ldexp(1024 + fraction, exponent - 25);
  }
  return (half.bits & 0x8000) != 0 ? -magnitude : magnitude;
}

double widened(Truth value) {
  return value.bits != 0 ? 1 : 0;
}

double widened(BFloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

// Rounds to a binary format with `fraction` fraction bits and exponents from `least` to `most`, nearest even, larger values to
// the largest finite one (conversions saturate); the result's bits without the sign.
uint32_t rounded_bits(double magnitude, int fraction, int least, int most) {
  const int exponent = std::max(magnitude > 0 ? std::ilogb(magnitude) : least, least);
  const double units = std::nearbyint(std::ldexp(magnitude, fraction - exponent));  // of the last place
  const uint32_t largest = static_cast<uint32_t>(most - least + 2) << fraction;     // infinity's bits
  // A carry out of the fraction runs into the exponent, as it should; a subnormal has no hidden bit to take away.
  const double bits = units + std::ldexp(exponent - least, fraction);
  return std::min(static_cast<uint32_t>(std::min(bits, 4e9)), largest - 1);
}

uint16_t narrowed(double value, int fraction, int least, int most) {
  const uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  const uint32_t infinity = static_cast<uint32_t>(most - least + 2) << fraction;
  if (std::isnan(value)) return static_cast<uint16_t>(infinity | 1U << (fraction - 1));
  if (std::isinf(value)) return static_cast<uint16_t>(sign | infinity);
  return static_cast<uint16_t>(sign | rounded_bits(std::fabs(value), fraction, least, most));
}

template <class To>
To integer_from(double value) {
  if (std::isnan(value)) return 0;
  const double low = static_cast<double>(std::numeric_limits<To>::min());
  const double high = static_cast<double>(std::numeric_limits<To>::max());  // rounded up for 64-bit types
  const double whole = std::trunc(value);
  if (whole <= low) return std::numeric_limits<To>::min();
  if (whole >= high) return std::numeric_limits<To>::max();
  return static_cast<To>(whole);
}

template <class To, class From>
To cast(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16> || std::is_same_v<From, Truth>) {
    return cast<To>(widened(value));
  } else if constexpr (std::is_same_v<To, Half>) {
    return {narrowed(static_cast<double>(value), 10, -14, 15)};
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return {narrowed(static_cast<double>(value), 7, -126, 127)};
  } else if constexpr (std::is_same_v<To, Truth>) {
    return {static_cast<uint8_t>(value != 0)};
  } else if constexpr (std::is_same_v<To, float>) {
    const auto limit = static_cast<double>(std::numeric_limits<float>::max());
    const auto wide = static_cast<double>(value);
    return static_cast<float>(std::isinf(wide) ? wide : std::clamp(wide, -limit, limit));
  } else if constexpr (std::is_same_v<To, double>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_floating_point_v<From>) {
    return integer_from<To>(static_cast<double>(value));
  } else {
    if (std::cmp_less(value, std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (std::cmp_greater(value, std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(value);
  }
}

// Calls work(T{}) with the C++ type of the elements.
template <class Work>
auto with_type(DataType type, const Work& work) {
  switch (type) {
    case DataType::float32:
      return work(float{});
    case DataType::float64:
      return work(double{});
    case DataType::float16:
      return work(Half{});
    case DataType::bfloat16:
      return work(BFloat16{});
    case DataType::int8:
      return work(int8_t{});
    case DataType::uint8:
      return work(uint8_t{});
    case DataType::int16:
      return work(int16_t{});
    case DataType::uint16:
      return work(uint16_t{});
    case DataType::int32:
      return work(int32_t{});
    case DataType::uint32:
      return work(uint32_t{});
    case DataType::int64:
      return work(int64_t{});
    case DataType::uint64:
      return work(uint64_t{});
    case DataType::boolean:
      return work(Truth{});
    default:
      throw Error("a tensor of type " + std::string(name_of(type)) + " cannot be converted");
  }
}

// Integers of which several share a byte, the low bits first.
struct Sharing {
  size_t bits, per_byte;
  int mask, low;  // all bits set; the least value
};

Sharing sharing_of(DataType type) {
  const size_t bits = bits_of(type);
  const bool is_signed = type == DataType::int4 || type == DataType::int2;
  return {bits, 8 / bits, (1 << bits) - 1, is_signed ? -(1 << (bits - 1)) : 0};
}

Tensor unpacked(const Tensor& tensor) {
  std::vector<int8_t> values(tensor.count());
  const auto [bits, per_byte, mask, low] = sharing_of(tensor.type());
  for (size_t i = 0; i < values.size(); ++i) {
    const int code = static_cast<int>(tensor.bytes()[i / per_byte]) >> (i % per_byte * bits) & mask;
    values[i] = static_cast<int8_t>(code > mask + low ? code - mask - 1 : code);
  }
  return Tensor::of(tensor.shape(), values);
}

Tensor packed(const Tensor& tensor, DataType type) {
  const auto [bits, per_byte, mask, low] = sharing_of(type);
  const auto values = to_doubles(tensor);
  std::vector<uint8_t> bytes(bytes_of(type, values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    const int value = std::clamp<int>(integer_from<int8_t>(values[i]), low, low + mask);
    bytes[i / per_byte] = static_cast<uint8_t>(bytes[i / per_byte] | (value & mask) << (i % per_byte * bits));
  }
  return Tensor::copy(type, tensor.shape(), bytes.data(), bytes.size());
}

bool is_packed(DataType type) {
  return type == DataType::int4 || type == DataType::uint4 || type == DataType::int2 || type == DataType::uint2;
}

}  // namespace

Tensor converted(const Tensor& tensor, DataType type) {
  if (tensor.type() == type) return tensor;
  if (is_packed(tensor.type())) return converted(unpacked(tensor), type);
  if (is_packed(type)) return packed(tensor, type);
  return with_type(tensor.type(), [&](auto from) {
    return with_type(type, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      const auto* values = reinterpret_cast<const From*>(tensor.bytes().data());
      const std::unique_ptr<To[]> out(new To[tensor.count()]);
      for (size_t i = 0; i < tensor.count(); ++i) out[i] = cast<To>(values[i]);
      return Tensor::copy(type, tensor.shape(), out.get(), tensor.count() * sizeof(To));
    });
  });
}

std::vector<double> to_doubles(const Tensor& tensor) {
  if (is_packed(tensor.type())) return to_doubles(unpacked(tensor));
  return with_type(tensor.type(), [&](auto from) {
    const auto* values = reinterpret_cast<const decltype(from)*>(tensor.bytes().data());
    std::vector<double> out(tensor.count());
    for (size_t i = 0; i < out.size(); ++i) out[i] = cast<double>(values[i]);
    return out;
  });
}

}  // namespace quasar
