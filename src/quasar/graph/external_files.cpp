#include "quasar/graph/external_files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "quasar/base/error.hpp"
#include "quasar/base/printable.hpp"

namespace quasar::graph {
namespace fs = std::filesystem;

struct ExternalFiles::Mapping {
  explicit Mapping(const fs::path& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe is not waited for
    if (file < 0) throw Error("cannot open external data '" + path.string() + "': " + std::strerror(errno));
    struct stat status {};
    const bool regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    if (regular && status.st_size > 0) {
      size = static_cast<size_t>(status.st_size);
      void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
      bytes = mapped != MAP_FAILED ? static_cast<const std::byte*>(mapped) : nullptr;
    }
    ::close(file);
    if (!regular) throw Error("external data '" + path.string() + "' is not a file");
    if (size > 0 && bytes == nullptr) throw Error("cannot map external data '" + path.string() + "' into memory", Blame::world);
  }
  ~Mapping() {
    if (bytes != nullptr) ::munmap(const_cast<std::byte*>(bytes), size);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  const std::byte* bytes = nullptr;
  size_t size = 0;
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

std::shared_ptr<const ExternalFiles::Mapping> ExternalFiles::open(const std::string& location) {
  if (const auto found = files_.find(location); found != files_.end()) return found->second;
  return files_.emplace(location, std::make_shared<const Mapping>(path_of(location))).first->second;
}

Tensor ExternalFiles::read(DataType type, const Shape& shape, const ExternalPlace& place) {
  const size_t size = bytes_of(type, count_of(shape));
  const auto file = open(place.location);
  const std::string range = std::to_string(size) + " bytes of " + to_string(shape) + " " + std::string(name_of(type));
  if (place.length && *place.length != size) {
    throw Error("external data '" + place.location + "' is said to hold " + std::to_string(*place.length) + ", not the " + range);
  }
  if (place.offset > file->size || size > file->size - place.offset) {
    throw Error("external data '" + place.location + "' has " + std::to_string(file->size) + " bytes, too few for the " + range +
                " from byte " + std::to_string(place.offset));
  }
  const std::byte* bytes = file->bytes + place.offset;
  const size_t alignment = std::clamp<size_t>(bits_of(type) / 8, 1, 8);
  if (place.offset % alignment != 0) return Tensor::copy(type, shape, bytes, size);
  return {type, shape, file, bytes};
}

}  // namespace quasar::graph
