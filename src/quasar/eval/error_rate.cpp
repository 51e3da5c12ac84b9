#include "quasar/eval/error_rate.hpp"

#include <algorithm>
#include <numeric>

#include "quasar/base/error.hpp"
#include "quasar/eval/answers.hpp"

namespace quasar::eval {
namespace {

using Word = std::vector<int64_t>;

// How many insertions, deletions and substitutions make one of the other.
template <class Item>
double edits(const std::vector<Item>& from, const std::vector<Item>& to) {
  std::vector<size_t> row(to.size() + 1);  // from the first i items of `from` to each beginning of `to`
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= from.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t k = 1; k <= to.size(); ++k) {
      const size_t replaced = diagonal + (from[i - 1] == to[k - 1] ? 0 : 1);
      diagonal = row[k];
      row[k] = std::min({replaced, row[k] + 1, row[k - 1] + 1});
    }
  }
  return static_cast<double>(row.back());
}

// Parts are pairs: edits, and items of the truth.
class ErrorRatePool : public Pool {
 public:
  ErrorRatePool(std::span<const Part> parts, const std::string& owner) : parts_(parts) {
    if (std::ranges::all_of(parts, [](const Part& part) { return part[1] == 0; }))
      throw Error(owner + ": the truth of all samples is empty, so that no share of it can be wrong");
  }

  double value(std::span<const uint32_t> counts) const override {
    double wrong = 0, all = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      wrong += counts[i] * parts_[i][0];
      all += counts[i] * parts_[i][1];
    }
    return all == 0 ? 0 : wrong / all;
  }

 private:
  std::span<const Part> parts_;
};

class ErrorRate : public PooledMetric {
 public:
  ErrorRate(const Options& options, std::string owner)
      : owner_(std::move(owner)),
        as_float_(options.text("truth") == "float"),
        blank_(class_option(options, "blank", owner_)),
        space_(class_option(options, "space", owner_)),
        ignore_(options.integer("ignore")) {}
  Direction direction() const override { return Direction::minimize; }
  Truth needs() const override { return as_float_ ? Truth::none : Truth::target; }

  Part part(const Pair& x, const Context&) const override {
    const Word answer = read(x.candidate, x.layout),
               truth = as_float_ ? read(x.reference, x.layout) : without_ignored(*x.target, ignore_);
    if (!space_) return {edits(answer, truth), static_cast<double>(truth.size())};
    const std::vector<Word> heard = words_of(answer), said = words_of(truth);
    return {edits(heard, said), static_cast<double>(said.size())};
  }
  std::unique_ptr<Pool> pool(std::span<const Part> parts) const override {
    return std::make_unique<ErrorRatePool>(parts, owner_);
  }

 private:
  Word read(std::span<const float> values, const Layout* layout) const {
    Word classes = answers_of(values, layout, ClassAxis::last, owner_);
    return blank_ ? ctc_text(std::move(classes), *blank_) : classes;
  }

  std::vector<Word> words_of(const Word& tokens) const {
    std::vector<Word> words;
    bool inside = false;
    for (const int64_t token : tokens) {
      if (token != *space_ && !inside) words.emplace_back();
      inside = token != *space_;
      if (inside) words.back().push_back(token);
    }
    return words;
  }

  std::string owner_;
  bool as_float_;
  std::optional<int64_t> blank_, space_;
  int64_t ignore_;
};

}  // namespace

std::unique_ptr<Metric> error_rate(const Options& options, const std::string& owner) {
  return std::make_unique<ErrorRate>(options, owner);
}

std::vector<OptionSpec> error_rate_options(const std::string& space_help) {
  return {truth_option(), blank_option(), {"space", nullptr, space_help}, {"ignore", -100, "a label that does not count"}};
}

}  // namespace quasar::eval
