// What `quasar launch` refuses; what it prints is tested in tests/launchers.
#include "e2e/search_job.hpp"

namespace quasar::e2e {

TEST_F(Search, FilesForClustersThatCannotBeRightAreErrors) {
  write_file(config, words(small_space));
  const auto refused = [&](const std::string& arguments, const std::string& why) {
    const Ran ran = run("launch " + arguments);
    EXPECT_EQ(ran.code, 1) << arguments;
    EXPECT_NE(ran.err.find(why), std::string::npos) << ran.err;
    EXPECT_EQ(ran.out, "") << arguments;
  };
  const std::string file = config.string();
  refused("slrum " + file, "quasar launch knows no 'slrum'; known: slurm, kubernetes; did you mean 'slurm'?");
  refused("slurm " + file + " --workers 0", "--workers is 0, but must be from 1 to 10000");
  refused("kubernetes " + file + " --gpus -1", "--gpus is -1, but must be from 0 to 64");
  refused("slurm " + file + " --image mine", "--image is not for slurm");
  refused("kubernetes " + file + " --sbatch partition=a", "--sbatch is not for kubernetes");
  refused("slurm " + file + " --sbatch --partition=a", "must be an option of sbatch without its dashes");
  refused("slurm " + file + " --storage study.db", "processes on several machines need postgresql://");
  refused("slurm " + file + " --storage postgresql://me:secret@server/a", "and give postgresql://me@server/a");
  refused("slurm " + file + " --storage postgresql://server", "'postgresql://server' names no database");
  refused("kubernetes " + file, "but pods have another file system");  // its model is named by an absolute path
  refused("kubernetes " + file + " --spot gold", "--spot is 'gold', but must be KEY=VALUE");
  refused("slurm " + (folder.path() / "absent.yaml").string(), "absent.yaml");
  write_file(config, words(small_space, "n_trails: 3\n"));
  refused("slurm " + file, "n_trials");
  const std::string secret = "study_storage_db: postgresql://me:secret@server/a\n";
  write_file(config, words(small_space, secret));
  refused("slurm " + file, "study_storage_db has a password, which would stand in the script");
  write_file(config,
             "preset: cpu_int8_search\nmodel_input: digits.onnx\ncalib_data_reader: random\neval_data_reader: random\n" + secret);
  fs::copy(digits("digits.onnx"), folder.path() / "digits.onnx");
  refused("kubernetes " + file + " --storage postgresql://me@server/b", "study_storage_db has a password, which all would see");
}

// A database may have searches of others.
TEST_F(Search, FilesForClustersSayForWhichStudyWorkersWork) {
  for (const bool is_named : {false, true}) {
    write_file(config, words(small_space, is_named ? "study_name: it's mine\n" : ""));
    const std::string study = is_named ? "'it'\\''s mine'" : "'AutoSearch'";
    const Ran ran = run("launch slurm " + config.string() + " --storage postgresql://me@server/a");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_NE(ran.out.find("quasar worker \"$storage\" --study " + study + " --wait"), std::string::npos) << ran.out;
  }
}

TEST_F(Search, FilesForClustersTakeTheConfigurationsDatabase) {
  const auto printed = [&](const std::string& storage, const std::string& options) {
    write_file(config, words(small_space, "study_storage_db: " + storage + "\n"));
    const Ran ran = run("launch slurm " + config.string() + options);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  };
  EXPECT_NE(printed("postgresql://me@server/a", "").find("storage='postgresql://me@server/a'\n"), std::string::npos);
  EXPECT_NE(printed("postgresql://me@server/a", " --storage postgresql://me@other/b").find("storage='postgresql://me@other/b'\n"),
            std::string::npos);
  EXPECT_NE(printed("study.db", "").find("quasar serve"), std::string::npos);
}

}  // namespace quasar::e2e
