// Files that studies keep in a PostgreSQL database, and answers that processes share there.
#include <gtest/gtest.h>

#include "quasar/base/file.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/search/file_store.hpp"
#include "quasar/search/study.hpp"
#include "servers/postgresql.hpp"
#include "unit/error_of.hpp"

namespace quasar::search {
namespace {
using test::error_of;

struct StudyFiles : testing::Test {
  void SetUp() override {
    server = servers::Postgresql::start();
    if (!server) GTEST_SKIP() << "no PostgreSQL server can be started here";
    storage = open_storage(server->url());
    store = storage->sharing()->files();
    ASSERT_NE(store, nullptr);
  }
  FileToStore file(const std::string& name, const std::string& bytes) const {
    const std::string hash = hash_of(std::string_view(bytes));
    write_file(folder.path() / hash, bytes);
    return {.as = {.name = name, .hash = hash, .bytes = bytes.size()}, .place = folder.path() / hash};
  }
  std::string content(const StoredFile& of) const {
    const auto place = folder.path() / "fetched";
    store->fetch_file(of, place);
    return read_file(place);
  }
  StudyRecord study(const std::string& name) const { return storage->create(name, {Direction::minimize}); }

  std::unique_ptr<servers::Postgresql> server;
  std::unique_ptr<Storage> storage;
  FileStore* store = nullptr;
  TemporaryFolder folder;
};

// More than one piece of them, with every value of a byte.
std::string bytes_of(size_t count, size_t seed) {
  std::string out(count, '\0');
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<char>((i * 31 + i / 251 + seed) & 255);
  return out;
}

// Each question is one process's, in the order that it asks in; answers are everybody's.
TEST_F(StudyFiles, AnswersAreShared) {
  const StudyRecord one = study("one"), two = study("two");
  const auto other = open_storage(server->url());
  Answers &mine = *storage->sharing()->answers(), &theirs = *other->sharing()->answers();
  const std::vector<std::string> questions{"z", "a'\"", "m"};
  using Taken = std::vector<std::string>;
  EXPECT_EQ(mine.ask(one.id, questions).mine, Taken{"z"});
  EXPECT_EQ(theirs.ask(one.id, questions).mine, Taken{"a'\""});
  EXPECT_TRUE(theirs.ask(one.id, std::span(questions).first(2)).answers.empty());
  mine.answer(one.id, {{"z", {1.5, 1e-300}}, {"never asked", "b\"\\"}});
  mine.answer(one.id, {{"z", {2.5, true}}});  // too late
  const auto known = theirs.ask(one.id, questions);
  EXPECT_EQ(known.mine, Taken{"m"});
  ASSERT_EQ(known.answers.size(), 1U);
  EXPECT_EQ(known.answers.at("z"), Json({1.5, 1e-300}));
  EXPECT_EQ(theirs.ask(one.id, std::vector<std::string>{"never asked"}).answers.at("never asked"), "b\"\\");
  EXPECT_EQ(mine.ask(one.id, questions).mine, Taken()) << "all are taken";
  EXPECT_EQ(mine.ask(two.id, questions, 2).mine, (Taken{"z", "a'\""})) << "another study's";
  storage->remove(one);
  EXPECT_EQ(server->ask("SELECT COUNT(*) FROM quasar_answers"), "2\n");
}

TEST_F(StudyFiles, ComeBackByteByByte) {
  const StudyRecord one = study("one");
  EXPECT_TRUE(store->stored_files(one.id).empty());
  const std::string large = bytes_of(1'500'001, 0), exact = bytes_of(size_t{512} << 10, 3);
  const std::vector<FileToStore> files{file("a/large", large), file("a/exact", exact), file("b/empty", "")};
  store->store_files(one.id, files);
  const std::vector<StoredFile> there = store->stored_files(one.id);
  ASSERT_EQ(there.size(), 3U);
  EXPECT_EQ(there[0], files[1].as);
  EXPECT_EQ(content(there[0]), exact);
  EXPECT_EQ(content(there[1]), large);
  EXPECT_EQ(content(there[2]), "");
  store->store_files(one.id, {files[2]});  // from here on these, and no others
  EXPECT_EQ(store->stored_files(one.id).size(), 1U);
  EXPECT_EQ(server->ask("SELECT COUNT(*) FROM quasar_contents"), "0\n");
}

// What two studies have is there once, and goes with the last of them, also where Optuna deletes its studies' rows.
TEST_F(StudyFiles, StandOnceAndGoWithTheirStudies) {
  const StudyRecord one = study("one"), two = study("two"), three = study("three");
  const FileToStore shared = file("model", bytes_of(2000, 0)), own = file("samples", bytes_of(3000, 1));
  store->store_files(one.id, {shared, own});
  store->store_files(two.id, {shared});
  EXPECT_EQ(server->ask("SELECT COUNT(*) FROM quasar_contents"), "2\n");
  storage->remove(one);
  EXPECT_EQ(server->ask("SELECT COUNT(*) FROM quasar_contents"), "1\n");
  EXPECT_EQ(content(store->stored_files(two.id).front()), bytes_of(2000, 0));
  EXPECT_TRUE(server->run("DELETE FROM study_directions; DELETE FROM studies WHERE study_name = 'two'"));
  storage->remove(three);
  EXPECT_EQ(server->ask("SELECT COUNT(*) FROM quasar_files"), "0\n");
  EXPECT_EQ(server->ask("SELECT COUNT(*) FROM quasar_contents"), "0\n");
}

TEST_F(StudyFiles, WhatIsDamagedIsAnError) {
  const StudyRecord one = study("one");
  store->store_files(one.id, {file("model", bytes_of(1'200'000, 0))});
  const StoredFile model = store->stored_files(one.id).front();
  const auto error = [&] { return error_of([&] { content(store->stored_files(one.id).front()); }); };
  const std::string damaged = "the file 'model' of the study is damaged";
  EXPECT_TRUE(
      server->run("UPDATE quasar_contents SET bytes = overlay(bytes placing '\\x00ff00'::bytea from 100) WHERE piece = 1"));
  EXPECT_NE(error().find(damaged), std::string::npos) << error();  // another byte
  EXPECT_TRUE(server->run("UPDATE quasar_contents SET bytes = '\\x00' WHERE piece = 1"));
  EXPECT_NE(error().find(damaged), std::string::npos) << error();  // too few
  EXPECT_TRUE(server->run("DELETE FROM quasar_contents WHERE piece = 1"));
  EXPECT_NE(error().find(damaged), std::string::npos) << error();
  store->store_files(one.id, {file("model", bytes_of(1'200'000, 0))});  // whoever has the file mends it
  EXPECT_EQ(content(model), bytes_of(1'200'000, 0));
  EXPECT_TRUE(server->run("UPDATE quasar_files SET bytes = -1"));
  EXPECT_NE(error().find("has -1 bytes: it is damaged"), std::string::npos) << error();
}

TEST_F(StudyFiles, AFileThatIsNotAsItSays) {
  const StudyRecord one = study("one");
  FileToStore wrong = file("model", "four");
  wrong.as.bytes = 5;
  EXPECT_NE(error_of([&] { store->store_files(one.id, {wrong}); }).find("has become shorter"), std::string::npos);
  wrong.as = {.name = "model", .hash = hash_of(std::string_view("other")), .bytes = 4};
  EXPECT_NE(error_of([&] { store->store_files(one.id, {wrong}); }).find("has changed while it was stored"), std::string::npos);
  wrong.place = folder.path() / "absent";
  wrong.as.hash = hash_of(std::string_view("third"));
  EXPECT_NE(error_of([&] { store->store_files(one.id, {wrong}); }).find("absent"), std::string::npos);
}

}  // namespace
}  // namespace quasar::search
