#include "quasar/studies/kept_files.hpp"

#include <gtest/gtest.h>

#include "quasar/base/file.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/search/file_store.hpp"
#include "quasar/studies/attributes.hpp"
#include "servers/postgresql.hpp"
#include "unit/error_of.hpp"

namespace quasar::tune {
namespace {
namespace fs = std::filesystem;
using test::error_of;

// A leader's folder and a worker's.
struct KeptFiles : testing::Test {
  void SetUp() override {
    server = servers::Postgresql::start();
    if (!server) GTEST_SKIP() << "no PostgreSQL server can be started here";
    storage = search::open_storage(server->url());
    fs::create_directories(leader.path() / "net");
    graph::save(graph::load(QUASAR_SOURCE_DIR "/examples/digits/digits.onnx"), leader.path() / "net/m.onnx",
                graph::ExternalData::always);
    write_file(leader.path() / "a.npz", std::string(300000, 'a'));
    job.base = leader.path();
    job.words = {{"model_input", "net/m.onnx"},
                 {"calib_data_reader", {{"path", "a.npz"}, {"limit", 3}}},
                 {"eval_data_reader", {{"path", "a.npz"}, {"limit", 3}}}};
    job.study.files_limit = 1 << 20;
    log = [this](Level, const std::string& text) { told += text + "\n"; };
  }
  // The study as it stands in the storage, with the files of the job.
  search::StudyRecord kept() {
    search::Study study(*storage, {.name = "one", .resume = true});
    keep_files(study, *storage, job, log);
    return storage->studies().front();
  }
  Json fetched(const search::StudyRecord& study, const std::set<std::string>& given = {}, const fs::path& base = "nowhere") {
    return with_kept_files(job.words, study, *storage->sharing()->files(),
                           {.given = given, .base = base, .folder = worker.path()}, log);
  }

  std::unique_ptr<servers::Postgresql> server;
  std::unique_ptr<search::Storage> storage;
  TemporaryFolder leader, worker;
  Job job;
  Log log;
  std::string told;
};

TEST_F(KeptFiles, AreFetchedWhereTheyAreNotThere) {
  ASSERT_TRUE(fs::exists(leader.path() / "net/m.onnx.data"));
  const search::StudyRecord study = kept();
  const Json words = fetched(study);
  for (const char* end : {"", ".data"}) {
    EXPECT_EQ(read_file(words["model_input"].get<std::string>() + end),
              read_file(leader.path() / ("net/m.onnx" + std::string(end))));
  }
  EXPECT_EQ(read_file(words["calib_data_reader"]["path"].get<std::string>()), std::string(300000, 'a'));
  EXPECT_EQ(words["calib_data_reader"], words["eval_data_reader"]);  // one source, also there
  EXPECT_EQ(words["calib_data_reader"]["limit"], 3);
  EXPECT_NE(told.find("from the study: model_input"), std::string::npos) << told;
}

TEST_F(KeptFiles, AreNotFetchedWhereTheyAreThereOrOthersAreGiven) {
  const search::StudyRecord study = kept();
  EXPECT_EQ(fetched(study, {}, leader.path()), job.words);
  EXPECT_EQ(fetched(study, {"model_input", "calib_data_reader", "eval_data_reader"}), job.words);
  EXPECT_TRUE(fs::is_empty(worker.path()));
  write_file(leader.path() / "a.npz", std::string(300000, 'b'));  // as large, and another
  const Json words = fetched(study, {}, leader.path());
  EXPECT_EQ(words["model_input"], job.words["model_input"]);
  EXPECT_EQ(read_file(words["eval_data_reader"]["path"].get<std::string>()), std::string(300000, 'a'));
}

TEST_F(KeptFiles, WhatIsTooLargeIsSaid) {
  job.study.files_limit = 200000;
  const search::StudyRecord study = kept();
  EXPECT_EQ(study.user_attributes[kept_attribute]["model_input"].contains("words"), true);
  EXPECT_EQ(why_not_kept(study.user_attributes, "calib_data_reader"),
            ", and the study does not keep it (0.3 MB, and study_files_limit is 0.2 MB in all)");
  EXPECT_EQ(why_not_kept(study.user_attributes, "model_input"), "");
  EXPECT_EQ(fetched(study)["calib_data_reader"], job.words["calib_data_reader"]);
  job.study.files_limit = 0;
  kept();
  EXPECT_EQ(server->ask("SELECT COUNT(*) FROM quasar_contents"), "0\n");
}

// Whoever can write to the database can have named files anywhere.
TEST_F(KeptFiles, NothingIsWrittenElsewhere) {
  search::StudyRecord study = kept();
  EXPECT_TRUE(server->run("UPDATE quasar_files SET name = 'model/../../outside' WHERE name LIKE 'model/%.onnx'"));
  EXPECT_NE(error_of([&] { fetched(study); }).find("would lie elsewhere: nothing is fetched"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(worker.path()));
  kept();
  for (const char* words : {"/etc/passwd", "model/../../outside", "model/absent", "samples/calib_data_reader/a.npz"}) {
    study.user_attributes[kept_attribute]["model_input"]["words"] = words;
    EXPECT_NE(error_of([&] { fetched(study); }).find("it keeps no file for"), std::string::npos) << words;
  }
  study.user_attributes[kept_attribute] = 3;
  EXPECT_EQ(fetched(study), job.words);
}

TEST_F(KeptFiles, ADatabaseThatTakesNoneIsAWarning) {
  EXPECT_TRUE(server->run("CREATE TABLE quasar_files (other INTEGER)"));
  const search::StudyRecord study = kept();
  EXPECT_NE(told.find("are not kept in the study, so that workers need them in files: "), std::string::npos) << told;
  EXPECT_EQ(why_not_kept(study.user_attributes, "model_input"), ", and the study does not keep it (it could not be stored)");
}

}  // namespace
}  // namespace quasar::tune
