// Wrong words in what a model reads or hears (error_rate.hpp): they stand between places of one class.
#include "quasar/base/error.hpp"
#include "quasar/eval/error_rate.hpp"

namespace quasar::eval::metrics {
namespace {

std::unique_ptr<Metric> make_of_words(const Options& options) {
  if (!options.has("space"))
    throw Error(
        "metric word_error_rate (wer): which class stands between words? Say {name: wer, space: CLASS}, or 'wer(space=CLASS)'. "
        "Without such a class take token_error_rate (cer). For decoders that write token by token, Python has "
        "quasar.transcription_errors()");
  return error_rate(options, "metric word_error_rate");
}

}  // namespace

Entry<Metric> word_error_rate() {
  return {.help = "edits per word of the truth, of outputs [1,length,classes] where one class stands between words",
          .make = make_of_words,
          .options = error_rate_options("the class between words; it must be given"),
          .aliases = {"wer"}};
}

}  // namespace quasar::eval::metrics
