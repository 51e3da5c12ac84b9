#include "quasar/stats/statistics_file.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "quasar/base/error.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/rng.hpp"

namespace quasar::stats {
namespace {

const std::string key(32, 'k');
FileContents contents_of(std::vector<std::string> values, std::set<size_t> sizes, bool histogram = false,
                         std::set<double> averages = {}) {
  FileContents out;
  out.key = key;
  out.values = std::move(values);
  out.sizes = std::move(sizes);
  out.requests.histogram = histogram;
  out.requests.averages = std::move(averages);
  return out;
}

const FileContents plain = contents_of({"b", "a"}, {2, 3}, false, {0.1, 0.01});
const FileContents full = contents_of({"b", "a"}, {3}, true, {0.1});

// Of values whose sums have no short decimal form; "a" saw nothing but zeros and infinities.
std::map<size_t, Statistics> seen_for(const FileContents& contents) {
  std::map<size_t, Statistics> out;
  Rng rng(3);
  for (const size_t size : contents.sizes) {
    std::vector<float> values(size * 50);
    for (float& x : values) x = static_cast<float>(std::exp(20 * rng.normal()) * (rng.uniform() - 0.5));
    out[size]["b"] = of_values(values, contents.requests);
    out[size]["b"].shape = {1, -1, int64_t{1} << 40};
    out[size]["a"] = of_values(std::vector<float>{-0.0F, 0.0F, -std::numeric_limits<float>::infinity()}, contents.requests);
  }
  return out;
}

std::string error_of(std::string_view bytes, const FileContents& contents) {
  try {
    statistics_of(bytes, contents);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

// With a hash that fits, as somebody with bad intentions would write it.
std::string signed_again(std::string bytes) {
  bytes.resize(bytes.size() - 32);
  return bytes + hash_of(std::string_view(bytes));
}

TEST(StatisticsFile, WhatWasWrittenIsReadBitForBit) {
  for (const FileContents* contents : {&plain, &full}) {
    const auto seen = seen_for(*contents);
    const std::string bytes = bytes_of(seen, *contents);
    EXPECT_LE(bytes.size(), most_bytes(*contents));
    const auto again = statistics_of(bytes, *contents);
    EXPECT_EQ(again, seen);
    EXPECT_EQ(bytes_of(again, *contents), bytes) << "signs of zeros, too";
    EXPECT_EQ(again.begin()->second.at("b").histogram.quantile(0.3), seen.begin()->second.at("b").histogram.quantile(0.3));
  }
}

TEST(StatisticsFile, NothingAtAllIsKept) {
  const FileContents none = contents_of({}, {1});
  EXPECT_EQ(statistics_of(bytes_of({{1, {}}}, none), none), (std::map<size_t, Statistics>{{1, {}}}));
}

TEST(StatisticsFile, AnyChangeIsFound) {
  const std::string bytes = bytes_of(seen_for(plain), plain);
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_NE(error_of(bytes.substr(0, i), plain), "") << i;
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 4);
    EXPECT_NE(error_of(changed, plain), "") << i;
  }
  EXPECT_NE(error_of(bytes + "x", plain), "");
}

TEST(StatisticsFile, SaysWhatIsWrong) {
  const std::string bytes = bytes_of(seen_for(plain), plain);
  EXPECT_EQ(error_of("PK\3\4", plain), "it holds no statistics, or those of another version of Quasar");
  EXPECT_EQ(error_of("quasar statistics, version 2" + bytes.substr(28), plain),
            "it holds no statistics, or those of another version of Quasar");
  EXPECT_EQ(error_of(bytes.substr(0, 400), plain), "it is damaged");
  FileContents other = plain;
  other.key.back() = 'l';
  EXPECT_EQ(error_of(bytes, other), "it holds statistics of something else");
  other = plain;
  other.requests.averages = {0.1, 0.02};
  EXPECT_EQ(error_of(bytes, other), "it is damaged");
}

// Beyond accident: whatever stands between key and hash, the result is an error, or statistics that can be worked with.
RC_GTEST_PROP(StatisticsFile, WhatIsForgedDoesNoHarm, ()) {
  static const std::string whole = bytes_of(seen_for(full), full);
  const size_t header = 29 + key.size();
  std::string bytes = whole;
  const auto changes = *rc::gen::nonEmpty<std::vector<std::pair<uint16_t, char>>>();
  for (const auto& [place, byte] : changes) bytes[header + place % (bytes.size() - header - 32)] = byte;
  try {
    const auto seen = statistics_of(signed_again(bytes), full);
    for (const auto& [size, statistics] : seen) {
      for (const auto& [name, tensor] : statistics) RC_ASSERT(std::isfinite(tensor.histogram.quantile(0.9)));
    }
  } catch (const Error&) {
  }
}

TEST(StatisticsFile, ForgedNumbersTakeNoMemory) {
  const std::string start = bytes_of({{1, {}}}, contents_of({}, {1})).substr(0, 29 + 32);
  const FileContents one = contents_of({"a"}, {1});
  const std::string huge = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", none(1, '\0'), reals(32, '\0'), unsigned_hash(32, ' ');
  EXPECT_EQ(error_of(signed_again(start + huge + none + reals + huge + unsigned_hash), one), "it is damaged");         // averages
  EXPECT_EQ(error_of(signed_again(start + huge + none + reals + none + huge + unsigned_hash), one), "it is damaged");  // shape
  const std::string more_than_64_bits = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02";
  EXPECT_EQ(error_of(signed_again(start + more_than_64_bits + none + reals + unsigned_hash), one), "it is damaged");
}

}  // namespace
}  // namespace quasar::stats
