#include "quasar/data/npy.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <numeric>

#include "quasar/base/error.hpp"
#include "quasar/data/permute.hpp"

namespace quasar::data {
namespace {

static_assert(std::endian::native == std::endian::little);

// The header is a Python dictionary with three known keys; this reads just such a one.
class HeaderText {
 public:
  HeaderText(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  NpyHeader read() {
    NpyHeader header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = text();
      expect(':');
      if (key == "descr") {
        read_type(header);
        descr = true;
      } else if (key == "fortran_order") {
        header.fortran = boolean();
        order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        shape = true;
      } else {
        fail("its header has the unknown key '" + key + "'");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!descr || !order || !shape) fail("its header is not complete");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(where_ + ": " + what); }

  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n\t"), rest_.size())); }

  bool accept(char c) {
    skip();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!accept(c)) fail("its header is damaged");
  }

  std::string text() {
    skip();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) fail("its header is damaged");
    const size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) fail("its header is damaged");
    const std::string out(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return out;
  }

  bool boolean() {
    skip();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      return value;
    }
    fail("its header is damaged");
  }

  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      skip();
      int64_t size = 0;
      const auto [end, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (code != std::errc{} || size < 0) fail("its header is damaged");
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      shape.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  void read_type(NpyHeader& header) {
    static const std::map<std::string, DataType, std::less<>> types = {
        {"b1", DataType::boolean}, {"i1", DataType::int8},    {"u1", DataType::uint8},   {"i2", DataType::int16},
        {"u2", DataType::uint16},  {"i4", DataType::int32},   {"u4", DataType::uint32},  {"i8", DataType::int64},
        {"u8", DataType::uint64},  {"f2", DataType::float16}, {"f4", DataType::float32}, {"f8", DataType::float64}};
    skip();
    if (rest_.starts_with('[')) fail("records (structured types) cannot be read; store one array per field");
    const std::string descr = text();
    const bool marked = !descr.empty() && std::string_view("<>=|").find(descr[0]) != std::string_view::npos;
    const std::string kind = descr.substr(marked ? 1 : 0);
    if (kind.starts_with('O')) fail("holds Python objects (a pickle), which are never loaded; store an array of numbers");
    const auto found = types.find(kind);
    if (found == types.end()) fail("holds values of type '" + descr + "'; numbers are needed (float, integer or bool)");
    header.type = found->second;
    header.swapped = marked && descr[0] == '>' && bits_of(header.type) > 8;
  }

  std::string_view rest_;
  const std::string& where_;
};

template <class T>
void swap_each(std::byte* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) std::reverse(bytes + i * sizeof(T), bytes + (i + 1) * sizeof(T));
}

void swap_bytes(std::byte* bytes, DataType type, size_t count) {
  if (bits_of(type) == 16) swap_each<uint16_t>(bytes, count);
  if (bits_of(type) == 32) swap_each<uint32_t>(bytes, count);
  if (bits_of(type) == 64) swap_each<uint64_t>(bytes, count);
}

}  // namespace

NpyHeader read_npy_header(const Bytes& bytes, const std::string& where) {
  constexpr size_t magic_size = 8;
  std::string start(std::min<uint64_t>(bytes.size(), magic_size + 4), '\0');
  bytes.read(0, std::as_writable_bytes(std::span(start)));
  if (!start.starts_with("\x93NUMPY")) throw Error(where + ": is not a NumPy array (.npy)");
  if (start.size() < magic_size + 4) throw Error(where + ": is cut short inside its header");
  const auto byte_at = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(start[i])); };
  const size_t version = byte_at(6);
  if (version < 1 || version > 3) throw Error(where + ": has npy version " + std::to_string(version) + "; 1 to 3 can be read");
  const size_t width = version == 1 ? 2 : 4;
  size_t length = 0;
  for (size_t i = 0; i < width; ++i) length |= byte_at(magic_size + i) << (8 * i);
  const size_t offset = magic_size + width + length;
  if (offset > bytes.size()) throw Error(where + ": is cut short inside its header");
  std::string text(length, '\0');
  bytes.read(magic_size + width, std::as_writable_bytes(std::span(text)));
  NpyHeader header = HeaderText(text, where).read();
  header.offset = offset;
  try {
    bytes_of(header.type, count_of(header.shape));
  } catch (const Error& e) {
    throw Error(where + ": " + e.what());
  }
  return header;
}

void check_npy_size(const NpyHeader& header, const Bytes& bytes, const std::string& where) {
  const size_t expected = bytes_of(header.type, count_of(header.shape));
  const uint64_t found = bytes.size() - header.offset;
  if (found >= expected) return;
  throw Error(where + ": is cut short: " + to_string(header.shape) + " of " + std::string(name_of(header.type)) + " takes " +
              std::to_string(expected) + " bytes, " + std::to_string(found) + " are there");
}

NpyArray::NpyArray(BytesPtr bytes, std::string where)
    : bytes_(std::move(bytes)), where_(std::move(where)), header_(read_npy_header(*bytes_, where_)) {
  check_npy_size(header_, *bytes_, where_);
  if (!header_.fortran || header_.shape.size() < 2) return;
  const Shape shape = header_.shape;
  std::vector<size_t> backwards(shape.size());
  std::iota(backwards.rbegin(), backwards.rend(), size_t{0});
  const Tensor turned = permuted(part(0, Shape(shape.rbegin(), shape.rend())), backwards);
  const auto data = turned.bytes();
  bytes_ = memory_bytes(std::string(reinterpret_cast<const char*>(data.data()), data.size()));
  header_ = {header_.type, false, false, shape, 0};
}

Tensor NpyArray::all() const {
  return part(0, header_.shape);
}

Tensor NpyArray::row(size_t index) const {
  Shape shape = header_.shape;
  shape[0] = 1;
  return part(index * count_of(shape), shape);
}

Tensor NpyArray::part(size_t first, Shape shape) const {
  const size_t count = count_of(shape), size = bytes_of(header_.type, count);
  const std::shared_ptr<std::byte[]> memory(new std::byte[size]);
  bytes_->read(header_.offset + bytes_of(header_.type, first), {memory.get(), size});
  if (header_.swapped) swap_bytes(memory.get(), header_.type, count);
  return {header_.type, std::move(shape), memory, memory.get()};
}

}  // namespace quasar::data
