#include "quasar/trial/shared_work.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <thread>

#include "quasar/base/cancellation.hpp"
#include "quasar/base/machine.hpp"
#include "quasar/base/stopwatch.hpp"

namespace quasar::tune {
namespace {

constexpr size_t most_blocks = 16;  // of parts: the study has a row for each
constexpr std::chrono::milliseconds shortest_pause(1), longest_pause(8);

// One call.
class Sharing {
 public:
  Sharing(const Companions& with, const WorkShares& shares, const PartedWork& work)
      : with_(with), shares_(shares), work_(work), size_((work.parts + most_blocks - 1) / most_blocks) {
    for (size_t first = 0; first < work.parts; first += size_) open_.push_back(first);
  }

  void run() {
    if (work_.at_hand) return do_at_hand();
    Stopwatch waiting;
    for (std::chrono::milliseconds pause = shortest_pause; !open_.empty();) {
      throw_if_cancelled();
      if (is_little_left()) return do_here();
      const size_t before = open_.size();
      const std::optional<Blocks> mine = ask();
      if (!mine) return do_here();
      if (!mine->empty()) do_mine(*mine);
      if (open_.size() != before) {
        waiting = {};
        pause = shortest_pause;
      } else if (waiting.seconds() > std::max(shares_.patience, 10 * seconds_of_block_)) {
        do_mine(Blocks(open_));
      } else {
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, longest_pause);
      }
    }
  }

 private:
  using Blocks = std::vector<size_t>;  // by their first parts

  std::string question_of(size_t block) const { return work_.name + ' ' + std::to_string(block); }
  size_t end_of(size_t block) const { return std::min(block + size_, work_.parts); }

  bool is_little_left() const {
    return seconds_of_block_ > 0 && static_cast<double>(open_.size()) * seconds_of_block_ < shares_.little;
  }

  // -> which blocks are this process's; nullopt: there is nobody to ask any more. Tells what others have answered.
  std::optional<Blocks> ask() {
    std::vector<std::string> questions;
    for (const size_t block : open_) questions.push_back(question_of(block));
    search::Answers::Known known;
    try {
      known = with_.answers->ask(with_.study, questions, how_many());
    } catch (const Error&) {  // a role that may not make the table, or a server that is gone
      return std::nullopt;
    }
    Blocks mine;
    for (const size_t block : Blocks(open_)) {
      const std::string question = question_of(block);
      if (std::ranges::find(known.mine, question) != known.mine.end()) mine.push_back(block);
      const auto said = known.answers.find(question);
      if (said == known.answers.end()) continue;
      const auto numbers = numbers_in(said->second, block);
      if (!numbers) mine.push_back(block);
      if (numbers) tell(block, *numbers);
    }
    std::erase_if(mine, [&](size_t block) { return std::ranges::find(open_, block) == open_.end(); });
    return mine;
  }

  // Fewer towards the end, so that nobody waits long for the last ones.
  size_t how_many() const {
    const size_t threads = work_.threads == 0 ? cores() : work_.threads, fewest = (threads + size_ - 1) / size_;
    if (seconds_of_block_ <= 0) return fewest;
    const auto fitting = static_cast<size_t>(shares_.seconds / seconds_of_block_);
    return std::max(fewest, std::min(fitting, open_.size() / 2));
  }

  size_t numbers_of(size_t block) const {
    size_t count = 0;
    for (size_t part = block; part < end_of(block); part++) count += work_.numbers(part);
    return count;
  }

  // nullopt: what only a process of Quasar's with the same work would not have written, or a number that is none.
  std::optional<std::vector<double>> numbers_in(const Json& answer, size_t block) const {
    if (!answer.is_array() || answer.size() != numbers_of(block)) return std::nullopt;
    if (!std::ranges::all_of(answer, [](const Json& one) { return one.is_number(); })) return std::nullopt;
    return answer.get<std::vector<double>>();
  }

  void tell(size_t block, std::span<const double> numbers) {
    std::erase(open_, block);
    for (size_t part = block; part < end_of(block); part++) {
      const size_t count = work_.numbers(part);
      if (!is_over_ && !work_.tell(part, numbers.first(count))) is_over_ = true;
      numbers = numbers.subspan(count);
    }
    if (is_over_) open_.clear();
  }

  using Results = std::vector<std::vector<double>>;  // by block

  Results results_of(const Blocks& blocks) const {
    std::vector<std::vector<double>> parts(blocks.size() * size_);
    parallel_for(parts.size(), work_.threads, [&](size_t i) {
      const size_t part = blocks[i / size_] + i % size_;
      if (part < end_of(blocks[i / size_])) parts[i] = work_.work(part);
    });
    Results out(blocks.size());
    for (size_t i = 0; i < parts.size(); i++) out[i / size_].insert(out[i / size_].end(), parts[i].begin(), parts[i].end());
    return out;
  }

  void answer(const Blocks& blocks, const Results& results) const {
    std::map<std::string, Json> answers;
    for (size_t i = 0; i < blocks.size(); i++) answers[question_of(blocks[i])] = results[i];
    try {
      with_.answers->answer(with_.study, answers);
    } catch (const Error&) {  // others do it themselves
    }
  }

  void do_mine(const Blocks& mine) {
    const Stopwatch watch;
    Results results;
    try {
      results = results_of(mine);
    } catch (...) {
      forget(mine);
      throw;
    }
    seconds_of_block_ = watch.seconds() / static_cast<double>(mine.size());
    answer(mine, results);
    for (size_t i = 0; i < mine.size(); i++) tell(mine[i], results[i]);
  }

  void do_here() const {
    PartedWork rest = work_;
    std::vector<size_t> parts;
    for (const size_t block : open_) {
      for (size_t part = block; part < end_of(block); part++) parts.push_back(part);
    }
    rest.parts = parts.size();
    rest.work = [&](size_t i) { return work_.work(parts[i]); };
    rest.tell = [&](size_t i, std::span<const double> numbers) { return work_.tell(parts[i], numbers); };
    do_parts(rest);
  }

  void do_at_hand() {
    const Results results = results_of(open_);
    answer(open_, results);
    for (const size_t block : Blocks(open_)) tell(block, results[block / size_]);
  }

  void forget(const Blocks& blocks) const noexcept {
    try {
      for (const size_t block : blocks) with_.answers->forget(with_.study, question_of(block));
    } catch (const std::exception&) {  // others wait a while
    }
  }

  const Companions& with_;
  const WorkShares& shares_;
  const PartedWork& work_;
  const size_t size_;  // of a block
  Blocks open_;        // whose numbers are not known yet
  bool is_over_ = false;
  double seconds_of_block_ = 0;  // here; 0: none was done yet
};

}  // namespace

Companions companions_in(const search::Study& study) {
  if (!study.is_shared()) return {};
  return {study.sharing()->answers(), study.id()};
}

Sharer sharer_with(const Companions& with, const WorkShares& shares) {
  if (with.answers == nullptr) return {};
  return [with, shares](const PartedWork& work) {
    if (work.parts > 0) Sharing(with, shares, work).run();
  };
}

}  // namespace quasar::tune
