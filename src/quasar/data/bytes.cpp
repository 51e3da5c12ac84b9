#include "quasar/data/bytes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "quasar/base/error.hpp"

namespace quasar::data {
namespace {

class File : public Bytes {
 public:
  explicit File(std::filesystem::path path)
      : path_(std::move(path)), file_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat info {};
    if (file_ < 0 || ::fstat(file_, &info) != 0) fail(errno);
    if (!S_ISREG(info.st_mode)) {
      ::close(file_);
      throw Error("'" + path_.string() + "' is not a file");
    }
    size_ = static_cast<uint64_t>(info.st_size);
  }
  ~File() override { ::close(file_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  uint64_t size() const override { return size_; }

  void read(uint64_t offset, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const ssize_t count = ::pread(file_, out.data(), out.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail(errno);
      if (count == 0) throw Error("'" + path_.string() + "' became shorter while it was read", Blame::world);
      offset += static_cast<uint64_t>(count);
      out = out.subspan(static_cast<size_t>(count));
    }
  }

 private:
  [[noreturn]] void fail(int code) const {
    throw Error("cannot read '" + path_.string() + "': " + std::strerror(code), blame_of(code));
  }

  std::filesystem::path path_;
  int file_;
  uint64_t size_ = 0;
};

class Memory : public Bytes {
 public:
  explicit Memory(std::string bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_.size(); }
  void read(uint64_t offset, std::span<std::byte> out) const override {
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }

 private:
  std::string bytes_;
};

}  // namespace

BytesPtr file_bytes(const std::filesystem::path& path) {
  return std::make_shared<File>(path);
}

BytesPtr memory_bytes(std::string bytes) {
  return std::make_shared<Memory>(std::move(bytes));
}

}  // namespace quasar::data
