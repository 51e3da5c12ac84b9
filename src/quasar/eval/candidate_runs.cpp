#include "quasar/eval/candidate_runs.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace quasar::eval {
namespace {

// Samples of the next block when `scored` are done: few at first, where most losers drop out, and never so few that looking costs
// more than it saves.
size_t next_block(size_t scored, size_t count) {
  return std::min(count - scored, std::max<size_t>(16, scored / 8));
}

// What the candidate makes of this sample, into the ledger. -> its answer
int32_t score_sample(const FloatRun& reference, const runtime::Runner& session, size_t i, Ledger& ledger) {
  const ModelRuns& runs = reference.runs;
  const Flattened output(runs.run(session, runs.sample(i)), session.outputs(), *reference.weights);
  ledger.add(i, reference.scorable(i, output), reference.context);
  return output.answer();
}

}  // namespace

std::optional<Scores> raced(const FloatRun& reference, const CandidateRun& run,
                            const std::function<bool(std::span<const double> values)>& referee, std::span<const size_t> order) {
  const size_t count = reference.count;
  const runtime::Runner session = reference.runs.judged_runner(run.model, run.threads, run.device);
  Ledger ledger(reference.metrics, count);
  std::vector<int32_t> found(count);
  std::vector<double> raced;
  for (size_t done = 0; done < count;) {
    const size_t block = referee ? next_block(done, count) : count;
    parallel_for(block, run.threads, [&](size_t k) {
      const size_t i = referee ? order[done + k] : k;
      found[i] = score_sample(reference, session, i, ledger);
    });
    done += block;
    if (!referee) continue;
    while (raced.size() < done) raced.push_back(ledger.value(order[raced.size()]));
    if (!referee(raced) && done < count) return std::nullopt;
  }
  Scores scores = ledger.scores();
  reference.keep_answers(scores, std::move(found));
  return scores;
}

void each_pair(const FloatRun& reference, const CandidateRun& run, double noise,
               const std::function<void(size_t sample, const Pair& pair)>& visit) {
  const ModelRuns& runs = reference.runs;
  const runtime::Runner session = runs.judged_runner(run.model, run.threads, run.device);
  parallel_for(reference.count, run.threads, [&](size_t i) {
    const data::Sample sample = noise > 0 ? with_noise(runs.sample(i), noise, i) : runs.sample(i);
    const Flattened output(runs.run(session, sample), session.outputs(), *reference.weights);
    visit(i, reference.comparable(i, output.values()));
  });
}

void look_at(const FloatRun& reference, const CandidateRun& run, std::span<const size_t> order,
             const std::function<bool(size_t sample, double value)>& look, const std::string& name, const Sharer& sharer) {
  const ModelRuns& runs = reference.runs;
  std::mutex opening;
  std::optional<runtime::Runner> session;  // where others have not done it all
  const auto value_of = [&](size_t k) -> std::vector<double> {
    {
      const std::lock_guard lock(opening);
      if (!session) session.emplace(runs.judged_runner(run.model, run.threads, run.device));
    }
    const size_t i = order[k];
    const Flattened output(runs.run(*session, runs.sample(i)), session->outputs(), *reference.weights);
    return {reference.metrics.front().metric->of(reference.scorable(i, output), reference.context)};
  };
  do_parts(sharer, {.name = name,
                    .parts = order.size(),
                    .threads = run.threads,
                    .numbers = [](size_t) { return size_t{1}; },
                    .work = value_of,
                    .tell = [&](size_t k, std::span<const double> value) { return look(order[k], value.front()); }});
}

}  // namespace quasar::eval
