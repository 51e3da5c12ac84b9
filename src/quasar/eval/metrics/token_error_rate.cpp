// Share of wrong tokens in what a model reads or hears: insertions, deletions and substitutions between its answer and the truth
// (Levenshtein 1966), over the tokens of the truth, all samples together. With `blank` the output is one of connectionist
// temporal classification, decoded greedily (Graves et al. 2006): repeated classes are merged, then blanks dropped. With `space`
// words are compared instead: runs of tokens between this one.
#include <algorithm>
#include <numeric>

#include "quasar/base/error.hpp"
#include "quasar/eval/answers.hpp"
#include "quasar/eval/metric.hpp"

namespace quasar::eval::metrics {
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
  explicit ErrorRatePool(std::span<const Part> parts) : parts_(parts) {
    if (std::ranges::all_of(parts, [](const Part& part) { return part[1] == 0; }))
      throw Error("metric token_error_rate: the truth of all samples is empty, so that no share of it can be wrong");
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

class TokenErrorRate : public PooledMetric {
 public:
  explicit TokenErrorRate(const Options& options)
      : as_float_(options.text("truth") == "float"),
        blank_(class_option(options, "blank", "metric token_error_rate")),
        space_(class_option(options, "space", "metric token_error_rate")),
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
  std::unique_ptr<Pool> pool(std::span<const Part> parts) const override { return std::make_unique<ErrorRatePool>(parts); }

 private:
  Word read(std::span<const float> values, const Layout* layout) const {
    Word classes = answers_of(values, layout, ClassAxis::last, "metric token_error_rate");
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

  bool as_float_;
  std::optional<int64_t> blank_, space_;
  int64_t ignore_;
};

}  // namespace

Entry<Metric> token_error_rate() {
  return {
      .help = "edits per token of the truth, of outputs [1,length,classes]: character or word error rate of readers and speech",
      .make = make_as<TokenErrorRate, Metric>,
      .options = {truth_option(),
                  blank_option(),
                  {"space", nullptr, "the class between words, which are compared as wholes then; left out: tokens"},
                  {"ignore", -100, "a label that does not count"}},
      .aliases = {"cer"}};
}

}  // namespace quasar::eval::metrics
