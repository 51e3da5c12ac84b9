// Arrays with a type and a shape, whose bytes are shared and never change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quasar/base/api.hpp"

namespace quasar {

// ONNX's TensorProto.DataType, with its numbers.
enum class DataType : int {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
  uint2 = 25,
  int2 = 26
};

QUASAR_API std::string_view name_of(DataType type);  // "float32", "int8", …
QUASAR_API size_t bits_of(DataType type);            // 32, 8, 4, …; 0 for string and undefined

template <class T>
constexpr DataType type_of();
template <>
constexpr DataType type_of<float>() {
  return DataType::float32;
}
template <>
constexpr DataType type_of<double>() {
  return DataType::float64;
}
template <>
constexpr DataType type_of<int8_t>() {
  return DataType::int8;
}
template <>
constexpr DataType type_of<uint8_t>() {
  return DataType::uint8;
}
template <>
constexpr DataType type_of<int16_t>() {
  return DataType::int16;
}
template <>
constexpr DataType type_of<uint16_t>() {
  return DataType::uint16;
}
template <>
constexpr DataType type_of<int32_t>() {
  return DataType::int32;
}
template <>
constexpr DataType type_of<uint32_t>() {
  return DataType::uint32;
}
template <>
constexpr DataType type_of<int64_t>() {
  return DataType::int64;
}
template <>
constexpr DataType type_of<uint64_t>() {
  return DataType::uint64;
}
template <>
constexpr DataType type_of<bool>() {
  return DataType::boolean;
}

using Shape = std::vector<int64_t>;

QUASAR_API std::string to_string(const Shape& shape);     // "[1,3,128,128]"
QUASAR_API size_t count_of(const Shape& shape);           // number of elements; throws Error on negative sizes or overflow
QUASAR_API size_t bytes_of(DataType type, size_t count);  // packed: two 4-bit values share a byte

// A value: cheap to copy, its bytes are shared. 4-bit types are packed, low nibble first, as in ONNX.
class QUASAR_API Tensor {
 public:
  Tensor() = default;
  // Takes ownership of bytes kept alive by `owner` (an arena, a mapped file, a runtime's value).
  Tensor(DataType type, Shape shape, std::shared_ptr<const void> owner, const void* bytes);
  // An own copy of the values; their number must match the shape.
  template <class T>
  static Tensor of(Shape shape, std::span<const T> values) {
    return copy(type_of<T>(), std::move(shape), values.data(), values.size_bytes());
  }
  template <class T>
  static Tensor of(Shape shape, const std::vector<T>& values) {
    return of(std::move(shape), std::span<const T>(values));
  }
  template <class T>
  static Tensor scalar(T value) {
    return of<T>(Shape{}, std::span<const T>(&value, 1));
  }
  static Tensor copy(DataType type, Shape shape, const void* bytes, size_t size);
  static Tensor strings(Shape shape, std::vector<std::string> values);

  DataType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  size_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(bytes_), bytes_of(type_, count_)}; }
  const std::vector<std::string>& strings() const;

  // The elements; the type must be T's (asserted).
  template <class T>
  std::span<const T> as() const {
    check(type_of<T>());
    return {static_cast<const T*>(bytes_), count_};
  }

  Tensor reshaped(Shape shape) const;          // same bytes; the number of elements must match
  bool operator==(const Tensor& other) const;  // type, shape and bytes

 private:
  void check(DataType expected) const;
  DataType type_ = DataType::undefined;
  Shape shape_;
  size_t count_ = 0;
  std::shared_ptr<const void> owner_;
  const void* bytes_ = nullptr;
};

// Conversions between numeric types (saturating where the target is narrower); float16 and bfloat16 included. Throws Error
// for strings and complex numbers.
QUASAR_API Tensor converted(const Tensor& tensor, DataType type);

// The elements as doubles (any real type).
QUASAR_API std::vector<double> to_doubles(const Tensor& tensor);

}  // namespace quasar
