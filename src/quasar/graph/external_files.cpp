#include "quasar/graph/external_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "quasar/base/error.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/base/system/mapping.hpp"

namespace quasar::graph {
namespace fs = std::filesystem;

struct ExternalFiles::File {
  explicit File(const fs::path& path) {
    const OpenFile file(path, OpenFile::For::reading);
    if (!file.is_open()) throw Error("cannot open external data '" + path.string() + "': " + std::strerror(errno));
    const auto size = file.size();
    if (!size) throw Error("external data '" + path.string() + "' is not a file");
    mapping = Mapping(file, *size);
    if (*size > 0 && !mapping.is_there())
      throw Error("cannot map external data '" + path.string() + "' into memory", Blame::world);
  }

  Mapping mapping;
};

namespace {

bool is_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

}  // namespace

fs::path ExternalFiles::path_of(const std::string& location) const {
  if (folder_.empty()) throw Error("external data '" + location + "' can only be read for a model that is a file");
  const fs::path relative(location);
  const bool climbs = std::find(relative.begin(), relative.end(), "..") != relative.end();
  if (location.empty() || relative.is_absolute() || climbs || location.find('\0') != std::string::npos) {
    throw Error("external data location '" + printable(location) + "' must be a relative path without '..'");
  }
  std::error_code code;
  const fs::path path = fs::weakly_canonical(folder_ / relative, code);
  if (code) throw Error("external data '" + location + "' cannot be found: " + code.message());
  if (!is_below(path, fs::canonical(folder_))) {
    throw Error("external data '" + location + "' is a link out of the model's folder, to '" + path.string() +
                "'; put the file itself there");
  }
  return path;
}

std::shared_ptr<const ExternalFiles::File> ExternalFiles::open(const std::string& location) {
  if (const auto found = files_.find(location); found != files_.end()) return found->second;
  return files_.emplace(location, std::make_shared<const File>(path_of(location))).first->second;
}

Tensor ExternalFiles::read(DataType type, const Shape& shape, const ExternalPlace& place) {
  const size_t size = bytes_of(type, count_of(shape));
  const auto file = open(place.location);
  const auto whole = file->mapping.bytes();
  const std::string range = std::to_string(size) + " bytes of " + to_string(shape) + " " + std::string(name_of(type));
  if (place.length && *place.length != size) {
    throw Error("external data '" + place.location + "' is said to hold " + std::to_string(*place.length) + ", not the " + range);
  }
  if (place.offset > whole.size() || size > whole.size() - place.offset) {
    throw Error("external data '" + place.location + "' has " + std::to_string(whole.size()) + " bytes, too few for the " +
                range + " from byte " + std::to_string(place.offset));
  }
  const std::byte* bytes = whole.data() + place.offset;
  const size_t alignment = std::clamp<size_t>(bits_of(type) / 8, 1, 8);
  if (place.offset % alignment != 0) return Tensor::copy(type, shape, bytes, size);
  return {type, shape, file, bytes};
}

}  // namespace quasar::graph
