// What a hostile model, data file or configuration cannot do (docs/security.md): one test per sentence.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "e2e/program.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/search/run.hpp"
#include "servers/postgresql.hpp"

namespace quasar::e2e {
namespace {
namespace fs = std::filesystem;

struct Security : testing::Test {
  // A search of two trials with these words besides.
  Ran search(const fs::path& model, Json words = Json::object(), const std::string& more = "") const {
    const auto reader = [](const char* file) { return Json{{"reader", "npz"}, {"path", digits(file)}, {"labels", "label"}}; };
    Json all{{"model_input", model.string()},
             {"calib_data_reader", reader("calibration.npz")},
             {"eval_data_reader", reader("evaluation.npz")},
             {"output_dir", out.string()},
             {"least_agreement", 0},
             {"search_space",
              {{"activation", {"UInt8Spec"}},
               {"weight", {"Int8Spec"}},
               {"activation_params", {{"symmetric", {true, false}}, {"only_if", "activation"}}}}}};
    all.update(words);
    write_file(folder.path() / "search.json", all.dump());
    return run("search " + (folder.path() / "search.json").string() + " " + more);
  }

  // The digits model with its weights in a file beside it whose name has as many letters as `name`, then said to be called
  // `name`.
  fs::path with_external_data_at(const std::string& name) const {
    const fs::path place = folder.path() / "model";
    fs::create_directories(place);
    const std::string honest = std::string(name.size() - 5, 'w') + ".data";
    const fs::path saved = place / honest.substr(0, honest.size() - 5);
    graph::save(graph::load(digits("digits.onnx")), saved, graph::ExternalData::always);
    std::string bytes = read_file(saved);
    size_t found = 0;
    for (size_t at = bytes.find(honest); at != std::string::npos; at = bytes.find(honest, at + 1), ++found)
      bytes.replace(at, name.size(), name);
    EXPECT_GT(found, 0U);
    const fs::path model = place / "model.onnx";
    write_file(model, bytes);
    return model;
  }

  TemporaryFolder folder;
  fs::path out = folder.path() / "out";
};

TEST_F(Security, ExternalDataStaysInTheModelsFolder) {
  const std::string secret = (folder.path() / "secret.data").string();
  write_file(secret, std::string(1 << 20, 'x'));
  for (const std::string& name : {std::string("../secret.data"), std::string("a/../../secret.data"), secret}) {
    const Ran ran = search(with_external_data_at(name));
    EXPECT_EQ(ran.code, 1) << name;
    EXPECT_NE(ran.err.find("must be a relative path without '..'"), std::string::npos) << ran.err;
    EXPECT_FALSE(fs::exists(out / "best.onnx"));
  }
  // A link in the model's folder leads out of it: to the file, or to its folder.
  const fs::path linked = with_external_data_at("a_link.data");
  fs::create_symlink(secret, linked.parent_path() / "a_link.data");
  EXPECT_NE(search(linked).err.find("is a link out of the model's folder"), std::string::npos);
  const fs::path below = with_external_data_at("folder/secret.data");
  fs::create_directory_symlink(folder.path(), below.parent_path() / "folder");
  EXPECT_NE(search(below).err.find("is a link out of the model's folder"), std::string::npos);
}

// Archives are read in place: no member is ever written anywhere, whatever it is called.
// ONNX Runtime's packages record sessions below ~/.cache and send that to Microsoft, unless CI is set.
TEST_F(Security, NothingIsRecordedForOthers) {
  const fs::path home = folder.path() / "home";
  fs::create_directories(home);
  const Ran ran =
      run("inspect " + digits("digits.onnx"), "env -u CI -u ORT_DISABLE_TELEMETRY -u XDG_CACHE_HOME HOME=" + home.string());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(fs::is_empty(home));
}

TEST_F(Security, NamesInArchivesAreOnlyNames) {
  const fs::path victim = folder.path() / "victim.npy";
  const std::string script = R"(import sys, zipfile, io, struct
data = zipfile.ZipFile(sys.argv[1])
with zipfile.ZipFile(sys.argv[2], "w") as out:
    for name in data.namelist():
        out.writestr(name, data.read(name))
    for name in ["../victim.npy", "../../victim.npy", sys.argv[3], "a/../../victim.npy", "victim.npy/"]:
        out.writestr(name, data.read(data.namelist()[0]))
)";
  write_file(folder.path() / "make.py", script);
  fs::create_directories(folder.path() / "data");
  const fs::path hostile = folder.path() / "data" / "hostile.npz";
  const std::string make = "python3 " + (folder.path() / "make.py").string() + " " + digits("calibration.npz") + " " +
                           hostile.string() + " " + victim.string();
  if (std::system((make + " 2> /dev/null").c_str()) != 0) GTEST_SKIP() << "no Python to make the archive";
  std::set<fs::path> before;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) before.insert(entry.path());
  const Ran ran = search(digits("digits.onnx"), {{"calib_data_reader", {{"reader", "npz"}, {"path", hostile.string()}}}});
  EXPECT_TRUE(ran.code == 0 || ran.code == 1) << ran.code;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
    const bool ours = entry.path().string().starts_with(out.string()) || entry.path().filename() == "search.json";
    EXPECT_TRUE(ours || before.contains(entry.path())) << entry.path();
  }
  EXPECT_FALSE(fs::exists(victim));
}

TEST_F(Security, NoPickleIsLoaded) {
  const std::string pickle = "\x80\x04\x95 cposix\nsystem\n(S'touch " + (folder.path() / "broken").string() + "'\ntR.";
  std::string header = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }";
  header.resize(118, ' ');
  header.back() = '\n';
  fs::create_directories(folder.path() / "samples");
  write_file(folder.path() / "samples" / "0.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + pickle);
  const Ran ran =
      search(digits("digits.onnx"), {{"calib_data_reader", {{"reader", "npy"}, {"path", (folder.path() / "samples").string()}}}});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("pickle"), std::string::npos) << ran.err;
  EXPECT_FALSE(fs::exists(folder.path() / "broken"));
}

// A command given as a list is started as it stands.
TEST_F(Security, CommandsRunWithoutAShell) {
  const std::string broken = (folder.path() / "broken").string();
  const std::string argument = "$(touch " + broken + "); touch " + broken + " | `touch " + broken + "` > " + broken;
  write_file(folder.path() / "score.sh", "#!/bin/sh\necho '{\"score\": 1}'\n");
  fs::permissions(folder.path() / "score.sh", fs::perms::owner_all);
  const Ran ran = search(digits("digits.onnx"),
                         {{"search_evaluator", {{"command", {(folder.path() / "score.sh").string(), "{model}", argument}}}}});
  EXPECT_FALSE(fs::exists(broken)) << ran.err;
}

// Names become data of statements, never their text.
void expect_no_injection(search::Storage& storage) {
  const std::string hostile = "x'); DROP TABLE trials; --\"; DELETE FROM studies WHERE ('1'='1";
  search::Study study(storage, {.name = hostile});
  study.set_attribute(hostile, hostile);
  const search::Space space = search::Space::parse({{hostile, {hostile, 1}}});
  const auto grid = search::samplers::table().make("grid");
  search::run({.stage = hostile}, study, space, *grid, {}, [&](search::RunningTrial& job) -> search::Outcome {
    job.claim(hostile + std::to_string(job.number()));
    return {.values = {1}, .user_attributes = {{hostile, hostile}}};
  });
  const auto records = storage.studies();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].name, hostile);
  EXPECT_EQ(records[0].user_attributes[hostile], hostile);
  const auto trials = storage.trials(records[0].id);
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_EQ(*trials[0].point.find(hostile), hostile);
  EXPECT_EQ(trials[1].user_attributes[hostile], hostile);
}

TEST_F(Security, StatementsHoldNoData) {
  expect_no_injection(*search::open_storage((folder.path() / "it's \\ a; study.db").string()));
}

TEST_F(Security, StatementsHoldNoDataOnPostgresql) {
  const auto server = servers::Postgresql::start();
  if (!server) GTEST_SKIP() << "no PostgreSQL server can be started here";
  expect_no_injection(*search::open_storage(server->url()));
}

// A model's names come out as text: in the page, in Markdown, CSV and on the terminal.
TEST_F(Security, ReportsEscapeWhatModelsSay) {
  const std::string attack = "</script><script>alert(1)</script><img src=x onerror=alert(2)>|\x1b[31m";
  graph::Model model = graph::load(digits("digits.onnx"));
  for (size_t i = 0; i < model.nodes.size(); ++i) model.nodes[i].name = attack + std::to_string(i);
  const fs::path path = folder.path() / "hostile.onnx";
  graph::save(model, path);
  const Ran ran = search(path, {{"plot_results", true}});
  ASSERT_EQ(ran.code, 0) << ran.err;
  size_t pages = 0;
  for (const auto& entry : fs::recursive_directory_iterator(out)) {
    if (entry.path().extension() != ".html" && entry.path().extension() != ".svg") continue;
    const std::string page = read_file(entry.path());
    EXPECT_EQ(page.find("<script>alert(1)"), std::string::npos) << entry.path();
    EXPECT_EQ(page.find("<img src=x"), std::string::npos) << entry.path();
    ++pages;
  }
  EXPECT_GE(pages, 1U);
  const Ran markdown = run("report " + out.string() + " --format markdown");
  EXPECT_EQ(markdown.out.find("<script>"), std::string::npos);
}

// Messages and logs show what would steer a terminal, or look like a message of Quasar's, as text.
TEST_F(Security, TerminalsAreNotSteeredByNames) {
  const std::string attack =
      "mm\x1b]0;owned\x07\x1b[2J\rquasar: fake\nquasar: fake\xc2\x9b"
      "31m";
  graph::Model model = graph::load(digits("digits.onnx"));
  for (size_t i = 0; i < model.nodes.size(); ++i) model.nodes[i].name = attack + std::to_string(i);
  const fs::path path = folder.path() / "hostile.onnx";
  graph::save(model, path);
  const Ran ran = search(path, {{"specific_layer_config", {{"nodes", {"mm\x1b[31m"}}}}});
  const Ran good =
      search(path, {{"search_space", {{"activation", {"UInt8Spec"}}, {"weight", {"Int8Spec"}}, {"algorithms", {"gptq"}}}}});
  ASSERT_EQ(good.code, 0) << good.err;
  for (const std::string& text : {ran.err, good.err, read_file(out / "auto_search.log")}) {
    EXPECT_EQ(text.find_first_of("\x1b\x07\r"), std::string::npos) << text;
    EXPECT_EQ(text.find("\xc2\x9b"), std::string::npos);
    EXPECT_EQ(text.find("\nquasar: fake"), std::string::npos) << text;
  }
  EXPECT_NE(read_file(out / "auto_search.log").find("\\x1b[2J"), std::string::npos);
}

// Results replace what stands at their place; they do not go where a link leads.
TEST_F(Security, ResultsDoNotFollowLinks) {
  fs::create_directories(out);
  write_file(folder.path() / "precious", "precious");
  for (const char* name : {"best_params.json", "best_config.yaml", "report.html"})
    fs::create_symlink(folder.path() / "precious", out / name);
  const Ran ran = search(digits("digits.onnx"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(read_file(folder.path() / "precious"), "precious");
  for (const char* name : {"best_params.json", "best_config.yaml", "report.html"})
    EXPECT_FALSE(fs::is_symlink(out / name)) << name;
}

// What is written to during the whole search is refused where it is a link.
TEST_F(Security, LocksAndLogsAreNoLinks) {
  for (const char* name : {".quasar-lock", "auto_search.log", "auto_search.db-lock"}) {
    fs::remove_all(out);
    fs::create_directories(out);
    fs::create_symlink(folder.path() / "precious", out / name);
    const Ran ran = search(digits("digits.onnx"));
    EXPECT_EQ(ran.code, 1) << name;
    EXPECT_NE(ran.err.find("symbolic link"), std::string::npos) << name << ": " << ran.err;
    EXPECT_NE(ran.err.find("remove it"), std::string::npos) << name << ": " << ran.err;
    EXPECT_FALSE(fs::exists(folder.path() / "precious")) << name;
  }
}

// Nor is the study's database, unless the user named another place for it.
TEST_F(Security, TheStudyIsNoLink) {
  fs::create_directories(out);
  const fs::path elsewhere = folder.path() / "elsewhere.db";
  fs::create_symlink(elsewhere, out / "auto_search.db");
  for (const char* arguments : {"", "--resume"}) {
    const Ran ran = search(digits("digits.onnx"), Json::object(), arguments);
    EXPECT_EQ(ran.code, 1) << arguments;
    EXPECT_NE(ran.err.find("auto_search.db' is a symbolic link"), std::string::npos) << ran.err;
    EXPECT_FALSE(fs::exists(elsewhere)) << arguments;
  }
  fs::remove(out / "auto_search.db");
  fs::create_symlink(elsewhere, folder.path() / "named.db");
  const Ran ran = search(digits("digits.onnx"), {{"study_storage_db", "sqlite:///" + (folder.path() / "named.db").string()}});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(fs::exists(elsewhere));
}

TEST_F(Security, PicturesDoNotFollowALink) {
  fs::create_directories(out);
  fs::create_directories(folder.path() / "elsewhere");
  write_file(folder.path() / "elsewhere" / "sample_1.jpg", "precious");
  fs::create_directory_symlink(folder.path() / "elsewhere", out / "worst_samples");
  const Ran ran = search(digits("digits.onnx"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(read_file(folder.path() / "elsewhere" / "sample_1.jpg"), "precious");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path() / "elsewhere"), {}), 1);
  EXPECT_FALSE(fs::is_symlink(out / "worst_samples"));
}

// Files that are not whole yet have names that anybody can guess.
TEST_F(Security, UnfinishedFilesFollowNoLink) {
  const std::string victim = (folder.path() / "victim").string(), page = (folder.path() / "page").string();
  write_file(victim, "precious");
  fs::create_symlink(victim, page + ".part" + std::to_string(getpid()));
  write_file(page, "page");
  EXPECT_EQ(read_file(victim), "precious");
  EXPECT_EQ(read_file(page), "page");
  fs::create_directories(out);
  ASSERT_EQ(mkfifo((out / "report.html.part").c_str(), 0600), 0);
  const Ran ran = search(digits("digits.onnx"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(fs::is_regular_file(out / "report.html"));
}

// Whoever opened one would wait for ever.
TEST_F(Security, PipesAreRefused) {
  const fs::path pipe = folder.path() / "pipe.npz", folder_of = folder.path() / "samples";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  fs::create_directories(folder_of);
  fs::copy_file(digits("digits.onnx"), folder.path() / "model.onnx");
  ASSERT_EQ(mkfifo((folder_of / "a.npy").c_str(), 0600), 0);
  const auto refused = [&](const std::string& arguments) {
    const Ran ran = run(arguments, "timeout 60");
    EXPECT_EQ(ran.code, 1) << arguments << ": " << ran.err;
    const bool said = ran.err.find("a pipe") != std::string::npos || ran.err.find("is not a file") != std::string::npos;
    EXPECT_TRUE(said) << arguments << ": " << ran.err;
  };
  refused("inspect " + pipe.string());
  for (const fs::path& samples : {pipe, folder_of})
    refused("quantize " + digits("digits.onnx") + " --scheme U8S8_CHANNEL --calib " + samples.string() + " -o " +
            (folder.path() / "q.onnx").string());
  const fs::path model = with_external_data_at("weight.data");
  fs::remove(model.parent_path() / "weight.data");
  ASSERT_EQ(mkfifo((model.parent_path() / "weight.data").c_str(), 0600), 0);
  refused("inspect " + model.string());
}

}  // namespace
}  // namespace quasar::e2e
