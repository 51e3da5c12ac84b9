// What base/system has of files, memory, libraries and dates; locks, processes, terminals and signals are tested where they are
// used.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "quasar/base/file.hpp"
#include "quasar/base/system/calendar.hpp"
#include "quasar/base/system/environment.hpp"
#include "quasar/base/system/file_facts.hpp"
#include "quasar/base/system/mapping.hpp"
#include "quasar/base/system/open_file.hpp"
#include "quasar/base/system/shared_library.hpp"

namespace quasar {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string read_at(const OpenFile& file, uint64_t offset, size_t size) {
  std::string out(size, '.');
  const int64_t count = file.read_at(offset, std::as_writable_bytes(std::span(out)));
  return count < 0 ? "failed" : out.substr(0, static_cast<size_t>(count));
}

TEST(OpenFile, ReadsFromAnyPlaceAndNoFurtherThanTheEnd) {
  const TemporaryFolder folder;
  write_file(folder.path() / "a", "0123456789");
  const OpenFile file(folder.path() / "a", OpenFile::For::reading);
  ASSERT_TRUE(file.is_open());
  EXPECT_EQ(file.size(), 10U);
  EXPECT_EQ(read_at(file, 3, 4), "3456");
  EXPECT_EQ(read_at(file, 8, 4), "89");
  EXPECT_EQ(read_at(file, 10, 4), "");
}

TEST(OpenFile, SaysWhyItIsNotOpen) {
  const TemporaryFolder folder;
  const OpenFile none(folder.path() / "none", OpenFile::For::reading);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(none.is_open());
  EXPECT_EQ(OpenFile(folder.path(), OpenFile::For::reading).size(), std::nullopt) << "a folder has no bytes";
}

TEST(OpenFile, IsMadeOrEmptiedForWriting) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a";
  for (const char* text : {"long before", "short"}) {
    OpenFile file(path, OpenFile::For::writing);
    EXPECT_TRUE(file.write(text));
    EXPECT_TRUE(file.flush());
    EXPECT_TRUE(file.close());
    EXPECT_FALSE(file.is_open());
    EXPECT_EQ(read_file(path), text);
  }
}

TEST(OpenFile, ScratchLeavesNoName) {
  const TemporaryFolder folder;
  const OpenFile file(folder.path(), OpenFile::For::scratch);
  EXPECT_TRUE(file.write_at(4, std::as_bytes(std::span("abc", 3))));
  EXPECT_EQ(read_at(file, 0, 9), std::string("\0\0\0\0abc", 7));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(OpenFile, BytesAreLockedForOneValueAtATime) {
  const TemporaryFolder folder;
  OpenFile one(folder.path() / "a", OpenFile::For::both);
  const OpenFile other(folder.path() / "a", OpenFile::For::both);
  EXPECT_EQ(one.lock(0, 128), true);
  EXPECT_EQ(one.lock(0, 128), true) << "its own";
  EXPECT_EQ(other.lock(0, 128), false);
  EXPECT_EQ(other.lock(128, 128), true) << "others are free";
  EXPECT_TRUE(one.close());
  EXPECT_EQ(other.lock(0, 128), true);
}

TEST(OpenFile, ACopyOutlivesTheFirst) {
  const TemporaryFolder folder;
  OpenFile first(folder.path() / "a", OpenFile::For::writing);
  const OpenFile second = OpenFile::same_as(first.number());
  EXPECT_NE(first.number(), second.number());
  EXPECT_TRUE(first.write("one, ") && first.close() && second.write("two"));
  EXPECT_EQ(read_file(folder.path() / "a"), "one, two");
}

TEST(Mapping, HoldsTheFileWhenThatIsClosed) {
  const TemporaryFolder folder;
  const std::string text(size_t{3} << 20, 'x');
  write_file(folder.path() / "a", text);
  OpenFile file(folder.path() / "a", OpenFile::For::reading);
  Mapping mapping(file, text.size());
  EXPECT_TRUE(file.close());
  const Mapping moved = std::move(mapping);
  EXPECT_FALSE(mapping.is_there());  // NOLINT(bugprone-use-after-move)
  page_out(moved.bytes());
  EXPECT_EQ(text_of(moved.bytes()), text);
  EXPECT_FALSE(Mapping(OpenFile(), 1).is_there());
}

TEST(SharedLibrary, ThatIsMissingIsNamed) {
  std::string why;
  EXPECT_EQ(open_library("libquasar-none.so", why), nullptr);
  EXPECT_NE(why.find("libquasar-none.so"), std::string::npos) << why;
}

TEST(FileFacts, TellFilesApart) {
  const TemporaryFolder folder;
  write_file(folder.path() / "a", "");
  write_file(folder.path() / "b", "");
  std::filesystem::create_symlink("a", folder.path() / "link");
  const auto of = [&](const char* name) { return file_identity(folder.path() / name); };
  ASSERT_TRUE(of("a"));
  EXPECT_NE(*of("a"), FileIdentity());
  EXPECT_EQ(of("a"), of("link"));
  EXPECT_NE(of("a"), of("b"));
  EXPECT_EQ(of("none"), FileIdentity());
  EXPECT_EQ(file_identity(OpenFile(folder.path() / "a", OpenFile::For::reading)), of("a"));
  EXPECT_TRUE(may_read(folder.path() / "a") && may_write(folder.path() / "a") && may_make_files_in(folder.path()));
  EXPECT_FALSE(may_read(folder.path() / "none") || may_make_files_in(folder.path() / "none"));
}

TEST(Calendar, OfAKnownSecond) {
  const std::tm utc = in_utc(951782400);  // 2000-02-29 00:00:00
  EXPECT_EQ((std::array{utc.tm_year, utc.tm_mon, utc.tm_mday, utc.tm_hour}), (std::array{100, 1, 29, 0}));
  std::tm local = in_local_time(951782400);
  EXPECT_EQ(std::mktime(&local), 951782400);
}

TEST(Environment, WhatTheUserHasSetStays) {
  const std::string name = "QUASAR_SYSTEM_TEST";
  set_unless_set(name, "first");
  set_unless_set(name, "second");
  EXPECT_STREQ(std::getenv(name.c_str()), "first");
}

}  // namespace
}  // namespace quasar
