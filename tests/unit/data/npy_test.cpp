#include "quasar/data/npy.hpp"

#include "files.hpp"

namespace quasar::data {
namespace {

NpyArray array_of(const std::string& bytes) {
  return {memory_bytes(bytes), "f.npy"};
}

std::string message_of(const std::string& bytes) {
  return error_of([&] { array_of(bytes); });
}

TEST(Npy, TypesShapesAndRows) {
  const NpyArray a = array_of(npy_text<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(a.type(), DataType::float32);
  EXPECT_EQ(a.all(), Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(a.row(1), Tensor::of<float>({1, 2}, {3, 4}));
  EXPECT_EQ(array_of(npy_text<int64_t>({2}, {-1, 1})).all(), Tensor::of<int64_t>({2}, {-1, 1}));
  EXPECT_EQ(array_of(npy_text<double>({}, {2.5})).all(), Tensor::scalar(2.5));
  EXPECT_EQ(array_of(npy_text("'|u1'", "(2,)", "ab")).all(), Tensor::of<uint8_t>({2}, {'a', 'b'}));
  EXPECT_EQ(array_of(npy_text("'|b1'", "(1,)", "\x01")).type(), DataType::boolean);
  EXPECT_EQ(array_of(npy_text("'<f2'", "(1,)", "ab")).type(), DataType::float16);
  EXPECT_EQ(array_of(npy_text<float>({0, 3}, {})).all().count(), 0U);
}

TEST(Npy, VersionTwoHasALongHeader) {
  const std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (1,)}\n";
  std::string bytes("\x93NUMPY\x02\x00", 8);
  bytes += static_cast<char>(header.size());
  bytes += std::string(3, '\0') + header + raw<int32_t>({7});
  EXPECT_EQ(array_of(bytes).all(), Tensor::of<int32_t>({1}, {7}));
}

TEST(Npy, FortranOrderIsTransposed) {
  // [[1,2,3],[4,5,6]] column by column.
  const NpyArray a = array_of(npy_text("'<f4'", "(2, 3)", raw<float>({1, 4, 2, 5, 3, 6}), true));
  EXPECT_EQ(a.all(), Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(a.row(1), Tensor::of<float>({1, 3}, {4, 5, 6}));
}

TEST(Npy, BigEndianIsSwapped) {
  EXPECT_EQ(array_of(npy_text("'>i2'", "(2,)", std::string("\x01\x02\xff\xff", 4))).all(), Tensor::of<int16_t>({2}, {0x102, -1}));
  const std::string pi("\x40\x49\x0f\xdb", 4);
  EXPECT_EQ(array_of(npy_text("'>f4'", "(1,)", pi)).row(0), Tensor::of<float>({1}, {3.14159274F}));
}

TEST(Npy, BadFilesAreNamed) {
  const std::string good = npy_text<float>({3, 2}, {1, 2, 3, 4, 5, 6});
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "is not a NumPy array"},
      {"hello, I am a text file", "is not a NumPy array"},
      {good.substr(0, 9), "is cut short inside its header"},
      {good.substr(0, 40), "is cut short inside its header"},
      {good.substr(0, good.size() - 1), "is cut short: [3,2] of float32 takes 24 bytes, 23 are there"},
      {npy_text("'|O'", "(1,)", "\x80\x04K\x01."), "Python objects (a pickle), which are never loaded"},
      {npy_text("[('a', '<f4')]", "(1,)", "abcd"), "records (structured types) cannot be read"},
      {npy_text("'<U5'", "(1,)", std::string(20, ' ')), "holds values of type '<U5'; numbers are needed"},
      {npy_text("'<c8'", "(1,)", std::string(8, ' ')), "holds values of type '<c8'"},
      {npy_text("'<f4'", "(-1,)", ""), "its header is damaged"},
      {npy_text("'<f4'", "(4294967296, 4294967296, 4294967296)", ""), "more"},
      {npy_text("'<f4'", "3", ""), "its header is damaged"},
      {npy_text("__import__('os')", "(1,)", "abcd"), "its header is damaged"},
      {std::string("\x93NUMPY\x09\x00\x10\x00  ", 12), "npy version 9"},
  };
  for (const auto& [bytes, part] : table) EXPECT_EQ(missing(message_of(bytes), {"f.npy: ", part}), "");
}

}  // namespace
}  // namespace quasar::data
