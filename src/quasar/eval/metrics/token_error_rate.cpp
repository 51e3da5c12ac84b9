// Wrong tokens in what a model reads or hears (error_rate.hpp).
#include "quasar/eval/error_rate.hpp"

namespace quasar::eval::metrics {

Entry<Metric> token_error_rate() {
  return {
      .help = "edits per token of the truth, of outputs [1,length,classes]: character or word error rate of readers and speech",
      .make = [](const Options& options) { return error_rate(options, "metric token_error_rate"); },
      .options = error_rate_options("the class between words, which are compared as wholes then; left out: tokens"),
      .aliases = {"cer"}};
}

}  // namespace quasar::eval::metrics
