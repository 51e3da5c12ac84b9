// NumPy's .npy format, versions 1 to 3 (numpy.lib.format). Objects (pickles) are refused, never executed.
#pragma once

#include <string>
#include <string_view>

#include "quasar/data/bytes.hpp"
#include "quasar/graph/tensor.hpp"

namespace quasar::data {

struct NpyHeader {
  DataType type = DataType::undefined;
  bool swapped = false;  // big-endian
  bool fortran = false;  // first axis varies fastest
  Shape shape;
  size_t offset = 0;  // of the first element
};

// Reads the header at the start of `bytes`. Throws Error that begins with `where`: not an npy file, cut short, a type that is
// not a real number's.
NpyHeader read_npy_header(const Bytes& bytes, const std::string& where);

// Throws Error that begins with `where` when there are fewer bytes than the header says.
void check_npy_size(const NpyHeader& header, const Bytes& bytes, const std::string& where);

// An array that is read row by row, a row being what one index on the first axis selects. Arrays in Fortran order are read
// and transposed as a whole at once.
class NpyArray {
 public:
  // Throws Error as read_npy_header, or when there are fewer bytes than the header says.
  NpyArray(BytesPtr bytes, std::string where);

  DataType type() const { return header_.type; }
  const Shape& shape() const { return header_.shape; }
  const std::string& where() const { return where_; }  // for messages: "'calib.npz', array 'x'"

  Tensor all() const;
  Tensor row(size_t index) const;  // [1, the other axes]; the array has at least one axis

 private:
  Tensor part(size_t first, Shape shape) const;
  BytesPtr bytes_;
  std::string where_;
  NpyHeader header_;
};

}  // namespace quasar::data
