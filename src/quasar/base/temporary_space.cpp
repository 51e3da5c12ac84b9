#include "quasar/base/temporary_space.hpp"

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"

namespace quasar {

namespace {

[[noreturn]] void unusable(const std::exception& e, Blame blame) {
  throw Error(std::string("cannot use the folder of temporary files (TMPDIR): ") + e.what(), blame);
}

}  // namespace

void require_temporary_space() try {
  const TemporaryFolder folder;
  write_file(folder.path() / "room", std::string(size_t{64} << 10, ' '));
} catch (const std::filesystem::filesystem_error& e) {
  unusable(e, blame_of_writing(e.code().value()));
} catch (const Error& e) {
  unusable(e, e.blame());
}

}  // namespace quasar
