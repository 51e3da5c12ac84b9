// Median and quartiles of the best value after 50, 100 and 200 trials over seeds, by sampler. The functions are those of
// samplers.py. usage: bench_samplers SAMPLER… [FUNCTION…] [--seeds 20] [--trials 200]; lines "sampler function trials median
// lower upper"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "quasar/base/file.hpp"
#include "quasar/base/hash.hpp"
#include "quasar/search/ask.hpp"
#include "quasar/search/pareto.hpp"

using namespace quasar;
using namespace quasar::search;

namespace {

double real(const Point& point, const std::string& name) {
  return point.find(name)->get<double>();
}

Json range(double low, double high) {
  return {{"type", "float"}, {"low", low}, {"high", high}};
}

// n parameters x0, x1 … that are always there.
Space several(int n, const Json& each) {
  Json group = {{"only_if", "on"}};
  for (int i = 0; i < n; ++i) group["x" + std::to_string(i)] = each;
  return Space::parse({{"on", {true}}, {"p", group}});
}

std::vector<double> numbers(const Point& point) {
  std::vector<double> out;
  for (const auto& [name, value] : point.values()) {
    if (name != "on") out.push_back(value.get<double>());
  }
  return out;
}

double sphere(const Point& point) {
  double sum = 0;
  for (const double x : numbers(point)) sum += (x - 1) * (x - 1);
  return sum;
}

double branin(const Point& point) {
  const double x = real(point, "p_x"), y = real(point, "p_y");
  const double root = y - 5.1 / (4 * M_PI * M_PI) * x * x + 5 / M_PI * x - 6;
  return root * root + 10 * (1 - 1 / (8 * M_PI)) * std::cos(x) + 10;
}

double rosenbrock(const Point& point) {
  const auto x = numbers(point);
  double sum = 0;
  for (size_t i = 0; i + 1 < x.size(); ++i) sum += 100 * std::pow(x[i + 1] - x[i] * x[i], 2) + std::pow(1 - x[i], 2);
  return sum;
}

double integers(const Point& point) {
  const auto x = numbers(point);
  double sum = 0, total = -45;
  for (size_t i = 0; i < x.size(); ++i) {
    const double k = static_cast<double>(i);
    sum += (k + 1) * (x[i] - 3 * k) * (x[i] - 3 * k);
    total += x[i];
  }
  return sum + std::abs(total);
}

double categories(const Point& point) {
  const auto x = numbers(point);
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += std::fmod(2 * x[i] + 3 * static_cast<double>(i), 5);
  for (size_t i = 0; i + 1 < x.size(); ++i) sum += 2 * std::fmod(x[i] + x[i + 1], 2);
  return sum;
}

double conditional(const Point& point) {
  const Json& kind = *point.find("kind");
  if (kind == "flat") return 8;
  if (kind == "far") return 5 + std::abs(real(point, "far_x"));
  return std::pow(real(point, "near_x") - 2, 2) + 0.1 * std::abs(real(point, "near_n") - 7);
}

std::vector<double> zdt1(const Point& point) {
  const auto x = numbers(point);
  const double g = 1 + 9 * (x[1] + x[2] + x[3] + x[4]) / 4;
  return {x[0], g * (1 - std::sqrt(x[0] / g))};
}

std::vector<double> widths(const Point& point) {
  const auto bits = numbers(point);
  double size = 0, error = 0;
  for (size_t i = 0; i < bits.size(); ++i) {
    size += static_cast<double>(1 + i % 3) * bits[i] / 240;
    error += static_cast<double>(1 + 5 * i % 7) * std::pow(2, -bits[i] / 4) / 16;
  }
  return {size, error};
}

// The first value is what counts; noise is added to what the sampler sees.
struct Problem {
  const char* name;
  Space space;
  std::function<std::vector<double>(const Point&)> values;
  double noise = 0;
  std::vector<double> corner = {};  // of the hypervolume, with several objectives
};

std::vector<Problem> problems() {
  const auto one = [](double (*function)(const Point&)) {
    return [function](const Point& point) { return std::vector<double>{function(point)}; };
  };
  const Json plane = {{"x", range(-5, 10)}, {"y", range(0, 15)}, {"only_if", "on"}};
  const Json near = {{"x", range(-5, 5)}, {"n", {{"type", "int"}, {"low", 1}, {"high", 50}}}, {"only_if", {{"kind", "near"}}}};
  const Json far = {{"x", range(-5, 5)}, {"only_if", {{"kind", "far"}}}};
  return {{"sphere", several(5, range(-5, 5)), one(sphere)},
          {"branin", Space::parse({{"on", {true}}, {"p", plane}}), one(branin)},
          {"rosenbrock", several(4, range(-2, 2)), one(rosenbrock)},
          {"integers", several(6, {{"type", "int"}, {"low", 0}, {"high", 20}}), one(integers)},
          {"categories", several(6, {0, 1, 2, 3, 4}), one(categories)},
          {"conditional", Space::parse({{"kind", {"near", "far", "flat"}}, {"near", near}, {"far", far}}), one(conditional)},
          {"noisy", several(4, range(-5, 5)), one(sphere), 1},
          {"zdt1", several(5, range(0, 1)), zdt1, 0, {1.1, 8}},
          {"widths", several(8, {4, 8, 16}), widths, 0, {1.1, 1.1}}};
}

std::vector<Trial> run(const std::string& sampler, const Problem& problem, uint64_t seed, size_t n) {
  const auto made = samplers::table().make(sampler);
  const std::vector<Direction> directions(std::max<size_t>(problem.corner.size(), 1), Direction::minimize);
  const Cost cost;
  std::vector<Trial> trials;
  Rng noise(seed);
  for (size_t i = 0; i < n; ++i) {
    Rng rng(seed_of(seed, i));
    Trial trial;
    trial.number = static_cast<int64_t>(i);
    trial.point = *made->next({problem.space, trials, directions, cost, seed}, rng);
    trial.values = problem.values(trial.point);
    if (problem.noise > 0) trial.values[0] += problem.noise * noise.normal();
    trial.state = State::complete;
    trials.push_back(trial);
  }
  return trials;
}

// The best value of these trials (the true one of what looks best), or the hypervolume.
double achieved(const Problem& problem, std::span<const Trial> trials) {
  if (problem.corner.empty()) {
    return problem.values(std::ranges::min(trials, {}, [](const Trial& t) { return t.values[0]; }).point)[0];
  }
  std::vector<std::vector<double>> points;
  for (const Trial& t : trials) points.push_back(t.values);
  return hypervolume(points, problem.corner);
}

// The p-quantile of sorted values, between neighbours (as Python's statistics.quantiles with method inclusive).
double quantile(const std::vector<double>& sorted, double p) {
  const double place = p * static_cast<double>(sorted.size() - 1);
  const auto i = static_cast<size_t>(place);
  const double share = place - static_cast<double>(i);
  return sorted[i] + (share > 0 ? share * (sorted[i + 1] - sorted[i]) : 0);
}

struct Extent {
  uint64_t seeds = 20;
  size_t trials = 200;
};

void measure(const std::string& sampler, const Problem& problem, const Extent& extent) {
  std::vector<size_t> looks{50, 100, 200};
  std::erase_if(looks, [&](size_t look) { return look > extent.trials; });
  std::vector<std::vector<double>> values(looks.size());
  for (uint64_t seed = 0; seed < extent.seeds; ++seed) {
    const auto trials = run(sampler, problem, seed, looks.back());
    for (size_t k = 0; k < looks.size(); ++k) values[k].push_back(achieved(problem, std::span(trials).first(looks[k])));
  }
  for (size_t k = 0; k < looks.size(); ++k) {
    std::ranges::sort(values[k]);
    std::printf("%s %s %zu %.6g %.6g %.6g\n", sampler.c_str(), problem.name, looks[k], quantile(values[k], 0.5),
                quantile(values[k], 0.25), quantile(values[k], 0.75));
    std::fflush(stdout);
  }
}

// Milliseconds of one ask and tell in a study that has `n` finished random trials; the first ask, which reads them, is not timed.
double overhead(const std::string& sampler, const std::string& url, size_t n, int asks) {
  const Space space = several(20, range(-5, 5));
  const auto storage = open_storage(url);
  Study study(*storage, {.name = sampler + std::to_string(n)});
  const auto random = samplers::table().make("random");
  while (study.trials().size() < n) {
    const auto trial = ask(study, space, *random, 1);
    tell(study, *trial, {sphere(trial->point)});
  }
  const auto made = samplers::table().make(sampler);
  const auto one = [&] {
    const auto trial = ask(study, space, *made, 2);
    tell(study, *trial, {sphere(trial->point)});
  };
  one();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < asks; ++i) one();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / asks;
}

void overheads(const std::string& sampler) {
  for (const size_t n : {100, 1000, 10000}) {
    const TemporaryFolder folder;
    const double memory = overhead(sampler, "memory", n, 20);
    const double sqlite = overhead(sampler, (folder.path() / "study.db").string(), n, 20);
    std::printf("%s %zu memory %.3f sqlite %.3f ms\n", sampler.c_str(), n, memory, sqlite);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int count, char** words) {
  Extent extent;
  bool times = false;
  std::vector<std::string> samplers, functions;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto known = samplers::table().names();
    if (word == "--seeds" && i + 1 < count) {
      extent.seeds = std::stoull(words[++i]);
    } else if (word == "--trials" && i + 1 < count) {
      extent.trials = std::max<size_t>(50, std::stoull(words[++i]));
    } else if (word == "--overhead") {
      times = true;
    } else {
      (std::ranges::find(known, word) != known.end() ? samplers : functions).push_back(word);
    }
  }
  for (const auto& sampler : samplers) {
    if (times) {
      overheads(sampler);
      continue;
    }
    const bool several = samplers::table().make(sampler)->takes_several_objectives();
    for (const Problem& problem : problems()) {
      const bool wanted = functions.empty() || std::ranges::find(functions, problem.name) != functions.end();
      if (wanted && (several || problem.corner.empty())) measure(sampler, problem, extent);
    }
  }
}
