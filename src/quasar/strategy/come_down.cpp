#include "quasar/strategy/come_down.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "quasar/job/precision.hpp"
#include "quasar/trial/ranking.hpp"

namespace quasar::tune {
namespace {

constexpr size_t most_refused = 8;         // in a row
constexpr size_t most_refused_really = 6;  // the same of those that foresight nearly promises
// Parts of the loss foreseen that are tried all the same: it is estimated on some of the samples; and where a trial rounds anew,
// so much is gained by rounding for the model as it is then.
constexpr double nearly_enough = 0.97, nearly_enough_anew = 0.9;

// Asks operators that are left one after the other: the last one first, twice as many with each success until that fails, over
// and over, as one that comes may make room for another; until so many have refused in a row.
class InTurn {
 public:
  InTurn(size_t left, size_t most) : most_(most), next_(left) {}

  bool is_over(size_t left) const { return refused_ >= std::min(left, most_); }

  // Of those that are left, [first, second) are asked.
  std::pair<size_t, size_t> piece(size_t left) {
    if (next_ == 0) next_ = left;
    return {next_ - std::min(size_, next_), next_};
  }

  // `comes`: then they are left no longer.
  void tell(bool comes) {
    const bool single = size_ == 1;
    if (comes) refused_ = 0;
    if (!comes && single) refused_++;
    if (!comes && !single) more_ = 1;
    if (comes || single) next_ -= std::min(size_, next_);
    size_ = comes ? more_ * size_ : 1;
  }

 private:
  size_t most_, next_, size_ = 1, more_ = 2, refused_ = 0;
};

class ComingDown {
 public:
  ComingDown(const search::Space& space, TrialsAhead& trials, RepairNotes& notes, Foresight& foresight)
      : space_(space), trials_(trials), notes_(notes), foresight_(foresight) {}

  // -> whether it can be foreseen
  bool begin() {
    for (bool in_halves = true; foresee(); in_halves = false) {
      if (!come_as_foreseen(in_halves)) break;
    }
    return foreseeing_;
  }

  // To 8 bits, then those that cannot to the cheapest rung. What that changes may let others have 8 bits.
  void run() {
    begin();
    int64_t settled = -1;
    for (bool in_pieces = !foreseeing_; notes_.ground().number != settled; in_pieces = false) {
      come({[&](const std::string& node) { return notes_.cheapest(node); }, 0}, in_pieces);
      settled = notes_.ground().number;
      for (size_t r = 0; r + 1 < notes_.rungs().size(); r++) {
        const Rung& rung = notes_.rungs()[r];
        come({[&](const std::string& node) { return rung.nodes.contains(node) ? rung.choice : Json(); }, r + 1}, in_pieces);
      }
    }
  }

 private:
  // What operators on rung `from` or above become; null for one that cannot.
  struct Step {
    std::function<Json(const std::string& node)> to;
    size_t from = 0;
  };

  bool foresee() { return foreseeing_ = foresight_.begin(notes_.ground()); }

  using Piece = std::pair<size_t, size_t>;  // [first, second) of what is left

  // As far as foresight promises, or the greatest part of that way that holds. -> whether any trial on it did
  bool come_as_foreseen(bool in_halves) {
    const Step step{[&](const std::string& node) { return notes_.cheapest(node); }, 0};
    const search::Point from = notes_.ground().point;
    const std::vector<Changes> way = foreseen_way(step, from, in_halves);
    const int64_t before = notes_.ground().number;
    const auto point_of = [&](size_t count) { return changed(space_, from, first_of(way, count)); };
    greatest(way.size(), [&](size_t count) {
      if (count == 0) return true;
      const Guess guess{[&, later = shorter_ways(way.size(), point_of)]() mutable { return next_of(later); }, misses()};
      const search::Trial trial = trials_.evaluate(point_of(count), "take back", guess);
      notes_.note(trial, "take back", first_of(way, count));
      return notes_.holds(trial);
    });
    return notes_.ground().number != before;
  }

  static Changes first_of(const std::vector<Changes>& way, size_t count) {
    Changes changes;
    for (size_t i = 0; i < count; i++) changes.insert(changes.end(), way[i].begin(), way[i].end());
    return changes;
  }

  // What come_as_foreseen() tries next, one after the other, as long as nothing new holds.
  std::vector<search::Point> shorter_ways(size_t whole, const std::function<search::Point(size_t)>& point_of) const {
    std::vector<search::Point> points;
    greatest(whole, [&](size_t count) {
      if (count == 0) return true;
      search::Point point = point_of(count);
      const search::Trial* const known = trials_.find(point);
      if (known == nullptr) points.push_back(std::move(point));
      return known != nullptr && notes_.holds(*known);
    });
    return points;
  }

  // The first of these is what runs now.
  static std::optional<search::Point> next_of(std::vector<search::Point>& points) {
    if (points.size() < 2) return std::nullopt;
    points.erase(points.begin());
    return points.front();
  }

  // What would return one after the other, as in come(), if every trial ended as foreseen. Halves are asked on the first way: of
  // those that are left behind it hardly any go together.
  std::vector<Changes> foreseen_way(const Step& step, search::Point at, bool in_halves) {
    std::vector<std::string> left = above(step);
    std::vector<Changes> way;
    const auto returns = [&](size_t begin, size_t end) {
      Changes changes;
      for (size_t i = begin; i < end; i++) changes.emplace_back(precision_of(left[i]), step.to(left[i]));
      search::Point point = changed(space_, at, changes);
      if (!foresight_.meets(point)) return false;
      at = std::move(point);
      way.push_back(std::move(changes));
      left.erase(left.begin() + static_cast<ptrdiff_t>(begin), left.begin() + static_cast<ptrdiff_t>(end));
      return true;
    };
    for (size_t size = in_halves ? left.size() / 2 : 0; size > 1; size /= 2) returns(left.size() - size, left.size());
    for (InTurn turn(left.size(), most_refused); !turn.is_over(left.size());) {
      const auto [begin, end] = turn.piece(left.size());
      turn.tell(returns(begin, end));
    }
    return way;
  }

  // How many of the least harmful may return together, by bisection; then single ones. Not half of them: where so many could,
  // fewer would have been given up.
  void come(const Step& step, bool in_pieces) {
    std::vector<std::string> left = above(step);
    for (size_t size = in_pieces ? left.size() / 4 : 0; size > 1; size /= 2) {
      const Guess guess{[&, smaller = size / 2]() mutable { return smaller_piece(step, left, smaller); }, misses()};
      returns(step, left, {left.size() - size, left.size()}, guess);
    }
    one_by_one(step, left);
  }

  std::optional<search::Point> smaller_piece(const Step& step, const std::vector<std::string>& left, size_t& size) const {
    if (size < 2) return std::nullopt;
    const size_t begin = left.size() - std::exchange(size, size / 2);
    return point_with(step, left, {begin, left.size()});
  }

  // How far one_by_one() is: what can be gone on with on a guess.
  struct Asking {
    InTurn turn;
    size_t in_vain = 0;  // asked really
  };

  // The least harmful first, until the same model has refused all that are left, or so many in a row that more harmful ones need
  // not be asked. Not for those that were out of reach with more given up, and none that foresight does not nearly promise.
  void one_by_one(const Step& step, std::vector<std::string>& left) {
    Asking asking{InTurn(left.size(), foreseeing_ ? left.size() : most_refused)};
    while (!asking.turn.is_over(left.size())) {
      const Piece piece = asking.turn.piece(left.size());
      const bool single = piece.second - piece.first == 1;
      bool comes = false;
      const bool promised = is_promised(step, left, piece, asking);
      if (promised && single && was_out_of_reach(step, left[piece.first])) {
        if (step.from == 0) notes_.note_without(left[piece.first], out_of_reach_.at(asked_of(step, left[piece.first])));
      } else if (promised) {
        const Guess guess{[&, ahead = asking]() mutable { return after_refusal(step, left, ahead); }, misses()};
        comes = returns(step, left, piece, guess);
        if (single || comes) asking.in_vain = comes ? 0 : asking.in_vain + 1;
        if (comes && foreseeing_) foresee();
      }
      asking.turn.tell(comes);
    }
  }

  // What is asked for next if all before it refuse; `asking`: as it was before the last of them.
  std::optional<search::Point> after_refusal(const Step& step, const std::vector<std::string>& left, Asking& asking) {
    const Piece refused = asking.turn.piece(left.size());
    if (refused.second - refused.first == 1) asking.in_vain++;
    asking.turn.tell(false);
    while (!asking.turn.is_over(left.size())) {
      const Piece piece = asking.turn.piece(left.size());
      const bool single = piece.second - piece.first == 1;
      if (is_promised(step, left, piece, asking) && !(single && was_out_of_reach(step, left[piece.first])))
        return point_with(step, left, piece);
      asking.turn.tell(false);
    }
    return std::nullopt;
  }

  bool is_promised(const Step& step, const std::vector<std::string>& left, const Piece& piece, const Asking& asking) {
    return !foreseeing_ || (asking.in_vain < most_refused_really && promises(step, left, piece));
  }

  bool promises(const Step& step, const std::vector<std::string>& left, const Piece& piece) {
    const Json* fallback = notes_.ground().point.find(fallback_parameter);
    const bool anew = fallback != nullptr && *fallback == fallback_before_rounding;
    return foresight_.meets(point_with(step, left, piece), anew ? nearly_enough_anew : nearly_enough);
  }

  bool was_out_of_reach(const Step& step, const std::string& node) const { return out_of_reach_.contains(asked_of(step, node)); }

  static std::pair<std::string, std::string> asked_of(const Step& step, const std::string& node) {
    return {node, step.to(node).dump()};
  }

  static Changes changes_of(const Step& step, const std::vector<std::string>& left, const Piece& piece) {
    Changes changes;
    for (size_t i = piece.first; i < piece.second; i++) changes.emplace_back(precision_of(left[i]), step.to(left[i]));
    return changes;
  }

  search::Point point_with(const Step& step, const std::vector<std::string>& left, const Piece& piece) const {
    return changed(space_, notes_.ground().point, changes_of(step, left, piece));
  }

  std::function<bool(const search::Trial&)> misses() const {
    return [this](const search::Trial& trial) { return !notes_.holds(trial); };
  }

  // Whether this piece of `left` may; then they are left no longer.
  bool returns(const Step& step, std::vector<std::string>& left, const Piece& piece, const Guess& guess) {
    const search::Trial trial = trials_.evaluate(point_with(step, left, piece), "take back", guess);
    notes_.note(trial, "take back", changes_of(step, left, piece));
    const bool gains = notes_.ground().number == trial.number;  // not where both ways cost the same
    const auto [begin, end] = piece;
    if (gains) {
      left.erase(left.begin() + static_cast<ptrdiff_t>(begin), left.begin() + static_cast<ptrdiff_t>(end));
    } else if (end - begin == 1 && !notes_.holds(trial)) {
      if (step.from == 0) notes_.note_without(left[begin], trial);
      if (trial.state == search::State::pruned) out_of_reach_.insert_or_assign(asked_of(step, left[begin]), trial);
    }
    return gains;
  }

  // Those that can go, the most harmful first.
  std::vector<std::string> above(const Step& step) const {
    std::vector<std::string> nodes;
    for (const auto& [name, value] : notes_.ground().point.values()) {
      const auto rung = std::ranges::find(notes_.rungs(), value, &Rung::choice) - notes_.rungs().begin();
      if (!name.starts_with(precision_of("")) || rung < static_cast<ptrdiff_t>(step.from) || rung == std::ssize(notes_.rungs()))
        continue;
      const std::string node = name.substr(precision_of("").size());
      if (const Json to = step.to(node); !to.is_null() && to != value) nodes.push_back(node);
    }
    const std::vector<std::string> harmless = by_least_harm(notes_.units());
    const auto harm = [&](const std::string& node) { return std::ranges::find(harmless, node) - harmless.begin(); };
    std::ranges::stable_sort(nodes, std::ranges::greater(), harm);
    return nodes;
  }

  const search::Space& space_;
  TrialsAhead& trials_;
  RepairNotes& notes_;
  Foresight& foresight_;
  bool foreseeing_ = false;
  std::map<std::pair<std::string, std::string>, search::Trial> out_of_reach_;  // by operator and what it was to become
};

}  // namespace

void come_down(const search::Space& space, TrialsAhead& trials, RepairNotes& notes, Foresight& foresight) {
  ComingDown(space, trials, notes, foresight).run();
}

bool come_down_as_foreseen(const search::Space& space, TrialsAhead& trials, RepairNotes& notes, Foresight& foresight) {
  return ComingDown(space, trials, notes, foresight).begin();
}

}  // namespace quasar::tune
