// Small JPEG files by libjpeg-turbo.
#include <cstdlib>

#include "quasar/base/error.hpp"
#include "quasar/data/image.hpp"
#include "quasar/data/jpeg_errors.hpp"

namespace quasar::data::jpeg {
namespace {

class Encoder {
 public:
  explicit Encoder(const Image& image) : image_(image) {
    info_.err = jumping(errors_);
    jpeg_create_compress(&info_);
  }
  ~Encoder() {
    jpeg_destroy_compress(&info_);
    std::free(bytes_);
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  std::string bytes() {
    if (!write()) throw Error("a picture cannot be written as JPEG: " + std::string(errors_.text));
    return {reinterpret_cast<const char*>(bytes_), size_};
  }

 private:
  // Colours as finely as brightness where the picture is small.
  bool write() {
    constexpr int quality = 85, small = 64, quality_of_small = 95;
    const bool is_small = image_.width <= small && image_.height <= small;
    if (setjmp(errors_.target) != 0) return false;
    jpeg_mem_dest(&info_, &bytes_, &size_);
    info_.image_width = static_cast<JDIMENSION>(image_.width);
    info_.image_height = static_cast<JDIMENSION>(image_.height);
    info_.input_components = static_cast<int>(image_.channels);
    info_.in_color_space = image_.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&info_);
    jpeg_set_quality(&info_, is_small ? quality_of_small : quality, TRUE);
    info_.optimize_coding = TRUE;
    if (is_small) info_.comp_info[0].h_samp_factor = info_.comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(&info_, TRUE);
    while (info_.next_scanline < info_.image_height) {
      JSAMPROW row = const_cast<JSAMPROW>(&image_.pixels[info_.next_scanline * image_.width * image_.channels]);
      jpeg_write_scanlines(&info_, &row, 1);
    }
    jpeg_finish_compress(&info_);
    return true;
  }

  const Image& image_;
  jpeg_compress_struct info_ = {};
  Errors errors_ = {};
  unsigned char* bytes_ = nullptr;
  unsigned long size_ = 0;
};

}  // namespace

std::string encode(const Image& image) {
  return Encoder(image).bytes();
}

}  // namespace quasar::data::jpeg
