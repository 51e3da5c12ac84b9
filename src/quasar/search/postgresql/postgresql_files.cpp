#include "quasar/search/postgresql/postgresql_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/json.hpp"
#include "quasar/base/printable.hpp"
#include "quasar/base/system/open_file.hpp"
#include "quasar/search/postgresql/postgresql_statement.hpp"

namespace quasar::search {
namespace {

namespace fs = std::filesystem;

// So that heartbeats come between two pieces, also on a slow line, and a server never holds more than that of a file in memory.
constexpr uint64_t bytes_of_piece = uint64_t{512} << 10;

uint64_t pieces_of(uint64_t bytes) {
  return (bytes + bytes_of_piece - 1) / bytes_of_piece;
}

bool has_tables(soci::session& sql) {
  int count = 0;
  sql << "SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename IN ('quasar_files', "
         "'quasar_contents')",
      soci::into(count);
  return count == 2;
}

void make_tables(soci::session& sql) {
  if (has_tables(sql)) return;
  sql << "CREATE TABLE quasar_contents (hash VARCHAR(32) NOT NULL, piece INTEGER NOT NULL, bytes BYTEA NOT NULL, PRIMARY KEY "
         "(hash, piece))";
  sql << "CREATE TABLE quasar_files (study_id INTEGER NOT NULL REFERENCES studies (study_id) ON DELETE CASCADE, name TEXT NOT "
         "NULL, hash VARCHAR(32) NOT NULL, bytes BIGINT NOT NULL, PRIMARY KEY (study_id, name))";
}

// Contents that a process is about to send are named in quasar_files already.
void delete_unused(soci::session& sql) {
  sql << "DELETE FROM quasar_contents c WHERE NOT EXISTS (SELECT 1 FROM quasar_files f WHERE f.hash = c.hash)";
}

std::string cannot(const char* what, const fs::path& file) {
  return std::string("cannot ") + what + " '" + file.string() + "': " + std::strerror(errno);
}

std::string piece_of(const OpenFile& file, const FileToStore& of, uint64_t number) {
  const uint64_t begin = number * bytes_of_piece;
  std::string bytes(std::min(bytes_of_piece, of.as.bytes - begin), '\0');
  const int64_t read = file.read_at(begin, std::as_writable_bytes(std::span(bytes.data(), bytes.size())));
  if (read < 0) throw Error(cannot("read", of.place), blame_of(errno));
  if (std::cmp_not_equal(read, bytes.size())) throw Error("'" + of.place.string() + "' has become shorter while it was read");
  return bytes;
}

}  // namespace

std::vector<StoredFile> PostgresqlFiles::stored_files(int64_t study) {
  std::vector<StoredFile> out;
  with_([&](soci::session& sql) {
    out.clear();
    if (!has_tables(sql)) return;
    StoredFile one;
    long long bytes = 0;
    soci::statement rows = (sql.prepare << "SELECT name, hash, bytes FROM quasar_files WHERE study_id = :s ORDER BY name COLLATE "
                                           "\"C\"",
                            soci::use(study), soci::into(one.name), soci::into(one.hash), soci::into(bytes));
    rows.execute();
    while (rows.fetch()) {
      if (bytes < 0)
        throw Error("study database " + where_ + ": the file '" + printable_name(one.name) + "' of a study has " +
                        std::to_string(bytes) + " bytes: it is damaged",
                    Blame::world);
      one.bytes = static_cast<uint64_t>(bytes);
      out.push_back(one);
    }
  });
  return out;
}

void PostgresqlFiles::name_files(int64_t study, const std::vector<FileToStore>& files) {
  Json listed = Json::array();
  for (const auto& [as, place] : files) listed.push_back({as.name, as.hash, as.bytes});
  const std::string text = listed.dump();
  with_([&](soci::session& sql) {
    soci::transaction transaction(sql);
    sql << lock_;
    make_tables(sql);
    sql << "DELETE FROM quasar_files WHERE study_id = :s", soci::use(study);
    sql << "INSERT INTO quasar_files (study_id, name, hash, bytes) SELECT CAST(:s AS integer), e->>0, e->>1, CAST(e->>2 AS "
           "bigint) FROM json_array_elements(CAST(:f AS json)) AS f(e)",
        soci::use(study), soci::use(text);
    delete_unused(sql);
    transaction.commit();
  });
}

void PostgresqlFiles::send(const FileToStore& file) {
  const OpenFile open(file.place, OpenFile::For::reading);
  if (!open.is_open()) throw Error(cannot("read", file.place), blame_of(errno));
  for (uint64_t number = 0; number < pieces_of(file.as.bytes); ++number) {
    throw_if_cancelled();
    const std::string bytes = piece_of(open, file, number);
    with_([&](soci::session& sql) {
      ask_bytes(sql, "INSERT INTO quasar_contents (hash, piece, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                {{file.as.hash}, {std::to_string(number)}, {bytes, true}});
    });
  }
  if (hash_of_file(file.place) != file.as.hash)
    throw Error("'" + file.place.string() + "' has changed while it was stored in the study");
}

void PostgresqlFiles::store_files(int64_t study, const std::vector<FileToStore>& files) {
  name_files(study, files);
  std::map<std::string, uint64_t> there;  // hash -> pieces
  with_([&](soci::session& sql) {
    there.clear();
    std::string hash;
    long long pieces = 0;
    soci::statement rows =
        (sql.prepare << "SELECT c.hash, COUNT(*) FROM quasar_contents c WHERE c.hash IN (SELECT f.hash FROM quasar_files f "
                        "WHERE f.study_id = :s) GROUP BY c.hash",
         soci::use(study), soci::into(hash), soci::into(pieces));
    rows.execute();
    while (rows.fetch()) there[hash] = static_cast<uint64_t>(pieces);
  });
  for (const auto& file : files) {
    if (there[file.as.hash] >= pieces_of(file.as.bytes)) continue;
    send(file);
    there[file.as.hash] = pieces_of(file.as.bytes);
  }
}

void PostgresqlFiles::fetch_file(const StoredFile& file, const fs::path& place) {
  const auto damaged = [&] {
    return Error("study database " + where_ + ": the file '" + printable_name(file.name) + "' of the study is damaged",
                 Blame::world);
  };
  OpenFile out(place, OpenFile::For::writing);
  if (!out.is_open()) throw Error(cannot("write", place), Blame::world);
  for (uint64_t number = 0; number < pieces_of(file.bytes); ++number) {
    throw_if_cancelled();
    const uint64_t expected = std::min(bytes_of_piece, file.bytes - number * bytes_of_piece);
    with_([&](soci::session& sql) {
      const Answer piece = ask_bytes(sql, "SELECT bytes FROM quasar_contents WHERE hash = $1 AND piece = $2",
                                     {{file.hash}, {std::to_string(number)}});
      if (piece.rows() != 1 || piece.at(0, 0).size() != expected) throw damaged();
      if (!out.write(piece.at(0, 0))) throw Error(cannot("write", place), Blame::world);
    });
  }
  if (!out.close()) throw Error(cannot("write", place), Blame::world);
  if (hash_of_file(place) != file.hash) throw damaged();
}

void PostgresqlFiles::forget_unused() {
  with_([&](soci::session& sql) {
    if (!has_tables(sql)) return;
    soci::transaction transaction(sql);
    sql << lock_;
    delete_unused(sql);
    transaction.commit();
  });
}

}  // namespace quasar::search
