// PNG by libpng. Its errors jump; no frame between the jump and its target holds anything to destroy.
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "quasar/base/error.hpp"
#include "quasar/data/image.hpp"

namespace quasar::data::png {
namespace {

class Decoder {
 public:
  Decoder(const std::string& bytes, const std::string& where) : bytes_(bytes), where_(where) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, fail, [](png_structp, png_const_charp) {});
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ != nullptr && read_header()) return;
    free();  // what throws in its making is not destroyed
    give_up();
  }
  ~Decoder() { free(); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  Size size() const { return {png_get_image_height(png_, info_), png_get_image_width(png_, info_)}; }

  Image image() {
    const auto [height, width] = size();
    check_size({height, width}, where_);
    Image out{width, height, 3, std::vector<uint8_t>(width * height * 3)};
    std::vector<png_bytep> rows;
    for (size_t y = 0; y < height; ++y) rows.push_back(&out.pixels[y * width * 3]);
    if (!read_rows(rows.data(), width * 3)) give_up();
    return out;
  }

 private:
  [[noreturn]] void give_up() const { throw Error(where_ + " is a damaged PNG file, or is cut short: " + std::string(text_)); }

  [[noreturn]] static void fail(png_structp png, png_const_charp message) {
    auto* self = static_cast<Decoder*>(png_get_error_ptr(png));
    std::strncpy(self->text_, message, sizeof(self->text_) - 1);
    std::longjmp(self->target_, 1);
  }

  static void read(png_structp png, png_bytep out, size_t count) {
    auto* self = static_cast<Decoder*>(png_get_io_ptr(png));
    if (count > self->bytes_.size() - self->at_) png_error(png, "the file ends too early");
    std::memcpy(out, self->bytes_.data() + self->at_, count);
    self->at_ += count;
  }

  void free() { png_destroy_read_struct(&png_, &info_, nullptr); }

  bool read_header() {
    if (setjmp(target_) != 0) return false;
    png_set_read_fn(png_, this, read);
    png_read_info(png_, info_);
    return true;
  }

  bool read_rows(png_bytepp rows, size_t stride) {
    if (setjmp(target_) != 0) return false;
    png_set_expand(png_);  // palettes, 1 to 4 bits
    png_set_strip_16(png_);
    png_set_strip_alpha(png_);
    png_set_gray_to_rgb(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != stride) png_error(png_, "its rows are not 8 bits of red, green and blue");
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

  const std::string& bytes_;
  const std::string& where_;
  size_t at_ = 0;
  std::jmp_buf target_ = {};
  char text_[200] = {};
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

}  // namespace

bool matches(const std::string& bytes) {
  return bytes.starts_with("\x89PNG\r\n\x1a\n");
}

Size size_of(const std::string& bytes, const std::string& where) {
  return Decoder(bytes, where).size();
}

Image decode(const std::string& bytes, const std::string& where) {
  return Decoder(bytes, where).image();
}

}  // namespace quasar::data::png
