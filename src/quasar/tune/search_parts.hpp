// What a search and its workers do alike: how the parts of a job become what trials are run with.
#pragma once

#include <functional>

#include "quasar/base/deadline.hpp"
#include "quasar/search/storage.hpp"
#include "quasar/tune/prepared_job.hpp"
#include "quasar/tune/summary.hpp"

namespace quasar::tune {

Variants variants_of(const Job& job, const PreparedJob& prepared, const Log& log);
eval::Evaluator evaluator_of(const Job& job, const PreparedJob& prepared);

// The job with the metric of the model's head among those that are reported, where the evaluator has added it. The study, whose
// words and goal are as the user gave them, does not know of it.
Job with_head(Job job, const eval::Evaluator& evaluator);

// What the values of a study come from.
struct Source {
  const eval::Evaluator& evaluator;
  const data::Splits& samples;
  std::function<void(const std::string&)> warn = {};  // of values that may not stand beside the study's
};

// The finished trials of the job's study, without touching it. Throws Error as open_early() and lead_study() do.
std::vector<search::Trial> finished_before(const Job& job, const data::Splits& samples);

// The storage of the job's study, opened while the work that would be lost has not begun. A file that is not there is made later:
// nullptr. Throws Error for a storage that cannot be had, and for a study in it that the job does not continue.
std::unique_ptr<search::Storage> open_early(const StudyKeys& keys);

// The job's study, made or continued. Workers may join when it is announced as running. Throws Error when it is about another
// model, metric, target, or other samples.
search::Study lead_study(const Job& job, search::Storage& storage, const Source& source, const std::string& launch = "");

// The same for a worker, whose job must be that of the search but for what is local to a machine. Throws Error that names the key
// that differs.
search::Study join_study(const Job& job, search::Storage& storage, const Source& source);

// What a search's trials share, whole: a laboratory with all that nobody else has. The arguments outlive it.
struct TrialRoom {
  TrialRoom(const Job& job, const PreparedJob& prepared, Variants& variants, const eval::Evaluator& evaluator,
            const search::Study& study);
  ScoreBook book;
  Undisturbed undisturbed;
  runtime::DeviceRing devices;
  const std::unique_ptr<search::Racer> racer;
  const std::unique_ptr<EarlyRejection> rejection;
  const TrialContext context;
};

// The strategy's trials, from wherever the study stands.
Finding run_strategy(const TrialContext& context, const PreparedJob& prepared, search::Study& study, const Monitor& monitor,
                     Deadline::Clock::time_point begin);

}  // namespace quasar::tune
