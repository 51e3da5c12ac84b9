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
  refused("kubernetes " + file, "but pods have another file system");  // its model is named by an absolute path
  refused("kubernetes " + file + " --spot gold", "--spot is 'gold', but must be KEY=VALUE");
  refused("slurm " + (folder.path() / "absent.yaml").string(), "absent.yaml");
  write_file(config, words(small_space, "n_trails: 3\n"));
  refused("slurm " + file, "n_trials");
}

}  // namespace quasar::e2e
