#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "e2e/program.hpp"
#include "quasar/base/file_lock.hpp"

namespace quasar::e2e {
namespace {
namespace fs = std::filesystem;

// Columns of the widest line; a character of several bytes is one.
size_t widest(const std::string& text) {
  size_t most = 0, width = 0;
  for (const char c : text) {
    if ((c & 0xc0) == 0x80) continue;
    width = c == '\n' ? 0 : width + 1;
    most = std::max(most, width);
  }
  return most;
}

// One search for all tests here.
const fs::path& searched() {
  static const TemporaryFolder folder;
  static const fs::path out = [] {
    const Ran ran = run("search " + digits("search.yaml") + " --set plot_results=true --set n_trials=6 --output-dir " +
                        (folder.path() / "out").string());
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_LE(widest(ran.out.substr(0, ran.out.find("trials executed"))), 80U) << ran.out;
    EXPECT_EQ(ran.err.find('\033'), std::string::npos) << "colours without a terminal";
    return folder.path() / "out";
  }();
  return out;
}

TEST(Report, SearchLeavesAPageAndItsPlots) {
  const std::string page = read_file(searched() / "report.html");
  EXPECT_NE(page.find("\"status\":\"ok\""), std::string::npos);
  for (const char* name : {"opt_history.html", "opt_history.svg", "param_importance.html", "param_importance.svg"})
    EXPECT_TRUE(fs::exists(searched() / name)) << name;
}

TEST(Report, ClassesHaveNames) {
  const TemporaryFolder folder;
  write_file(folder.path() / "names.txt", "nought\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n");
  const Ran ran =
      run("search " + digits("search.yaml") +
              " --set eval_data_reader.class_names=names.txt --set n_trials=1 --set least_agreement=0 --output-dir out",
          "cd " + folder.path().string() + " &&");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json flips = read_json(folder.path() / "out/result.json")["best"]["flips"];
  ASSERT_GT(flips["names"].size(), 1U);
  for (const auto& [number, name] : flips["names"].items()) EXPECT_TRUE(number != "8" || name == "eight") << flips["names"];
  EXPECT_NE(read_file(folder.path() / "out/report.html").find("\"names\":{"), std::string::npos);
}

// Folders and files may be called anything; what they are called ends up in JSON.
TEST(Report, NamesThatAreNoTextDoNoHarm) {
  const TemporaryFolder folder;
  for (const char* name : {"cat", "l\xe9opard"}) {
    fs::create_directories(folder.path() / "photos" / name);
    for (const char* picture : {"color", "gray"})
      fs::copy_file(std::string(QUASAR_SOURCE_DIR "/tests/unit/data/pictures/") + picture + ".png",
                    folder.path() / "photos" / name / (std::string(picture) + "_\xe9.png"));
  }
  const Ran ran = run("search " + digits("search.yaml") +
                          " --set 'eval_data_reader={reader: images, path: photos, color: gray, resize: [8, 8], as_is: true}' "
                          "--set holdout_data_reader=null"
                          " --set n_trials=1 --output-dir out",
                      "cd " + folder.path().string() + " &&");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json flips = read_json(folder.path() / "out/result.json")["best"]["flips"];
  EXPECT_EQ(flips["names"], (Json{{"0", "cat"}, {"1", "l\xef\xbf\xbdopard"}}));
  EXPECT_EQ(flips["worst"].size(), 4U);
}

TEST(Report, ResultTellsEveryOperator) {
  const Json best = read_json(searched() / "result.json")["best"];
  const size_t integer = static_cast<size_t>(
      std::count_if(best["layers"].begin(), best["layers"].end(), [](const Json& layer) { return layer["runs"] == "integer"; }));
  EXPECT_EQ(integer, best["operators"]["quantized"].get<size_t>());
  EXPECT_EQ(best["layers"].size() - integer, best["operators"]["float"].get<size_t>());
  EXPECT_EQ(best["needs"], (Json{{"onnxruntime", "1.12"}, {"because", "opset 17"}, {"opset", 17}, {"ir_version", 8}}));
  EXPECT_NE(read_file(searched() / "report.html").find("ONNX Runtime 1.12 or newer (opset 17)"), std::string::npos);
  ASSERT_FALSE(best["ranges"].empty());
  for (const auto& layer : best["ranges"])
    EXPECT_LT(layer["weight"]["range"][0].get<double>(), layer["weight"]["range"][1].get<double>());
}

TEST(Report, ShowsTheWorstSamplesAndWhichLayersHurt) {
  const Json best = read_json(searched() / "result.json")["best"];
  ASSERT_FALSE(best["flips"]["worst"].empty());
  const std::string page = read_file(searched() / "report.html");
  for (const auto& sample : best["flips"]["worst"]) {
    EXPECT_TRUE(fs::exists(searched() / sample["picture"].get<std::string>()));
    EXPECT_NE(page.find("\"" + sample["sample"].dump() + "\":\"data:image/jpeg;base64,"), std::string::npos);
  }
  EXPECT_EQ(read_file(searched() / "opt_history.html").find("data:image/jpeg"), std::string::npos);
  for (const auto& layer : best["layers"]) EXPECT_TRUE(layer.contains("accumulated_noise")) << layer;
}

// Casts have no grid: there is nothing to draw, and no reason to fail.
TEST(Report, OfAModelInHalves) {
  const TemporaryFolder folder;
  const Ran ran =
      run("search " + digits("search.yaml") +
          " --set 'search_space={activation: [BFloat16Spec], weight: [BFloat16Spec]}' --set search_algo=Grid --output-dir " +
          (folder.path() / "out").string());
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(fs::exists(folder.path() / "out/report.html"));
}

TEST(Report, RebuildsFromTheStudy) {
  const std::string before = read_file(searched() / "report.html");
  const fs::path again = searched() / "again.html";
  ASSERT_EQ(run("report " + searched().string() + " -o " + again.string()).code, 0);
  const auto trials = [](const std::string& page) { return page.substr(page.find("\"trials\":[")).substr(0, 400); };
  EXPECT_EQ(trials(read_file(again)), trials(before));
  EXPECT_NE(read_file(again).find("data:image/jpeg;base64,"), std::string::npos);
}

TEST(Report, OfDamagedResultsNamesTheFileAndTheKey) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "out";
  fs::create_directories(out);
  const Json good = read_json(searched() / "result.json");
  for (const auto& [place, value] : {std::pair<std::string, Json>{"/best", Json::array()},
                                     {"/best/layers", 5},
                                     {"/trials", {1}},
                                     {"/warnings", {Json::object()}},
                                     {"/study", nullptr},
                                     {"/best/evidence/rivals", 5},
                                     {"/best/evidence/against_float", {1}},
                                     {"/best/metrics", {{"L2", {1}}}},
                                     {"/objectives", {{{"name", 5}}}}}) {
    Json bad = good;
    bad[Json::json_pointer(place)] = value;
    write_file(out / "result.json", bad.dump());
    for (const char* format : {"html", "markdown", "csv"}) {
      const Ran ran = run("report " + out.string() + " -o " + (out / "page").string() + " --format " + format);
      EXPECT_EQ(ran.err.find("json.exception"), std::string::npos) << place << ": " << ran.err;
      if (ran.code != 0) {
        EXPECT_NE(ran.err.find("result.json of '" + out.string() + "'"), std::string::npos) << place << ": " << ran.err;
      }
    }
  }
}

TEST(Report, ComparesAndWritesMarkdownAndCsv) {
  const std::string out = searched().string();
  const Ran both = run("report " + out + " " + out);
  EXPECT_EQ(both.code, 0) << both.err;
  EXPECT_TRUE(fs::exists(searched() / "comparison.html"));
  EXPECT_NE(run("report " + out + " --format markdown").out.find("| L2 |"), std::string::npos);
  const std::string csv = run("report " + out + " --format csv").out;
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 7);
  const Ran wrong = run("report " + out + " --format pdf");
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("html"), std::string::npos) << wrong.err;
  EXPECT_EQ(run("report " + digits("")).code, 1);
}

// A copy of the search's folder, to be spoilt.
struct OfACopy : testing::Test {
  OfACopy() { fs::copy(searched(), out, fs::copy_options::recursive); }
  Ran report(const std::string& more = "") const { return run("report " + out.string() + " " + more); }

  TemporaryFolder folder;
  fs::path out = folder.path() / "out", page = out / "report.html", study = out / "auto_search.db";
};

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text.substr(0, 2000);
}

TEST_F(OfACopy, ReportLeavesTheLivePageAlone) {
  write_file(page, "live");
  std::optional<FileLock> folders(std::in_place, out / ".quasar-lock", "out", "");  // as a search that runs has them
  std::optional<FileLock> studys(std::in_place, out / "auto_search.db-lock", "study", "", 1);
  for (const std::string& how : {std::string(), "-o " + page.string()}) {
    const Ran refused = report(how);
    EXPECT_EQ(refused.code, 1);
    expect_in(refused.err, "writes its report.html itself");
    EXPECT_EQ(read_file(page), "live");
  }
  const Ran other = report("-o " + (out / "other.html").string());  // of the search that runs, not of the earlier result.json
  EXPECT_EQ(other.code, 0) << other.err;
  expect_in(read_file(out / "other.html"), "\"status\":\"running\"");
  const Ran seen = run("status " + study.string());
  expect_in(seen.out, ": running");
  folders.reset();
  studys.reset();
  expect_in(run("status " + study.string()).out, "no search runs in it");
  EXPECT_EQ(report().code, 0);
  expect_in(read_file(page), "\"status\":\"ok\"");
}

TEST_F(OfACopy, StatusFollowsASearchInAFile) {
  std::optional<FileLock> lock(std::in_place, out / "auto_search.db-lock", "study", "", 1);
  FILE* watched = popen((program() + " status " + study.string() + " --watch --json").c_str(), "r");
  ASSERT_NE(watched, nullptr);
  std::vector<std::string> states;
  char line[20000];
  while (std::fgets(line, sizeof(line), watched) != nullptr) {
    states.push_back(parse_json(line, "status")["state"]);
    lock.reset();
  }
  EXPECT_EQ(pclose(watched), 0);
  ASSERT_GE(states.size(), 2U);
  EXPECT_EQ(states.front(), "running");
  EXPECT_EQ(states.back(), "");
}

TEST_F(OfACopy, ReportKeepsAPageWhoseTrialsAreGone) {
  const std::string before = read_file(page);
  fs::rename(study, folder.path() / "moved.db");
  const Ran refused = report();
  EXPECT_EQ(refused.code, 1);
  expect_in(refused.err, "there is no " + study.string());
  EXPECT_EQ(read_file(page), before);
  const Ran told = report("--format markdown");
  EXPECT_EQ(told.code, 0);
  expect_in(told.err, "the report has no trials");
  expect_in(told.out, "The trials are not shown");
  const Ran found = report("--storage " + (folder.path() / "moved.db").string());
  EXPECT_EQ(found.code, 0) << found.err;
  expect_in(read_file(page), "\"number\":5,");
  const Ran nowhere = report("--storage " + (folder.path() / "elsewhere.db").string());
  EXPECT_EQ(nowhere.code, 1);
  expect_in(nowhere.err, "elsewhere.db");
  fs::remove(page);
  EXPECT_EQ(report().code, 0) << "there is nothing to lose";
}

TEST_F(OfACopy, ReportTakesAStudyByName) {
  const Ran wrong = report("--study other --json");
  EXPECT_EQ(wrong.code, 1);
  expect_in(wrong.err, "there is no study 'other'");
  const std::string name = read_json(out / "result.json")["study_name"];
  EXPECT_EQ(parse_json(report("--study " + name + " --json").out, "report")["result"]["status"], "ok");
}

TEST_F(OfACopy, ReportTakesTheAddressOfAFile) {
  for (const std::string& address : {study.string(), "sqlite:///" + study.string()}) {
    const Ran ran = run("report " + address + " --json");
    ASSERT_EQ(ran.code, 0) << ran.err;
    const Json all = parse_json(ran.out, "report");
    EXPECT_EQ(all["result"]["status"], "unknown");
    EXPECT_EQ(all["trials"].size(), 6U);
    EXPECT_EQ(ran.out.find("--resume"), std::string::npos);
  }
  const Ran refused = run("report " + study.string() + " --storage " + study.string());
  EXPECT_EQ(refused.code, 1);
  expect_in(refused.err, "--storage");
}

TEST_F(OfACopy, ReportIsWrittenInTheFormOfItsName) {
  const Ran ran = report("-o " + (folder.path() / "report.md").string());
  ASSERT_EQ(ran.code, 0) << ran.err;
  expect_in(read_file(folder.path() / "report.md"), "| L2 |");
  ASSERT_EQ(report("--format html -o " + (folder.path() / "page.md").string()).code, 0);
  expect_in(read_file(folder.path() / "page.md"), "<!doctype html>");
  const Ran unknown = report("-o " + (folder.path() / "page.pdf").string());
  EXPECT_EQ(unknown.code, 1);
  expect_in(unknown.err, "no form ends in '.pdf'");
  const Ran here = run("report . --format markdown", "cd " + out.string() + " &&");
  expect_in(here.out, "## Quasar: out\n");
}

TEST(Report, InspectionMeasuresLayers) {
  const TemporaryFolder folder;
  const fs::path page = folder.path() / "model.html";
  const Ran ran =
      run("inspect --json " + digits("digits.onnx") + " --calib " + digits("calibration.npz") + " --html " + page.string());
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json examination = parse_json(ran.out, "stdout")["examination"];
  ASSERT_GT(examination["layers"].size(), 10U);
  double last = INFINITY;
  for (const auto& layer : examination["layers"]) {
    EXPECT_LE(layer["output_error"].get<double>(), last);
    last = layer["output_error"];
  }
  EXPECT_GE(examination["schemes"].size(), 4U);
  EXPECT_NE(read_file(page).find("examination"), std::string::npos);
  const std::string text = run("inspect " + digits("digits.onnx") + " --calib " + digits("calibration.npz")).out;
  const size_t begin = text.find("Layers, the most sensitive first"), end = text.find("\n- ");
  ASSERT_NE(begin, std::string::npos) << text;
  EXPECT_NE(text.find("Ranges of the worst layers"), std::string::npos) << text;
  EXPECT_LE(widest(text.substr(begin, end - begin)), 80U) << text;
}

TEST(Report, InspectionFollowsTheConfiguration) {
  const Ran ran = run("inspect --json " + digits("digits.onnx") + " --calib " + digits("calibration.npz") + " --scheme XINT8");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(parse_json(ran.out, "stdout")["examination"]["schemes"][0]["key"], "shifts");
}

TEST(Completion, KnowsCommandsOptionsAndNames) {
  for (const char* shell : {"bash", "zsh", "fish", "man"}) {
    const Ran ran = run(std::string("completion ") + shell);
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_NE(ran.out.find("search"), std::string::npos) << shell;
    EXPECT_NE(ran.out.find("cpu_int8_search"), std::string::npos) << ran.out;
  }
  EXPECT_EQ(run("completion powershell").code, 1);
  const TemporaryFolder folder;
  write_file(folder.path() / "try.bash",
             run("completion bash").out +
                 "COMP_WORDS=(quasar list ra); COMP_CWORD=2; _quasar; echo \"${COMPREPLY[@]}\"\n"
                 "COMP_WORDS=(quasar search --dry); COMP_CWORD=2; _quasar; echo \"${COMPREPLY[@]}\"\n"
                 "COMP_WORDS=(quasar quantize --scheme A8W8_C); COMP_CWORD=3; _quasar; echo \"${COMPREPLY[@]}\"\n");
  const std::string out = (folder.path() / "out").string();
  ASSERT_EQ(std::system(("bash " + (folder.path() / "try.bash").string() + " > " + out).c_str()), 0);
  EXPECT_EQ(read_file(out), "ranges\n--dry-run\na8w8_channel a8w8_channel_adaround a8w8_channel_adaquant\n");
}

// By the shells themselves, where they are.
TEST(Completion, LoadsInFishZshAndMan) {
  const TemporaryFolder folder;
  const auto answer = [&](const std::string& shell, const std::string& script) {
    const std::string form = shell == "man" ? "man" : shell, file = (folder.path() / ("_" + shell)).string();
    write_file(folder.path() / ("_" + shell), run("completion " + form).out);
    write_file(folder.path() / "script", script);
    if (std::system(("command -v " + shell + " > /dev/null").c_str()) != 0) return std::string("none");
    const std::string command = "cd " + folder.path().string() + " && F=" + file + " timeout 1000 " +
                                (shell == "man" ? std::string("sh") : shell) + " script > out 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << shell;
    return read_file(folder.path() / "out");
  };
  const std::string fish = answer("fish", "source $F; complete -C 'quasar quantize --scheme a8w8_'\n");
  EXPECT_TRUE(fish == "none" || fish.starts_with("a8w8_channel")) << fish;
  const std::string zsh = answer("zsh",
                                 "fpath=($PWD $fpath); mv _zsh _quasar; autoload -Uz compinit; compinit -u -D; autoload +X "
                                 "_quasar; print $_comps[quasar]\n");
  EXPECT_TRUE(zsh == "none" || zsh == "_quasar\n") << zsh;
  const std::string man = answer("man", "man --warnings -l $F 2>&1 > page; grep -c ^NAME page\n");
  EXPECT_TRUE(man == "none" || man == "1\n") << man;
}

TEST(Completion, TellsSwitchesFromOptionsWithValues) {
  const std::string fish = run("completion fish").out, man = run("completion man").out;
  EXPECT_NE(fish.find("-l preset"), std::string::npos);
  const auto line_with = [&](const std::string& text) {
    const size_t at = fish.find(text), begin = fish.rfind('\n', at) + 1;
    return fish.substr(begin, fish.find('\n', at) - begin);
  };
  EXPECT_EQ(line_with("-l dry-run").find(" -r"), std::string::npos) << line_with("-l dry-run");
  EXPECT_NE(line_with("-l output-dir").find(" -r"), std::string::npos) << line_with("-l output-dir");
  EXPECT_EQ(man.find("\\-\\-dry\\-run\\fR \\fIvalue"), std::string::npos);
  EXPECT_NE(man.find("\\-\\-output\\-dir\\fR \\fIvalue"), std::string::npos);
}

}  // namespace
}  // namespace quasar::e2e
