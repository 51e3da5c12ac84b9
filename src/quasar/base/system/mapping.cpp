#include "quasar/base/system/mapping.hpp"

#ifdef _WIN32
#include <io.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <cerrno>
#include <cstdint>
#include <utility>

#include "quasar/base/system/windows.hpp"

namespace quasar {
namespace {

#ifdef _WIN32
const std::byte* mapped(int file, size_t size) {
  const HANDLE object =
      ::CreateFileMappingW(reinterpret_cast<HANDLE>(::_get_osfhandle(file)), nullptr, PAGE_READONLY, 0, 0, nullptr);
  void* const memory = object == nullptr ? nullptr : ::MapViewOfFile(object, FILE_MAP_READ, 0, 0, size);
  if (object != nullptr) ::CloseHandle(object);
  if (memory == nullptr) errno = ENOMEM;
  return static_cast<const std::byte*>(memory);
}

void unmap(const std::byte* bytes, size_t) {
  ::UnmapViewOfFile(bytes);
}
#else
const std::byte* mapped(int file, size_t size) {
  void* const memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<const std::byte*>(memory);
}

void unmap(const std::byte* bytes, size_t size) {
  ::munmap(const_cast<std::byte*>(bytes), size);
}
#endif

}  // namespace

Mapping::Mapping(const OpenFile& file, size_t size) {
  if (size == 0) return;
  bytes_ = mapped(file.number(), size);
  if (bytes_ != nullptr) size_ = size;
}

Mapping::~Mapping() {
  if (bytes_ != nullptr) unmap(bytes_, size_);
}

Mapping::Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(size_, other.size_);
  return *this;
}

void page_out([[maybe_unused]] std::span<const std::byte> bytes) {
#ifdef MADV_PAGEOUT
  constexpr size_t worth_it = size_t{1} << 20;
  if (bytes.size() < worth_it) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto last = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size()) / page * page;
  if (first < last)
    ::madvise(reinterpret_cast<void*>(first), last - first, MADV_PAGEOUT);  // advice: what it answers changes nothing
#endif
}

}  // namespace quasar
