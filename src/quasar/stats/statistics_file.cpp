#include "quasar/stats/statistics_file.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "quasar/base/error.hpp"
#include "quasar/base/hash.hpp"

namespace quasar::stats {
namespace {

// A line of text, so that people see what they have, the key, the statistics, and the hash of all that. Another number belongs
// to another form, and to other ways of observing.
constexpr std::string_view start = "quasar statistics, version 1\n";
constexpr size_t hash_size = 32, most_dimensions = 1024, longest_number = 10;

// Whole numbers in groups of 7 bits, the lowest first (most counts of a histogram are small); all else in 8 bytes, the lowest
// first, on every processor.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  void number(uint64_t x) {
    for (; x >= 0x80; x >>= 7) out_.push_back(static_cast<char>(x | 0x80));
    out_.push_back(static_cast<char>(x));
  }
  void word(uint64_t x) {
    for (int shift = 0; shift < 64; shift += 8) out_.push_back(static_cast<char>(x >> shift));
  }
  void real(double x) { word(std::bit_cast<uint64_t>(x)); }
  void range(const Range& x) { real(x.low), real(x.high); }

 private:
  std::string& out_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  uint64_t number() {
    uint64_t out = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const uint64_t next = byte();
      if (shift == 63 && next > 1) break;
      out |= (next & 0x7f) << shift;
      if (next < 0x80) return out;
    }
    throw damaged();
  }
  uint64_t word() {
    uint64_t out = 0;
    for (int shift = 0; shift < 64; shift += 8) out |= uint64_t{byte()} << shift;
    return out;
  }
  double real() {
    const auto out = std::bit_cast<double>(word());
    if (!std::isfinite(out)) throw damaged();
    return out;
  }
  Range range() {
    const double low = real();
    return {low, real()};
  }
  bool at_end() const { return at_ == bytes_.size(); }

  static Error damaged() { return Error("it is damaged"); }

 private:
  uint8_t byte() {
    if (at_end()) throw damaged();
    return static_cast<uint8_t>(bytes_[at_++]);
  }
  std::string_view bytes_;
  size_t at_ = 0;
};

// Of what one that was asked for has, and of one that was not.
size_t bins_of(const Requests& requests) {
  return (requests.histogram ? Histogram() : TensorStats().histogram).bins();
}

void write(Writer& out, const Histogram& histogram) {
  out.real(histogram.limit());
  out.range(histogram.range());
  out.number(histogram.zeros());
  out.number(histogram.not_finite());
  for (const uint64_t count : histogram.counts()) out.number(count);
}

Histogram read_histogram(Reader& in, size_t bins) {
  const double limit = in.real();
  const Range range = in.range();
  const uint64_t zeros = in.number(), not_finite = in.number();
  std::vector<uint64_t> counts(bins);
  for (uint64_t& count : counts) count = in.number();
  const bool empty = std::ranges::all_of(counts, [](uint64_t count) { return count == 0; });
  const bool holds_range = range.low <= range.high && std::max(-range.low, range.high) <= limit;
  if (!holds_range || !(limit == 0 ? empty : Histogram::is_limit(limit))) throw Reader::damaged();
  return Histogram::restored(counts, limit, zeros, not_finite, range);
}

void write(Writer& out, const TensorStats& seen) {
  out.number(seen.count);
  out.number(seen.not_finite);
  out.range(seen.range);
  out.real(seen.mean);
  out.real(seen.mean_square);
  out.number(seen.averaged.size());
  for (const auto& [constant, range] : seen.averaged) out.real(constant), out.range(range);
  out.number(seen.shape.size());
  for (const int64_t size : seen.shape) out.word(static_cast<uint64_t>(size));
  write(out, seen.histogram);
}

TensorStats read_tensor(Reader& in, const Requests& requests) {
  TensorStats out;
  out.count = in.number();
  out.not_finite = in.number();
  out.range = in.range();
  out.mean = in.real();
  out.mean_square = in.real();
  const uint64_t averages = in.number();
  if (averages > requests.averages.size()) throw Reader::damaged();
  for (uint64_t i = 0; i < averages; ++i) {
    const double constant = in.real();
    if (!requests.averages.contains(constant)) throw Reader::damaged();
    out.averaged[constant] = in.range();
  }
  const uint64_t dimensions = in.number();
  if (dimensions > most_dimensions) throw Reader::damaged();
  for (uint64_t i = 0; i < dimensions; ++i) out.shape.push_back(static_cast<int64_t>(in.word()));
  out.histogram = read_histogram(in, bins_of(requests));
  const bool counted = !requests.histogram || out.histogram.total() == out.count;
  const bool is_shape = std::ranges::all_of(out.shape, [](int64_t size) { return size >= -1; });
  if (out.range.low > out.range.high || !counted || !is_shape) throw Reader::damaged();
  return out;
}

}  // namespace

std::string bytes_of(const std::map<size_t, Statistics>& seen, const FileContents& contents) {
  std::string out = std::string(start) + contents.key;
  Writer writer(out);
  for (const size_t size : contents.sizes) {
    for (const auto& value : contents.values) write(writer, seen.at(size).at(value));
  }
  return out + hash_of(std::string_view(out));
}

std::map<size_t, Statistics> statistics_of(std::string_view bytes, const FileContents& contents) {
  if (!bytes.starts_with(start)) throw Error("it holds no statistics, or those of another version of Quasar");
  if (bytes.size() < start.size() + contents.key.size() + hash_size) throw Reader::damaged();
  const std::string_view said = bytes.substr(bytes.size() - hash_size);
  bytes.remove_suffix(hash_size);
  if (hash_of(bytes) != said) throw Reader::damaged();
  bytes.remove_prefix(start.size());
  if (!bytes.starts_with(contents.key)) throw Error("it holds statistics of something else");
  Reader reader(bytes.substr(contents.key.size()));
  std::map<size_t, Statistics> out;
  for (const size_t size : contents.sizes) {
    Statistics& seen = out[size];
    for (const auto& value : contents.values) seen[value] = read_tensor(reader, contents.requests);
  }
  if (!reader.at_end()) throw Reader::damaged();
  return out;
}

size_t most_bytes(const FileContents& contents) {
  const size_t numbers = 6 + bins_of(contents.requests);
  const size_t words = 7 + 3 * contents.requests.averages.size() + most_dimensions;
  const size_t tensor = numbers * longest_number + words * sizeof(uint64_t);
  return start.size() + contents.key.size() + hash_size + contents.sizes.size() * contents.values.size() * tensor;
}

}  // namespace quasar::stats
