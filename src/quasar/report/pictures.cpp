#include "quasar/report/pictures.hpp"

#include <string_view>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/tune/flips.hpp"

namespace quasar::report {
namespace fs = std::filesystem;
namespace {

// RFC 4648.
std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k) word = word << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k) out += i + k <= bytes.size() ? digits[word >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

// "" for what is no small JPEG file.
std::string small_jpeg(const fs::path& file) {
  constexpr uintmax_t most = 64 << 10;
  std::error_code code;
  const auto size = fs::file_size(file, code);
  if (code || size > most || !fs::is_regular_file(file, code)) return "";
  try {
    std::string bytes = read_file(file);
    return bytes.starts_with("\xff\xd8\xff") ? bytes : "";
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

Json pictures_of(const Json& result, const fs::path& output_dir) {
  constexpr size_t most = size_t{1} << 20;
  Json out = Json::object();
  size_t total = 0;
  const Json worst = result.value("/best/flips/worst"_json_pointer, Json::array());
  for (const auto& entry : worst) {
    if (!entry.is_object() || !entry.contains("sample")) continue;
    const fs::path named = entry.value("picture", std::string());
    if (named.empty()) continue;
    const std::string bytes = small_jpeg(output_dir / tune::worst_samples / named.filename());
    const size_t length = (bytes.size() + 2) / 3 * 4;
    if (bytes.empty() || total + length > most) continue;
    total += length;
    out[entry["sample"].dump()] = "data:image/jpeg;base64," + base64(bytes);
  }
  return out;
}

}  // namespace quasar::report
