#include "quasar/eval/parts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "quasar/eval/sums.hpp"

namespace quasar::eval {
namespace {

constexpr double most_ratio = 8;                   // of sizes within a part
constexpr int64_t most_slices = 4096;              // longer axes are places, and no kinds of values
constexpr size_t enough_values = size_t{1} << 24;  // to tell slices apart: beyond them, further samples are not looked at
constexpr double rounding = 1e-6;                  // of values that are probabilities but for float arithmetic
constexpr double nothing = 1e-7;                   // of the largest size: below it float32 sums hold no digits
constexpr size_t most_values = size_t{1} << 22;    // of a sample, to look at each between samples: 64 MB
constexpr size_t enough_samples = 8;               // to say how much values vary between them

// What one slice along an axis holds, over all samples.
struct Slice {
  double squares = 0;
  double count = 0;
  float low = INFINITY, high = -INFINITY;
  double rms() const { return count == 0 ? 0 : std::sqrt(squares / count); }
  bool is_probability() const { return low >= -rounding && high <= 1 + rounding; }
};

// An output as blocks along an axis: `before` times `length` slices of `after` values.
struct Blocks {
  size_t before = 1, length = 1, after = 1;
  Blocks(const Shape& shape, std::optional<size_t> axis) {
    for (size_t i = 0; i < shape.size(); ++i) {
      const auto size = static_cast<size_t>(shape[i]);
      (!axis || i > *axis ? after : i < *axis ? before : length) *= size;
    }
  }
};

size_t count_in(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t{1}, [](size_t n, int64_t d) { return n * static_cast<size_t>(d); });
}

// Where the output begins among a sample's values.
size_t offset_of(const Layout& layout, size_t output) {
  size_t offset = 0;
  for (size_t i = 0; i < output; ++i) offset += count_in(layout.outputs[i]);
  return offset;
}

std::vector<Slice> slices_along(size_t axis, size_t output, const OutputParts::Samples& samples) {
  std::vector<Slice> out(static_cast<size_t>(samples.layout(0).outputs[output][axis]));
  for (size_t i = 0; i < samples.count; ++i) {
    const Blocks blocks(samples.layout(i).outputs[output], axis);
    const float* at = samples.values(i).data() + offset_of(samples.layout(i), output);
    for (size_t b = 0; b < blocks.before; ++b) {
      for (Slice& slice : out) {
        slice.squares += sum(blocks.after, [&](size_t k) { return static_cast<double>(at[k]) * static_cast<double>(at[k]); });
        for (size_t k = 0; k < blocks.after; ++k) {
          slice.low = std::min(slice.low, at[k]);
          slice.high = std::max(slice.high, at[k]);
        }
        slice.count += static_cast<double>(blocks.after);
        at += blocks.after;
      }
    }
  }
  return out;
}

// Groups of slices of one size, the largest values first, and the widest gap between two groups.
struct Groups {
  std::vector<std::vector<int64_t>> members;
  double gap = 1;
};

Groups groups_of(const std::vector<Slice>& slices) {
  Groups out;
  std::vector<int64_t> probabilities, others;
  double largest = 0, of_probabilities = 0, count = 0;
  for (const Slice& slice : slices) largest = std::max(largest, slice.rms());
  for (size_t i = 0; i < slices.size(); ++i) {
    if (!(slices[i].rms() > (slices[i].is_probability() ? 0 : nothing * largest))) continue;
    (slices[i].is_probability() ? probabilities : others).push_back(static_cast<int64_t>(i));
    if (!slices[i].is_probability()) continue;
    of_probabilities += slices[i].squares;
    count += slices[i].count;
  }
  // Sizes of what is to be told apart: of each other slice its own, of probabilities one for all.
  std::vector<std::pair<double, std::vector<int64_t>>> sized;
  for (const int64_t i : others) sized.push_back({slices[static_cast<size_t>(i)].rms(), {i}});
  if (!probabilities.empty()) sized.push_back({std::sqrt(of_probabilities / count), probabilities});
  std::ranges::stable_sort(sized, std::greater<>(), &std::pair<double, std::vector<int64_t>>::first);
  for (size_t i = 0; i < sized.size(); ++i) {
    const double ratio = i == 0 ? 1 : sized[i - 1].first / sized[i].first;
    if (i == 0 || ratio > most_ratio) out.members.emplace_back();
    if (i > 0 && ratio > most_ratio) out.gap = std::max(out.gap, ratio);
    out.members.back().insert(out.members.back().end(), sized[i].second.begin(), sized[i].second.end());
  }
  for (auto& members : out.members) std::ranges::sort(members);
  return out;
}

// Axes that have the same length in all samples, and are no longer than kinds of values are many.
std::vector<size_t> axes_of(size_t output, const OutputParts::Samples& samples) {
  std::vector<size_t> out;
  const Shape& first = samples.layout(0).outputs[output];
  for (size_t axis = 0; axis < first.size(); ++axis) {
    bool same = first[axis] > 1 && first[axis] <= most_slices;
    for (size_t i = 1; i < samples.count && same; ++i) {
      const Shape& shape = samples.layout(i).outputs[output];
      same = shape.size() == first.size() && shape[axis] == first[axis];
    }
    if (same) out.push_back(axis);
  }
  return out;
}

}  // namespace

OutputParts::OutputParts(const Samples& samples) {
  Samples first = samples;
  const size_t most = enough_values / std::max<size_t>(1, samples.values(0).size());
  first.count = std::min(samples.count, std::max<size_t>(most, 8));
  for (size_t output = 0; output < samples.layout(0).outputs.size(); ++output) split(output, axes_of(output, samples), first);
  std::vector<double> squares(parts_.size()), counts(parts_.size()), norms(parts_.size());
  double all = 0;
  for (size_t i = 0; i < samples.count; ++i) {
    const auto given = samples.values(i);
    all += std::sqrt(dot(given, given));
    std::vector<double> here(parts_.size());
    visit(&samples.layout(i), given.size(), [&](size_t part, size_t at, size_t count) {
      here[part] += dot(given.subspan(at, count), given.subspan(at, count));
      counts[part] += static_cast<double>(count);
    });
    for (size_t p = 0; p < parts_.size(); ++p) {
      squares[p] += here[p];
      norms[p] += std::sqrt(here[p]);
    }
  }
  const auto n = static_cast<double>(samples.count);
  for (size_t p = 0; p < parts_.size(); ++p) {
    parts_[p].rms = counts[p] == 0 ? 0 : std::sqrt(squares[p] / counts[p]);
    parts_[p].norm = norms[p] / n;
  }
  norm_ = all / n;
  measure_spreads(samples);
}

void OutputParts::measure_spreads(const Samples& samples) {
  const auto& shapes = samples.layout(0).outputs;
  for (size_t i = 1; i < samples.count; ++i)
    if (samples.layout(i).outputs != shapes) return;
  if (samples.count < enough_samples || samples.values(0).size() > most_values) return;
  // Of each value, by Welford's recurrence: the mean so far, and the squares of what differs from it.
  std::vector<double> mean(samples.values(0).size()), squares(mean.size());
  for (size_t i = 0; i < samples.count; ++i) {
    const auto given = samples.values(i);
    const double share = 1 / static_cast<double>(i + 1);
    for (size_t k = 0; k < given.size(); ++k) {
      const double off = static_cast<double>(given[k]) - mean[k];
      mean[k] += off * share;
      squares[k] += off * (static_cast<double>(given[k]) - mean[k]);
    }
  }
  std::vector<double> sums(parts_.size()), counts(parts_.size());
  visit(&samples.layout(0), mean.size(), [&](size_t part, size_t at, size_t count) {
    sums[part] +=
        std::accumulate(squares.begin() + static_cast<ptrdiff_t>(at), squares.begin() + static_cast<ptrdiff_t>(at + count), 0.0);
    counts[part] += static_cast<double>(count);
  });
  for (size_t p = 0; p < parts_.size(); ++p)
    if (counts[p] > 0) parts_[p].spread = std::sqrt(sums[p] / counts[p] / static_cast<double>(samples.count - 1));
}

void OutputParts::split(size_t output, const std::vector<size_t>& axes, const Samples& samples) {
  Groups widest;
  std::optional<size_t> best;
  size_t length = 0;
  for (const size_t axis : axes) {
    const auto slices = slices_along(axis, output, samples);
    Groups groups = groups_of(slices);
    if (groups.members.size() < 2 || groups.gap <= widest.gap) continue;
    widest = std::move(groups);
    best = axis;
    length = slices.size();
  }
  Split made{best, {}};
  if (!best) {
    made.part = {static_cast<ptrdiff_t>(parts_.size())};
    parts_.push_back({.output = output});
  } else {
    made.part.assign(length, -1);
    for (auto& members : widest.members) {
      for (const int64_t slice : members) made.part[static_cast<size_t>(slice)] = static_cast<ptrdiff_t>(parts_.size());
      parts_.push_back({.output = output, .axis = best, .slices = std::move(members)});
    }
  }
  splits_.push_back(std::move(made));
}

// Every run of values that belong to one part: the part, where the run begins, how long it is.
template <class Visit>
void OutputParts::visit(const Layout* layout, size_t count, const Visit& visit) const {
  size_t at = 0;
  for (size_t output = 0; output < splits_.size(); ++output) {
    const Split& split = splits_[output];
    if (!split.axis) {
      const size_t size = layout == nullptr ? count : count_in(layout->outputs[output]);
      visit(static_cast<size_t>(split.part.front()), at, size);
      at += size;
      continue;
    }
    const Blocks blocks(layout->outputs[output], split.axis);
    for (size_t b = 0; b < blocks.before; ++b) {
      for (size_t slice = 0; slice < blocks.length;) {
        const size_t first = slice;
        while (slice < blocks.length && split.part[slice] == split.part[first]) ++slice;
        const size_t size = (slice - first) * blocks.after;
        if (split.part[first] >= 0) visit(static_cast<size_t>(split.part[first]), at, size);
        at += size;
      }
    }
  }
}

bool OutputParts::differ() const {
  double least = INFINITY, most = 0;
  for (const OutputPart& part : parts_) {
    if (part.rms == 0) continue;
    least = std::min(least, part.rms);
    most = std::max(most, part.rms);
  }
  return most > most_ratio * least;
}

bool OutputParts::fits(const std::vector<Shape>& outputs) const {
  for (size_t i = 0; i < splits_.size(); ++i) {
    const auto& [axis, part] = splits_[i];
    if (axis && (*axis >= outputs[i].size() || static_cast<size_t>(outputs[i][*axis]) != part.size())) return false;
  }
  return true;
}

std::vector<double> OutputParts::squared_distances(const Pair& sample) const {
  std::vector<double> out(parts_.size());
  visit(sample.layout, sample.reference.size(), [&](size_t part, size_t at, size_t count) {
    out[part] += squared_distance(sample.reference.subspan(at, count), sample.candidate.subspan(at, count));
  });
  return out;
}

void OutputParts::add(const Pair& sample, std::vector<Sums>& sums) const {
  sums.resize(parts_.size());
  visit(sample.layout, sample.reference.size(), [&](size_t part, size_t at, size_t count) {
    if (count == 0) return;
    const auto f = sample.reference.subspan(at, count), q = sample.candidate.subspan(at, count);
    Sums& to = sums[part];
    to.reference += dot(f, f);
    to.candidate += dot(q, q);
    to.product += dot(f, q);
    to.distance += squared_distance(f, q);
    for (const size_t which : {size_t{0}, size_t{1}}) {
      const auto [low, high] = std::ranges::minmax(which == 0 ? f : q);
      to.low[which] = to.any ? std::min(to.low[which], low) : low;
      to.high[which] = to.any ? std::max(to.high[which], high) : high;
    }
    to.any = true;
  });
}

std::vector<PartError> OutputParts::errors(const std::vector<std::vector<Sums>>& sums) {
  std::vector<PartError> out;
  for (size_t part = 0; part < sums.front().size(); ++part) {
    Sums all;
    for (const auto& sample : sums) {
      const Sums& one = sample[part];
      if (!one.any) continue;
      all.reference += one.reference;
      all.candidate += one.candidate;
      all.product += one.product;
      all.distance += one.distance;
      for (const size_t which : {size_t{0}, size_t{1}}) {
        all.low[which] = all.any ? std::min(all.low[which], one.low[which]) : one.low[which];
        all.high[which] = all.any ? std::max(all.high[which], one.high[which]) : one.high[which];
      }
      all.any = true;
    }
    PartError error;
    const double norms = std::sqrt(all.reference) * std::sqrt(all.candidate);
    if (all.reference > 0) error.relative = std::sqrt(all.distance / all.reference);
    if (norms > 0) error.cosine = std::clamp(all.product / norms, -1.0, 1.0);
    error.constant = all.any && all.low[1] == all.high[1] && all.low[0] < all.high[0];
    out.push_back(error);
  }
  return out;
}

}  // namespace quasar::eval
