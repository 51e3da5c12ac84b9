#include "quasar/eval/output_store.hpp"

#include <cerrno>
#include <cstring>

#include "quasar/base/error.hpp"

namespace quasar::eval {
namespace {

[[noreturn]] void fail(const std::filesystem::path& folder, int code) {
  throw Error("cannot keep the float model's outputs in '" + folder.string() + "': " + std::strerror(code),
              blame_of_writing(code));
}

}  // namespace

OutputStore::OutputStore(size_t samples, size_t memory_limit, std::filesystem::path folder)
    : limit_(memory_limit), folder_(std::move(folder)), kept_(samples), places_(samples) {
  if (folder_.empty()) folder_ = std::filesystem::temp_directory_path();
}

// A place at the end of the file, which is opened for the first one.
size_t OutputStore::reserve(size_t count) {
  const std::lock_guard lock(guard_);
  if (!file_.is_open()) {
    std::error_code ignored;
    std::filesystem::create_directories(folder_, ignored);
    file_ = OpenFile(folder_, OpenFile::For::scratch);
    if (!file_.is_open()) fail(folder_, errno);
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
  if (!file_.write_at(places_[sample].offset * sizeof(float), std::as_bytes(values))) fail(folder_, errno);
}

void OutputStore::finish() {
  if (end_ == 0) return;
  mapping_ = Mapping(file_, end_ * sizeof(float));
  if (!mapping_.is_there()) fail(folder_, errno);
}

std::span<const float> OutputStore::get(size_t sample) const {
  const Place& place = places_[sample];
  if (place.count > 0) return {reinterpret_cast<const float*>(mapping_.bytes().data()) + place.offset, place.count};
  return kept_[sample];
}

}  // namespace quasar::eval
