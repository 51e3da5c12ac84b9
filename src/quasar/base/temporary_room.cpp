#include "quasar/base/temporary_room.hpp"

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"

namespace quasar {

void require_temporary_room() try {
  const TemporaryFolder folder;
  write_file(folder.path() / "room", std::string(4096, ' '));
} catch (const std::filesystem::filesystem_error& e) {
  throw Error(std::string("cannot use the folder of temporary files: ") + e.what(), Blame::world);
}

}  // namespace quasar
