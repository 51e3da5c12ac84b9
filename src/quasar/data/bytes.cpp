#include "quasar/data/bytes.hpp"

#include <cerrno>
#include <cstring>

#include "quasar/base/error.hpp"
#include "quasar/base/system/open_file.hpp"

namespace quasar::data {
namespace {

class File : public Bytes {
 public:
  explicit File(std::filesystem::path path) : path_(std::move(path)), file_(path_, OpenFile::For::reading) {
    if (!file_.is_open()) fail(errno);
    const auto size = file_.size();
    if (!size) throw Error("'" + path_.string() + "' is not a file");
    size_ = *size;
  }

  uint64_t size() const override { return size_; }

  void read(uint64_t offset, std::span<std::byte> out) const override {
    const int64_t count = file_.read_at(offset, out);
    if (count < 0) fail(errno);
    if (static_cast<size_t>(count) < out.size())
      throw Error("'" + path_.string() + "' became shorter while it was read", Blame::world);
  }

 private:
  [[noreturn]] void fail(int code) const {
    throw Error("cannot read '" + path_.string() + "': " + std::strerror(code), blame_of(code));
  }

  std::filesystem::path path_;
  OpenFile file_;
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
