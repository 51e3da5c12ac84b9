#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "quasar/base/as_written.hpp"
#include "quasar/base/digits.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/base/json.hpp"
#include "quasar/base/names.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/base/plugin.hpp"
#include "quasar/base/rng.hpp"
#include "quasar/base/temporary_space.hpp"
#include "quasar/base/utf8.hpp"
#include "unit/error_of.hpp"

namespace quasar {
namespace {

TEST(Digits, OrdinaryNumbersHaveNoExponent) {
  EXPECT_EQ(plain_digits(12345.6, 4), "12346");
  EXPECT_EQ(plain_digits(1000, 3), "1000");
  EXPECT_EQ(plain_digits(999.7, 3), "1000");
  EXPECT_EQ(plain_digits(99.96, 4), "99.96");
  EXPECT_EQ(plain_digits(-78119, 4), "-78119");
  EXPECT_EQ(plain_digits(0.000012345), "1.23e-05");
  EXPECT_EQ(plain_digits(0), "0");
  EXPECT_EQ(bytes_in_words(92560), "92.6 KB");
  EXPECT_EQ(bytes_in_words(102.5e6), "102 MB");
  EXPECT_EQ(bytes_in_words(3.5e9), "3.5 GB");
  EXPECT_EQ(seconds_in_words(0.35), "0.35 s");
  EXPECT_EQ(seconds_in_words(1234), "20.6 min");
  EXPECT_EQ(seconds_in_words(10800), "3 h");
}

TEST(Names, SpellingDoesNotCount) {
  EXPECT_EQ(normalized("Layerwise-Percentile"), "layerwisepercentile");
  EXPECT_EQ(normalized("LAYERWISE_PERCENTILE"), "layerwisepercentile");
}

TEST(Names, NearestFindsTypingMistakes) {
  const std::vector<std::string> known{"n_trials", "n_jobs", "search_space", "output_dir"};
  EXPECT_EQ(nearest("ntrial", known), "n_trials");
  EXPECT_EQ(nearest("serach_space", known), "search_space");
  EXPECT_EQ(nearest("zzzzzzzz", known), "");
}

TEST(Json, NumbersThatItDoesNotHaveAreWrittenAsInYaml) {
  EXPECT_EQ(as_written(Json{{"a", NAN}, {"b", {INFINITY, -INFINITY, 0.5, nullptr, "x"}}, {"c", Json::object()}}),
            R"({"a":.nan,"b":[.inf,-.inf,0.5,null,"x"],"c":{}})");
}

TEST(Json, CanonicalTextDoesNotDependOnTheOrderOfKeys) {
  EXPECT_EQ(canonical(Json::parse(R"({"b":1,"a":{"d":2,"c":3}})")), canonical(Json::parse(R"({"a":{"c":3,"d":2},"b":1})")));
}

TEST(Json, WhatCannotBeReadIsSaid) {
  const auto message = [](const std::string& text) {
    try {
      parse_json(text, "a.json");
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const auto nested = [](size_t levels) { return std::string(levels, '[') + "\"[[\"" + std::string(levels, ']'); };
  EXPECT_EQ(message(nested(100)), "");
  EXPECT_EQ(message(nested(100'000)), "a.json: lists and mappings stand 100000 deep within each other; 100 is the most");
  EXPECT_EQ(message("{").find("a.json: not valid JSON: parse error at line 1, column 2"), 0U) << message("{");
  EXPECT_EQ(message("1e999").find("a.json: not valid JSON: number overflow"), 0U) << message("1e999");
  EXPECT_EQ(json_in("[1]"), Json({1}));
  for (const auto& text : {nested(101), std::string("[1"), std::string("1e999"), std::string()}) EXPECT_FALSE(json_in(text));
}

TEST(JsonOfPython, HasNumbersThatJsonDoesNotKnow) {
  for (const char* text : {"", "{}", R"({"NaN": "-Infinity", "\"NaN": ["\\", null]})", "\"NaN"})
    EXPECT_EQ(json_of_python(text), text);
  EXPECT_EQ(json_in(json_of_python(R"({"a\\": NaN, "b": [1.5, Infinity, -Infinity, "\"NaN"]})")),
            Json({{"a\\", nullptr}, {"b", {1.5, 1.7976931348623157e308, -1.7976931348623157e308, "\"NaN"}}}));
}

TEST(Utf8, IsToldFromOtherBytes) {
  for (const char* text : {"", "a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x99\x82", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(text)) << text;
  // A byte that begins nothing, one that is alone, too long a form, a surrogate, beyond the last character, cut short.
  for (const char* text : {"\xff", "\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xe2\x82"})
    EXPECT_FALSE(is_utf8(text));
}

TEST(Rng, SameSeedSameNumbers) {
  Rng a(7), b(7), c(8);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
}

TEST(Rng, MomentsAreRight) {
  Rng rng(1);
  double mean = 0, square = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double x = rng.normal();
    mean += x / n;
    square += x * x / n;
  }
  EXPECT_NEAR(mean, 0, 0.02);
  EXPECT_NEAR(square, 1, 0.03);
}

TEST(Hash, SeedsDiffer) {
  EXPECT_NE(seed_of(0, 1), seed_of(1, 0));
}

TEST(Parallel, EveryIndexOnceAndErrorsComeBack) {
  std::vector<int> seen(1000, 0);
  parallel_for(seen.size(), 4, [&](size_t i) { seen[i]++; });
  for (const int count : seen) ASSERT_EQ(count, 1);
  EXPECT_THROW(parallel_for(10, 3,
                            [](size_t i) {
                              if (i == 5) throw Error("five");
                            }),
               Error);
}

TEST(File, PipesAreNotWaitedFor) {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(read_file(pipe), Error);
}

// What a process left that was killed goes when the next one begins; what somebody has stays.
TEST(TemporaryFolders, OfTheDeadAreRemoved) {
  namespace fs = std::filesystem;
  const TemporaryFolder parent;
  const TemporaryFolder living(parent.path());
  const fs::path dead = parent.path() / "quasar-work-abcdef", young = parent.path() / "quasar-work-ghijkl",
                 other = parent.path() / "mine";
  for (const auto& folder : {dead, young, other}) {
    fs::create_directories(folder);
    write_file(folder / "file", "x");
  }
  for (const auto& folder : {dead, other, living.path()})
    fs::last_write_time(folder, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const TemporaryFolder next(parent.path() / ".");
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(young));
  EXPECT_TRUE(fs::exists(other));
  EXPECT_TRUE(fs::exists(living.path()));
}

TEST(Blame, ADiskIsNobodysFaultAndAMissingFileSomebodys) {
  for (const int code : {ENOSPC, EDQUOT, EROFS, EMFILE, EIO, ESTALE}) {
    EXPECT_EQ(blame_of(code), Blame::world) << code;
    EXPECT_EQ(blame_of_writing(code), Blame::world) << code;
  }
  for (const int code : {ENOENT, EACCES, EAGAIN, ENOMEM, ENOEXEC}) {
    EXPECT_EQ(blame_of(code), Blame::user) << code;
    EXPECT_EQ(blame_of_writing(code), Blame::setup) << code;
  }
}

TEST(File, WhatCannotBeWrittenIsNotTheConfigurationsFault) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "taken");
  for (const char* name : {"taken", "missing/file"}) {
    try {
      write_file(folder.path() / name, "x");
      ADD_FAILURE() << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.blame(), Blame::setup) << e.what();
    }
  }
  // Nobody knows the file that is renamed in the end.
  const auto path = folder.path() / "missing" / "file";
  for (const auto& message : {test::error_of([&] { write_file(path, "x"); }), test::error_of([&] {
                                write_file(path, [](const auto&) { throw std::system_error(ENOENT, std::generic_category()); });
                              })})
    EXPECT_EQ(message, "cannot write '" + path.string() + "': No such file or directory");
  EXPECT_NO_THROW(require_temporary_space());
}

TEST(File, AppearsWholeOrNotAtAll) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x.json";
  write_file(path, "old");
  EXPECT_THROW(write_file(path,
                          [](const std::filesystem::path& temporary) {
                            std::ofstream(temporary) << "half";
                            throw Error("disk full");
                          }),
               Error);
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Options, DefaultsBoundsAndNearestNames) {
  const std::vector<OptionSpec> specs{{.name = "percentile", .fallback = 99.99, .help = "", .low = 50.0, .high = 100.0},
                                      {.name = "mode", .fallback = "all", .help = "", .choices = {"all", "most"}}};
  EXPECT_EQ(Options(specs, Json::object(), "range x").real("percentile"), 99.99);
  EXPECT_EQ(Options(specs, Json{{"Mode", "MOST"}}, "range x").text("mode"), "most");
  const auto message = [&](const Json& given) {
    try {
      const Options options(specs, given, "range x");
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(message({{"percentil", 99}}),
            "range x: unknown option 'percentil'; did you mean 'percentile'?; known: percentile, mode");
  EXPECT_EQ(message({{"percentile", 101}}), "range x: option 'percentile' is 101, but must be a number from 50 to 100");
  EXPECT_NE(message({{"percentile", "x"}}), "");
}

struct Thing {
  virtual ~Thing() = default;
};

TEST(Table, KnowsAGuestForAsLongAsItLives) {
  const Table<Thing> table("thing", {{"own", {"a thing", make_as<Thing, Thing>}}});
  {
    const Registration<Thing> guest(table, "Visitor", {"another", make_as<Thing, Thing>});
    EXPECT_EQ(table.resolve("visitor"), "Visitor");
    EXPECT_EQ(table.names(), std::vector<std::string>{"own"});
    EXPECT_THROW(Registration<Thing>(table, "visitor", {}), Error);
    EXPECT_THROW(Registration<Thing>(table, "Own", {}), Error);
  }
  EXPECT_EQ(table.try_find("visitor"), nullptr);
}

}  // namespace
}  // namespace quasar
