#include "quasar/eval/output_store.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "quasar/base/error.hpp"

namespace quasar::eval {
namespace {

[[noreturn]] void fail(const std::filesystem::path& folder, int code) {
  throw Error("cannot keep the float model's outputs in '" + folder.string() + "': " + std::strerror(code), Blame::world);
}

}  // namespace

OutputStore::OutputStore(size_t samples, size_t memory_limit, std::filesystem::path folder)
    : limit_(memory_limit), folder_(std::move(folder)), kept_(samples), places_(samples) {
  if (folder_.empty()) folder_ = std::filesystem::temp_directory_path();
}

OutputStore::~OutputStore() {
  if (mapped_ != nullptr) ::munmap(const_cast<float*>(mapped_), end_ * sizeof(float));
  if (file_ >= 0) ::close(file_);
}

// A place at the end of the file, which is opened for the first one. It has no name any more once it is open, so that nothing
// is left behind, however the program ends.
size_t OutputStore::reserve(size_t count) {
  const std::lock_guard lock(guard_);
  if (file_ < 0) {
    std::error_code ignored;
    std::filesystem::create_directories(folder_, ignored);
    std::string pattern = (folder_ / "quasar-outputs-XXXXXX").string();
    file_ = ::mkostemp(pattern.data(), O_CLOEXEC);
    if (file_ < 0) fail(folder_, errno);
    ::unlink(pattern.c_str());
  }
  const size_t offset = end_;
  end_ += count;
  return offset;
}

void OutputStore::put(size_t sample, std::span<const float> values) {
  const size_t size = values.size_bytes();
  if (used_.fetch_add(size) + size <= limit_) {
    kept_[sample].assign(values.begin(), values.end());
    return;
  }
  used_ -= size;
  places_[sample] = {reserve(values.size()), values.size()};
  auto bytes = std::as_bytes(values);
  auto offset = static_cast<off_t>(places_[sample].offset * sizeof(float));
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(folder_, written < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += written;
  }
}

void OutputStore::finish() {
  if (end_ == 0) return;
  void* memory = ::mmap(nullptr, end_ * sizeof(float), PROT_READ, MAP_SHARED, file_, 0);
  if (memory == MAP_FAILED) fail(folder_, errno);
  mapped_ = static_cast<const float*>(memory);
}

std::span<const float> OutputStore::get(size_t sample) const {
  const Place& place = places_[sample];
  if (place.count > 0) return {mapped_ + place.offset, place.count};
  return kept_[sample];
}

}  // namespace quasar::eval
