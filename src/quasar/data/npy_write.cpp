#include "quasar/data/npy_write.hpp"

#include <map>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"

namespace quasar::data {
namespace {

const std::map<DataType, std::string> descriptions{
    {DataType::float32, "<f4"}, {DataType::float64, "<f8"}, {DataType::float16, "<f2"}, {DataType::int8, "|i1"},
    {DataType::uint8, "|u1"},   {DataType::int16, "<i2"},   {DataType::uint16, "<u2"},  {DataType::int32, "<i4"},
    {DataType::uint32, "<u4"},  {DataType::int64, "<i8"},   {DataType::uint64, "<u8"},  {DataType::boolean, "|b1"}};

// The header's length is a multiple of 64 with its line end.
std::string header_of(const std::string& description, const Shape& shape) {
  std::string text = "{'descr': '" + description + "', 'fortran_order': False, 'shape': (";
  for (const int64_t size : shape) text += std::to_string(size) + ",";
  text += "), }";
  constexpr size_t before = 10;  // magic, version, length
  text += std::string((64 - (before + text.size() + 1) % 64) % 64, ' ') + "\n";
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(text.size() & 0xff);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

}  // namespace

void write_npy(const std::filesystem::path& file, const Tensor& given) {
  const Tensor array = given.type() == DataType::bfloat16 ? converted(given, DataType::float32) : given;
  const auto found = descriptions.find(array.type());
  if (found == descriptions.end())
    throw Error("'" + file.string() + "': a .npy file cannot hold values of type " + std::string(name_of(array.type())));
  std::string bytes = header_of(found->second, array.shape());
  bytes.append(reinterpret_cast<const char*>(array.bytes().data()), array.bytes().size());
  write_file(file, bytes);
}

}  // namespace quasar::data
