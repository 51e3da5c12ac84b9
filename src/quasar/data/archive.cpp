#include "quasar/data/archive.hpp"

#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/machine.hpp"

namespace quasar::data {

constexpr uint64_t greatest_ratio = 1032;      // deflate cannot pack better
constexpr uint64_t most_checked = 1ULL << 30;  // bytes; about a second

// libzip's archives are not thread-safe: one lock per archive.
struct ArchiveHandle {
  std::filesystem::path path;
  uint64_t bytes = 0;  // of the file
  zip_t* zip = nullptr;
  std::mutex guard = {};

  ~ArchiveHandle() {
    if (zip != nullptr) zip_discard(zip);
  }

  [[noreturn]] void fail(const std::string& member, const std::string& why) const {
    throw Error("'" + path.string() + "', member '" + member + "' cannot be read: " + why);
  }

  zip_stat_t info(const std::string& member) const {
    zip_stat_t info;
    if (zip_stat(zip, member.c_str(), 0, &info) != 0) fail(member, zip_strerror(zip));
    constexpr auto needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if ((info.valid & needed) != needed) fail(member, "its size is not known");
    const bool stored = info.comp_method == ZIP_CM_STORE;  // deflate: a member that claims to be larger is damaged
    const bool fits = stored ? info.size == info.comp_size : info.size / greatest_ratio <= info.comp_size + 1;
    if (!fits || info.comp_size > bytes) fail(member, "its size is wrong");
    return info;
  }

  zip_file_t* open(const std::string& member) const {
    zip_file_t* file = zip_fopen(zip, member.c_str(), 0);
    if (file == nullptr) fail(member, zip_strerror(zip));
    return file;
  }

  void read(zip_file_t* file, const std::string& member, std::span<std::byte> out) const {
    while (!out.empty()) {
      const zip_int64_t count = zip_fread(file, out.data(), out.size());
      if (count < 0) fail(member, zip_file_strerror(file));
      if (count == 0) fail(member, "it is cut short");
      out = out.subspan(static_cast<size_t>(count));
    }
  }

  // Reading past the end is what makes libzip compare the check sum.
  void check_end(zip_file_t* file, const std::string& member) const {
    char beyond = 0;
    const zip_int64_t more = zip_fread(file, &beyond, 1);
    if (more != 0) fail(member, more < 0 ? zip_file_strerror(file) : "it is damaged");
  }
};

namespace {

class StoredMember : public Bytes {
 public:
  StoredMember(std::shared_ptr<ArchiveHandle> handle, std::string name)
      : handle_(std::move(handle)), name_(std::move(name)), size_(handle_->info(name_).size), file_(handle_->open(name_)) {}
  ~StoredMember() override {
    const std::lock_guard lock(handle_->guard);
    zip_fclose(file_);
  }
  StoredMember(const StoredMember&) = delete;
  StoredMember& operator=(const StoredMember&) = delete;

  uint64_t size() const override { return size_; }

  void read(uint64_t offset, std::span<std::byte> out) const override {
    if (out.empty()) return;  // libzip 1.7 crashes on a seek in an empty member
    const std::lock_guard lock(handle_->guard);
    if (zip_fseek(file_, static_cast<zip_int64_t>(offset), SEEK_SET) != 0) handle_->fail(name_, zip_file_strerror(file_));
    handle_->read(file_, name_, out);
  }

 private:
  std::shared_ptr<ArchiveHandle> handle_;
  std::string name_;
  uint64_t size_;
  zip_file_t* file_;
};

using FilePtr = std::unique_ptr<zip_file_t, int (*)(zip_file_t*)>;

void check_stored(const ArchiveHandle& handle, const std::string& name, uint64_t size) {
  const FilePtr file(handle.open(name), zip_fclose);
  std::vector<std::byte> piece(size_t{1} << 18);
  for (uint64_t left = size; left > 0;) {
    const auto count = static_cast<size_t>(std::min<uint64_t>(left, piece.size()));
    handle.read(file.get(), name, std::span(piece).first(count));
    left -= count;
  }
  handle.check_end(file.get(), name);
}

}  // namespace

Archive::Archive(const std::filesystem::path& path) : handle_(std::make_shared<ArchiveHandle>()) {
  handle_->path = path;
  if (std::filesystem::is_directory(path)) throw Error("'" + path.string() + "' is a folder, not a zip archive");
  if (is_pipe(path)) throw Error("'" + path.string() + "' is a pipe, not a zip archive");
  int code = 0;
  handle_->zip = zip_open(path.string().c_str(), ZIP_RDONLY, &code);
  if (handle_->zip == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string why = code == ZIP_ER_NOENT ? std::strerror(ENOENT) : zip_error_strerror(&error);
    zip_error_fini(&error);
    const bool foreign = code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS;
    throw Error("cannot read '" + path.string() + "': " + (foreign ? "not a zip archive, or cut short" : why));
  }
  handle_->bytes = std::filesystem::file_size(path);
  const zip_int64_t count = zip_get_num_entries(handle_->zip, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    if (const char* name = zip_get_name(handle_->zip, static_cast<zip_uint64_t>(i), 0)) names_.emplace_back(name);
  }
  auto sorted = names_;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    throw Error("'" + path.string() + "' has two members of the name '" + *twice + "'");
}

BytesPtr Archive::open(const std::string& name) const {
  const std::unique_lock lock(handle_->guard);
  const zip_stat_t info = handle_->info(name);
  if (info.comp_method == ZIP_CM_STORE) {
    if (info.size <= most_checked) check_stored(*handle_, name, info.size);
    return std::make_shared<StoredMember>(handle_, name);
  }
  check_memory(info.size, "'" + handle_->path.string() + "', member '" + name + "'");
  std::string bytes(info.size, '\0');
  const FilePtr file(handle_->open(name), zip_fclose);
  handle_->read(file.get(), name, std::as_writable_bytes(std::span(bytes)));
  handle_->check_end(file.get(), name);
  return memory_bytes(std::move(bytes));
}

}  // namespace quasar::data
