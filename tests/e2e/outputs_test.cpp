// What commands write: never in the place of what they read, into devices and pipes, and an error where it cannot be written.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>
#include <thread>

#include "e2e/search_job.hpp"
#include "quasar/base/error.hpp"

namespace quasar::e2e {
namespace {

struct Outputs : testing::Test {
  Outputs() {
    fs::copy_file(digits("digits.onnx"), model);
    fs::copy_file(digits("calibration.npz"), samples);
  }

  std::string quantize(const std::string& more) const {
    return "quantize " + model.string() + " --calib " + samples.string() + " --scheme A8W8 " + more;
  }
  std::string in(const char* name) const { return (folder.path() / name).string(); }

  // Nothing changed, and the message names what would have.
  void refuses(const std::string& arguments, const std::string& option, const fs::path& kept) const {
    const std::string before = fs::exists(kept) ? read_file(kept) : "";
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 1) << arguments << ": " << ran.out;
    EXPECT_NE(ran.err.find(option + ": '" + kept.string() + "' is "), std::string::npos) << arguments << ": " << ran.err;
    EXPECT_EQ(fs::exists(kept) ? read_file(kept) : "", before) << arguments;
  }

  TemporaryFolder folder;
  fs::path model = folder.path() / "m.onnx", samples = folder.path() / "c.npz";
};

TEST_F(Outputs, NeverReplaceWhatTheCommandReads) {
  const std::string q = " -o " + in("q.onnx");
  refuses("inspect " + model.string() + " --html " + model.string(), "--html", model);
  refuses(quantize("-o " + model.string()), "-o", model);
  refuses(quantize("--export-ranges " + model.string() + q), "--export-ranges", model);
  refuses(quantize("--export-errors " + model.string() + q), "--export-errors", model);
  refuses(quantize("-o " + samples.string()), "-o", samples);
  const fs::path config = in("c.yaml"), link = in("link.onnx"), reader = in("reader.yaml"), ranges = in("r.json");
  write_file(config, "activation: UInt8Spec\nweight: Int8Spec\n");
  refuses("quantize " + model.string() + " --calib " + samples.string() + " --config " + config.string() + q +
              " --export-ranges " + config.string(),
          "--export-ranges", config);
  write_file(ranges, "{}");
  refuses(quantize("--ranges " + ranges.string() + " --export-ranges " + ranges.string() + q), "--export-ranges", ranges);
  write_file(reader, "{reader: npz, path: c.npz, labels: label}");
  const std::string described = "quantize " + model.string() + " --scheme A8W8 --calib " + reader.string();
  refuses(described + " -o " + samples.string(), "-o", samples);
  refuses(described + " -o " + reader.string(), "-o", reader);
  fs::create_symlink(model, link);
  refuses(quantize("-o " + link.string()), "-o", link);
  EXPECT_FALSE(fs::exists(in("q.onnx")));
}

TEST_F(Outputs, NeverReplaceEachOther) {
  refuses(quantize("-o " + in("z.onnx") + " --export-ranges " + in("z.onnx")), "--export-ranges", in("z.onnx"));
  refuses(quantize("-o " + in("z.onnx") + " --export-ranges " + in("r") + " --export-errors " + in("r")), "--export-errors",
          in("r"));
  fs::create_directory_symlink(folder.path(), in("again"));
  refuses(quantize("-o " + in("z.onnx") + " --export-ranges " + in("again/z.onnx")), "--export-ranges", in("again/z.onnx"));
  EXPECT_FALSE(fs::exists(in("z.onnx")));
}

TEST_F(Outputs, NeverReplaceASampleOfAFolder) {
  const fs::path pictures = in("pictures");
  fs::create_directories(pictures / "class");
  write_file(pictures / "class" / "a.png", "a picture");
  write_file(pictures / "q.onnx", "of an earlier run");
  const std::string command = "quantize " + model.string() + " --scheme A8W8 --calib " + pictures.string();
  refuses(command + " -o " + (pictures / "class" / "a.png").string(), "-o", pictures / "class" / "a.png");
  const Ran ran = run(command + " -o " + (pictures / "q.onnx").string());  // no sample
  EXPECT_EQ(ran.err.find("would be replaced"), std::string::npos) << ran.err;
}

struct SearchOutputs : Search {};

// One search, of whose folder reports are made.
TEST_F(SearchOutputs, NeverReplaceWhatIsRead) {
  fs::create_directories(out);
  const auto refused = [&](const std::string& text, const std::string& arguments, const std::string& file) {
    const Ran ran = run("search " + arguments + " --output-dir " + out.string());
    EXPECT_EQ(ran.code, 1) << ran.out;
    EXPECT_NE(ran.err.find("output_dir: '" + (out / file).string() + "' is "), std::string::npos) << ran.err;
    EXPECT_EQ(read_file(out / file), text);
  };
  const std::string own = words(small_space, "n_trials: 2\n");
  write_file(out / "best_config.yaml", own);
  refused(own, (out / "best_config.yaml").string(), "best_config.yaml");
  fs::remove(out / "best_config.yaml");
  write_file(config, own);
  fs::copy_file(digits("digits.onnx"), out / "best.onnx.data");  // a name that --resume does not take for an earlier search's
  refused(read_file(digits("digits.onnx")), config.string() + " --model " + (out / "best.onnx.data").string(), "best.onnx.data");
  fs::remove(out / "best.onnx.data");

  ASSERT_EQ(search(own, "--quiet").code, 0);
  const std::string folder_of = out.string(), study = (out / "auto_search.db").string();
  const auto kept = [&](const std::string& arguments, const std::string& option, const char* file, const std::string& as) {
    const std::string before = read_file(out / file);
    const Ran ran = run(arguments + " " + option + " " + (out / file).string());
    EXPECT_EQ(ran.code, 1) << arguments << ": " << ran.out;
    EXPECT_NE(ran.err.find(option + ": '" + (out / file).string() + "' is " + as), std::string::npos) << ran.err;
    EXPECT_EQ(read_file(out / file), before) << arguments;
  };
  const std::string q = " -o " + (folder.path() / "q.onnx").string();
  for (const char* file : {"auto_search.db", "result.json", "best.onnx"}) {
    kept("report " + folder_of + " --format csv", "-o", file, "of the search");
    kept("quantize --trial 0 --from-study " + folder_of, "-o", file, "of the search");
  }
  kept("quantize --trial 0 --from-study " + study, "-o", "auto_search.db", "the study");
  kept("quantize --trial 0 --from-study " + study, "-o", "best.onnx", "of the search");
  kept("quantize --trial 0 --from-study " + study + q, "--export-ranges", "best_params.json", "of the search");
  kept("quantize --trial 0 --from-study " + folder_of + q, "--export-errors", "best_config.yaml", "of the search");
  EXPECT_FALSE(fs::exists(folder.path() / "q.onnx"));
  for (int i = 0; i < 2; ++i) {
    const Ran ran = run("report " + out.string() + " --format csv -o " + (out / "trials.csv").string());
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
}

// Before its storage is asked: there is no server.
TEST_F(SearchOutputs, OfAWorkerNeverReplaceWhatIsRead) {
  fs::create_directories(out);
  fs::create_directory_symlink(out, folder.path() / "again");
  const fs::path model = out / "trial_1.onnx", log = out / "worker.log";
  fs::copy_file(digits("digits.onnx"), model);
  write_file(log, "echo 1");
  const std::string by_log = "{command: [sh, " + log.string() + ", \"{model}\"]}";
  const auto refused = [&](const std::string& arguments, const std::string& message) {
    const std::string before = read_file(model) + read_file(log);
    const Ran ran = run("worker --storage postgresql://me@127.0.0.1:1/q " + arguments);
    EXPECT_EQ(ran.code, 1) << ran.out;
    EXPECT_NE(ran.err.find(message), std::string::npos) << ran.err;
    EXPECT_EQ(read_file(model) + read_file(log), before);
  };
  write_file(config, words(small_space, "keep_models: all\n"));
  const std::string folders[]{out.string(), (folder.path() / "again").string()};
  for (const std::string& to : folders) {
    refused(config.string() + " --model " + model.string() + " --output-dir " + to,
            "keep_models: '" + model.string() + "' is the float model, which would be replaced");
    refused(config.string() + " --set search_evaluator='" + by_log + "' --output-dir " + to,
            "output_dir: '" + to + "/worker.log' is of search_evaluator");
  }
  fs::remove(log);
  const Ran keeps_none = run("worker --storage postgresql://me@127.0.0.1:1/q " + config.string() + " --model " + model.string() +
                             " --set keep_models=best --output-dir " + out.string());
  EXPECT_NE(keeps_none.err.find("cannot open the study database"), std::string::npos) << keeps_none.err;
  EXPECT_EQ(keeps_none.code, 75);  // nobody answers there, who may later
}

TEST_F(Outputs, GoIntoPipes) {
  const std::string pipe = in("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& arguments :
       {std::string("completion bash -o ") + pipe, quantize("-o " + pipe),
        quantize("-o " + in("q.onnx") + " --export-ranges " + pipe), "inspect " + model.string() + " --html " + pipe}) {
    std::string got;
    std::jthread reader([&] {
      std::ifstream in(pipe, std::ios::binary);
      got.assign(std::istreambuf_iterator<char>(in), {});
    });
    const Ran ran = run(arguments, "timeout 1000");
    if (ran.code != 0) fs::remove(pipe);
    EXPECT_EQ(ran.code, 0) << arguments << ": " << ran.err;
    reader.join();
    EXPECT_GT(got.size(), 10U) << arguments;
    EXPECT_TRUE(fs::is_fifo(pipe)) << arguments;
  }
  EXPECT_EQ(
      run("quantize " + model.string() + " --scheme DYNAMIC --set use_external_data_format=true -o " + pipe, "timeout 1000").code,
      1);
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(Outputs, GoIntoStandardOutput) {
  const Ran ran = run("completion bash -o /dev/stdout");
  EXPECT_EQ(ran.out, run("completion bash").out);
  EXPECT_TRUE(fs::is_symlink("/dev/stdout"));
  const std::string ranges = in("ranges.json");
  ASSERT_EQ(run(quantize("-o " + in("q.onnx") + " --export-ranges " + ranges)).code, 0);
  const Ran quantized = run(quantize("-o " + in("q.onnx") + " --export-ranges /dev/stdout"));
  EXPECT_EQ(quantized.code, 0) << quantized.err;
  EXPECT_EQ(Json::parse(quantized.out), read_json(ranges)) << "what else is said must not stand in the file";
  EXPECT_NE(quantized.err.find("quantizable nodes are quantized"), std::string::npos);
  EXPECT_TRUE(run(quantize("-o /dev/stdout")).out == read_file(in("q.onnx"))) << "the model and nothing else";
}

// In a folder of its own, where a file of that name would be seen.
TEST_F(Outputs, ADashIsStandardOutput) {
  const std::string here = "cd " + folder.path().string() + " && ";
  ASSERT_EQ(run(quantize("-o " + in("q.onnx") + " --export-ranges " + in("r.json"))).code, 0);
  const Ran made = run(quantize("-o -"), here);
  EXPECT_TRUE(made.out == read_file(in("q.onnx"))) << made.err;
  EXPECT_NE(made.err.find("quantizable nodes are quantized"), std::string::npos);
  EXPECT_EQ(run(quantize("-o " + in("q.onnx") + " --export-ranges -"), here).out, read_file(in("r.json")));
  EXPECT_TRUE(run("inspect " + model.string() + " --html -", here).out.starts_with("<!doctype html>"));
  EXPECT_EQ(run("completion bash -o -", here).out, run("completion bash").out);
  const Ran two = run(quantize("-o - --export-ranges -"), here);
  EXPECT_EQ(two.code, 1);
  EXPECT_NE(two.err.find("--export-ranges: standard output is what -o writes to, too"), std::string::npos) << two.err;
  EXPECT_EQ(two.out, "");
  const Ran results = run("search " + digits("search.yaml") + " --output-dir -", here);
  EXPECT_EQ(results.code, 1);
  EXPECT_NE(results.err.find("--output-dir is '-'"), std::string::npos) << results.err;
  EXPECT_FALSE(fs::exists(in("-")));
}

TEST_F(Outputs, ReportsDoNotFollowALink) {
  ASSERT_EQ(
      run("search " + digits("search.yaml") + " --quiet --set n_trials=1 --set least_agreement=0 --output-dir " + in("out")).code,
      0);
  fs::remove(in("out/report.html"));
  ASSERT_EQ(mkfifo(in("pipe").c_str(), 0600), 0);
  fs::create_symlink(in("pipe"), in("out/report.html"));
  const Ran ran = run("report " + in("out"));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(fs::symlink_status(in("out/report.html")).type(), fs::file_type::regular);
}

TEST_F(Outputs, ReplaceNoDevice) {
  const std::string null = in("null"), block = in("block");
  if (mknod(null.c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0) GTEST_SKIP() << "only root makes devices";
  for (const std::string& arguments :
       {quantize("-o " + null), quantize("-o " + in("q.onnx") + " --export-ranges " + null + " --export-errors " + null)}) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(fs::is_character_file(null)) << arguments;
  }
  EXPECT_THROW(write_file(null, "text"), Error);
  EXPECT_TRUE(fs::is_character_file(null));
  if (mknod(block.c_str(), S_IFBLK | 0600, makedev(7, 250)) != 0) return;
  const Ran ran = run(quantize("-o " + block));
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("it is a block device"), std::string::npos) << ran.err;
  EXPECT_TRUE(fs::is_block_file(block));
}

// A command with its own redirections, in a shell. -> its exit code, and standard error.
Ran run_in_shell(const std::string& command) {
  const TemporaryFolder folder;
  const fs::path script = folder.path() / "script", err = folder.path() / "err";
  write_file(script, "set -o pipefail\nprogram=" + program() + "\nerrors=" + err.string() +
                         "\n: > $errors\nquasar() { $program \"$@\" 2> $errors; }\n" + command + "\n");
  // What is ignored here, under nohup or in a script, no shell can change below.
  const int status = std::system(("env --default-signal=HUP,INT,TERM bash " + script.string() + " < /dev/null").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, "", read_file(err)};
}

TEST_F(Outputs, ToAFullDiskAreAnError) {
  for (const std::string& command : {std::string("list metrics"), std::string("completion bash"), std::string("--help"),
                                     "inspect " + model.string() + " --json", std::string("completion bash -o /dev/stdout")}) {
    const Ran ran = run_in_shell("quasar " + command + " > /dev/full");
    EXPECT_EQ(ran.code, 75) << command;
    EXPECT_NE(ran.err.find("No space left on device"), std::string::npos) << command << ": " << ran.err;
  }
  const Ran closed = run_in_shell("quasar list metrics >&-");
  EXPECT_EQ(closed.code, 1);
  EXPECT_NE(closed.err.find("cannot write to standard output"), std::string::npos) << closed.err;
  EXPECT_EQ(run_in_shell("quasar completion bash -o " + in("bash") + " >&-").code, 0);
}

TEST_F(Outputs, NobodyReadsAreQuiet) {
  const Ran ran = run_in_shell("quasar list keys --json | true");
  EXPECT_TRUE(ran.code == 141 || ran.code == 0) << ran.code;  // as 0 where all of it was written before the reader went
  EXPECT_EQ(ran.err, "");
  const Ran late = run_in_shell("mkfifo " + in("pipe") + "\n(exec < " + in("pipe") + ") &\nexec 5> " + in("pipe") +
                                "\nwait\nquasar list keys >&5");
  EXPECT_EQ(late.code, 141);
  EXPECT_EQ(late.err, "");
}

TEST_F(Outputs, BeyondTheSizeThatIsAllowedAreAnError) {
  const Ran ran = run_in_shell("ulimit -f 8\nquasar " + quantize("-o " + in("q.onnx")));
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("File too large"), std::string::npos) << ran.err;
  EXPECT_FALSE(fs::exists(in("q.onnx")));
}

TEST_F(SearchOutputs, GoOnWithoutAReader) {
  write_file(config, words(small_space, "n_trials: 3\n"));
  const Ran ran = run_in_shell("mkfifo " + (folder.path() / "pipe").string() + "\n(exec < " + (folder.path() / "pipe").string() +
                               ") &\nexec 5> " + (folder.path() / "pipe").string() + "\nwait\nquasar search " + config.string() +
                               " --output-dir " + out.string() + " >&5");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("cannot write to standard output: Broken pipe; its results are kept"), std::string::npos) << ran.err;
  EXPECT_EQ(result()["status"], "ok");
}

struct SearchInAScript : SearchOutputs {
  // A search in the background of a script that gets these signals after its first trial; `shell` goes before.
  Ran told(const std::vector<std::string>& signals, const std::string& more, const std::string& shell = "") {
    write_file(config,
               words(small_space, more + "search_evaluator: {command: [sh, -c, \"sleep 0.4; echo 1\", sh, \"{model}\"]}\n"));
    std::string kills;
    for (const auto& signal : signals) kills += "kill -" + signal + " $search || gone=1\n";
    return run_in_shell(shell + "$program search " + config.string() + " --output-dir " + out.string() +
                        " > /dev/null 2> $errors & search=$!\nuntil grep -q '^trial 0: ' $errors || ! kill -0 $search; do sleep "
                        "0.02; done\n" +
                        kills + "wait $search && exit $gone\n");
  }
};
using EndOfTheTerminal = SearchInAScript;

TEST_F(EndOfTheTerminal, ResultsAreWritten) {
  const Ran ran = told({"HUP", "HUP"}, "");  // by the shell, and by the kernel
  EXPECT_EQ(ran.code, 130) << ran.err;
  ASSERT_TRUE(fs::exists(out / "result.json")) << ran.err;
  EXPECT_EQ(result()["status"], "interrupted");
  EXPECT_LT(result()["trials"]["complete"], 8);
  EXPECT_TRUE(fs::exists(out / "best.onnx"));
}

TEST_F(EndOfTheTerminal, IsIgnoredUnderNohup) {
  const Ran ran = told({"HUP", "HUP"}, "n_trials: 2\n", "trap '' HUP\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
}

// Shells without job control have SIGINT ignored by what they start with `&`.
TEST_F(SearchInAScript, GoesOnWhateverIsIgnoredThere) {
  const Ran ran = told({"INT", "TERM", "INT"}, "n_trials: 2\n", "trap '' TERM\n");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(result()["status"], "ok");
}

// An evaluator removes it in the first trial.
TEST_F(SearchOutputs, SayThatTheStudyIsGone) {
  const std::string study = (out / "auto_search.db").string();
  for (const bool folder_too : {false, true}) {
    fs::remove_all(out);
    const std::string gone = "[ ! -e " + study + " ] || rm -rf " + (folder_too ? out.string() : study + "*") + "; echo 1";
    const Ran ran =
        search(words(small_space, "n_trials: 6\nsearch_evaluator: {command: [sh, -c, \"" + gone + "\", sh, \"{model}\"]}\n"));
    EXPECT_EQ(ran.code, 1) << ran.out;
    const std::string what = folder_too ? "output_dir '" + out.string() + "' was removed or renamed"
                                        : "the study's file " + study + " was removed or renamed";
    EXPECT_NE(ran.err.find(what), std::string::npos) << ran.err;
    if (folder_too) continue;
    EXPECT_LT(result()["trials"]["complete"], 6);
    EXPECT_TRUE(fs::exists(out / "best.onnx"));
  }
}

// The folder was moved away, and another search has begun, and ended, where it was.
TEST_F(SearchOutputs, LeaveTheFolderToWhoeverHasItNow) {
  const std::string folder = out.string(), theirs = folder + "/result.json";
  const std::string moved = "[ ! -e " + folder + "/auto_search.db ] || [ -e " + theirs + " ] || { mv " + folder + " " + folder +
                            "-old; mkdir " + folder + "; echo theirs > " + theirs + "; echo > " + folder +
                            "/.quasar-lock; }; echo 1";
  const Ran ran =
      search(words(small_space, "n_trials: 6\nsearch_evaluator: {command: [sh, -c, \"" + moved + "\", sh, \"{model}\"]}\n"));
  EXPECT_EQ(ran.code, 1) << ran.out;
  EXPECT_NE(ran.err.find("another search has taken its name"), std::string::npos) << ran.err;
  EXPECT_EQ(read_file(theirs), "theirs\n");
  for (const auto& file : fs::directory_iterator(out))
    EXPECT_TRUE(file.path() == theirs || file.path().filename() == ".quasar-lock") << file.path();
}

// Nor is it removed while that search has written nothing but its log.
TEST_F(SearchOutputs, LeaveTheFolderOfASearchThatHasJustBegun) {
  const std::string here = out.string(), old = here + "-old", other = (folder.path() / "other.yaml").string();
  const auto evaluator = [](const std::string& what) {
    return "n_trials: 4\nsearch_evaluator: {command: [sh, -c, \"" + what + "; echo 1\", sh, \"{model}\"]}\n";
  };
  write_file(other, words(small_space, evaluator("sleep 0.5")));
  const std::string begun = "[ ! -e " + here + "/auto_search.db ] || [ -e " + old + " ] || { mv " + here + " " + old +
                            "; setsid " + program() + " search " + other + " --output-dir " + here + " > " + other +
                            ".log 2>&1 < /dev/null & while [ ! -e " + here + "/.quasar-lock ]; do sleep 0.02; done; }";
  const Ran ran = search(words(small_space, evaluator(begun)));
  EXPECT_EQ(ran.code, 1) << ran.out;
  for (int i = 0; i < 12000 && !fs::exists(out / "report.html"); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(fs::exists(out / "report.html")) << read_file(other + ".log");
  EXPECT_TRUE(fs::exists(out / "auto_search.log"));
}

// Whose stack alone is larger than all the memory that is allowed.
TEST_F(Outputs, AThreadThatCannotBeStartedIsSaid) {
  const Ran ran = run_in_shell("ulimit -s 8000000\nulimit -v 6000000\nquasar " + quantize("-o " + in("q.onnx")));
  EXPECT_EQ(ran.code, 75);
  EXPECT_NE(ran.err.find("ulimit -v"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace quasar::e2e
