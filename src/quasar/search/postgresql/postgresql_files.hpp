// Files of studies in two tables beside Optuna's, which it does not look at: quasar_files says which study has which content, and
// quasar_contents holds these in pieces. The files of a study go with it, whoever deletes it; contents that nobody has any more,
// when Quasar stores or removes the next.
#pragma once

#include <soci/soci.h>

#include <functional>

#include "quasar/search/file_store.hpp"

namespace quasar::search {

class PostgresqlFiles final : public FileStore {
 public:
  // Calls what it is given with the connection, once it is this thread's, and again where that was lost.
  using WithConnection = std::function<void(const std::function<void(soci::session&)>&)>;

  // `lock`: a statement that keeps other processes out until the end of its transaction. `where`: the database, for messages.
  PostgresqlFiles(WithConnection with, std::string lock, std::string where)
      : with_(std::move(with)), lock_(std::move(lock)), where_(std::move(where)) {}

  std::vector<StoredFile> stored_files(int64_t study) override;
  void store_files(int64_t study, const std::vector<FileToStore>& files) override;
  void fetch_file(const StoredFile& file, const std::filesystem::path& place) override;

  // After a study was removed.
  void forget_unused();

 private:
  void name_files(int64_t study, const std::vector<FileToStore>& files);
  void send(const FileToStore& file);

  WithConnection with_;
  std::string lock_, where_;
};

}  // namespace quasar::search
