// JPEG by libjpeg-turbo.
#include <jerror.h>

#include "quasar/base/error.hpp"
#include "quasar/data/image.hpp"
#include "quasar/data/jpeg_errors.hpp"  // jerror.h needs jpeglib.h

namespace quasar::data::jpeg {
namespace {

// Data that ends too early is only a warning to libjpeg, which fills the rest with gray.
void warn(j_common_ptr info, int level) {
  if (level >= 0) return;
  if (info->err->msg_code == JWRN_JPEG_EOF || info->err->msg_code == JWRN_HIT_MARKER) fail(info);
}

// Each scan of a progressive picture goes over all of its pixels, and takes a few bytes of the file to ask for. Encoders write
// about ten.
constexpr int most_scans = 100;

void count_scans(j_common_ptr info) {
  const auto* decoder = reinterpret_cast<j_decompress_ptr>(info);
  if (decoder->input_scan_number <= most_scans) return;
  auto* errors = reinterpret_cast<Errors*>(info->err);
  std::snprintf(errors->text, sizeof(errors->text), "more than %d scans", most_scans);
  std::longjmp(errors->target, 1);
}

class Decoder {
 public:
  Decoder(const std::string& bytes, const std::string& where) : bytes_(bytes), where_(where) {
    info_.err = jumping(errors_);
    errors_.base.emit_message = warn;
    jpeg_create_decompress(&info_);
    progress_.progress_monitor = count_scans;
    info_.progress = &progress_;
    if (read_header()) return;
    free();  // what throws in its making is not destroyed
    give_up();
  }
  ~Decoder() { free(); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  Size size() const { return {info_.image_height, info_.image_width}; }

  Image image() {
    check_size(size(), where_);
    const bool four = info_.num_components == 4;
    Image out{info_.image_width, info_.image_height, four ? size_t{4} : size_t{3}, {}};
    out.pixels.resize(out.width * out.height * out.channels);
    info_.out_color_space = four ? JCS_CMYK : JCS_RGB;
    if (!read_rows(out.pixels.data(), out.width * out.channels)) give_up();
    return four ? from_cmyk(out) : out;
  }

 private:
  [[noreturn]] void give_up() const {
    throw Error(where_ + " is a damaged JPEG file, or is cut short: " + std::string(errors_.text));
  }

  void free() { jpeg_destroy_decompress(&info_); }

  bool read_header() {
    if (setjmp(errors_.target) != 0) return false;
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
    jpeg_read_header(&info_, TRUE);
    return true;
  }

  bool read_rows(uint8_t* out, size_t stride) {
    if (setjmp(errors_.target) != 0) return false;
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = out + info_.output_scanline * stride;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  // As PIL: white minus what cyan and black take; the files hold the complements, which is Adobe's convention.
  static Image from_cmyk(const Image& image) {
    Image out{image.width, image.height, 3, std::vector<uint8_t>(image.width * image.height * 3)};
    for (size_t i = 0; i < image.width * image.height; ++i) {
      uint32_t c[4];
      for (size_t k = 0; k < 4; ++k) c[k] = 255U - image.pixels[4 * i + k];
      const uint32_t white = 255 - c[3];
      for (size_t k = 0; k < 3; ++k) {
        const uint32_t product = c[k] * white + 128, taken = ((product >> 8) + product) >> 8;
        out.pixels[3 * i + k] = static_cast<uint8_t>(taken > white ? 0 : white - taken);
      }
    }
    return out;
  }

  const std::string& bytes_;
  const std::string& where_;
  jpeg_decompress_struct info_ = {};
  jpeg_progress_mgr progress_ = {};
  Errors errors_ = {};
};

}  // namespace

bool matches(const std::string& bytes) {
  return bytes.starts_with("\xff\xd8\xff");
}

Size size_of(const std::string& bytes, const std::string& where) {
  return Decoder(bytes, where).size();
}

Image decode(const std::string& bytes, const std::string& where) {
  return Decoder(bytes, where).image();
}

}  // namespace quasar::data::jpeg
