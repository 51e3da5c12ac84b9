// Median (quartiles) of the best value after 50, 100 and 200 trials over 20 seeds, by sampler, and the time of an ask.
// The functions are those of samplers.py.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "quasar/search/sampler.hpp"

using namespace quasar;
using namespace quasar::search;

namespace {

struct Problem {
  const char* name;
  Space space;
  std::function<double(const Point&)> value;
};

double real(const Point& point, const std::string& name) {
  return point.find(name)->get<double>();
}

Json range(double low, double high) {
  return {{"type", "float"}, {"low", low}, {"high", high}};
}

Space cube(int dimensions) {
  Json group = {{"only_if", "on"}};
  for (int i = 0; i < dimensions; ++i) group["x" + std::to_string(i)] = range(-5, 5);
  return Space::parse({{"on", {true}}, {"p", group}});
}

double sphere(const Point& point) {
  double sum = 0;
  for (const auto& [name, value] : point.values()) {
    if (name != "on") sum += std::pow(value.get<double>() - 1, 2);
  }
  return sum;
}

double branin(const Point& point) {
  const double x = real(point, "p_x"), y = real(point, "p_y");
  const double root = y - 5.1 / (4 * M_PI * M_PI) * x * x + 5 / M_PI * x - 6;
  return root * root + 10 * (1 - 1 / (8 * M_PI)) * std::cos(x) + 10;
}

double conditional(const Point& point) {
  const Json& kind = *point.find("kind");
  if (kind == "flat") return 8;
  if (kind == "far") return 5 + std::abs(real(point, "far_x"));
  return std::pow(real(point, "near_x") - 2, 2) + 0.1 * std::abs(real(point, "near_n") - 7);
}

std::vector<Problem> problems() {
  const Json plane = {{"x", range(-5, 10)}, {"y", range(0, 15)}, {"only_if", "on"}};
  const Json near = {{"x", range(-5, 5)}, {"n", {{"type", "int"}, {"low", 1}, {"high", 50}}}, {"only_if", {{"kind", "near"}}}};
  const Json far = {{"x", range(-5, 5)}, {"only_if", {{"kind", "far"}}}};
  return {{"sphere", cube(5), sphere},
          {"branin", Space::parse({{"on", {true}}, {"p", plane}}), branin},
          {"conditional", Space::parse({{"kind", {"near", "far", "flat"}}, {"near", near}, {"far", far}}), conditional}};
}

std::vector<Trial> run(const std::string& sampler, const Problem& problem, uint64_t seed, size_t n) {
  const auto made = samplers::table().make(sampler);
  const Direction directions[] = {Direction::minimize};
  const Cost cost;
  std::vector<Trial> trials;
  for (size_t i = 0; i < n; ++i) {
    Rng rng(seed * 100000 + i);
    Trial trial;
    trial.point = *made->next({problem.space, trials, directions, cost}, rng);
    trial.values = {problem.value(trial.point)};
    trial.state = State::complete;
    trials.push_back(trial);
  }
  return trials;
}

void table(const std::string& sampler, const Problem& problem) {
  std::vector<double> best[3];
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto trials = run(sampler, problem, seed, 200);
    double lowest = INFINITY;
    for (size_t i = 0; i < trials.size(); ++i) {
      lowest = std::min(lowest, trials[i].values[0]);
      for (size_t k = 0; k < 3; ++k) {
        if (i + 1 == 50u << k) best[k].push_back(lowest);
      }
    }
  }
  for (size_t k = 0; k < 3; ++k) {
    std::ranges::sort(best[k]);
    const auto middle = [&](size_t i) { return (best[k][i - 1] + best[k][i]) / 2; };
    std::printf("%s %s %u: %.4g (%.4g … %.4g)\n", sampler.c_str(), problem.name, 50u << k, middle(10), middle(5), middle(15));
  }
}

// Milliseconds of one ask after n trials of 20 parameters; the first ask reads the history.
void overhead(size_t n) {
  const Problem problem{"sphere20", cube(20), sphere};
  const auto trials = run("random", problem, 0, n);
  const auto made = samplers::table().make("tpe");
  const Direction directions[] = {Direction::minimize};
  const Cost cost;
  Rng rng(1);
  made->next({problem.space, trials, directions, cost}, rng);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) made->next({problem.space, trials, directions, cost}, rng);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  std::printf("tpe ask after %zu trials of 20 parameters: %.3f ms\n", n, time.count() / 20);
}

}  // namespace

int main() {
  for (const Problem& problem : problems()) {
    for (const char* sampler : {"tpe", "random"}) table(sampler, problem);
  }
  for (const size_t n : {100, 1000, 10000}) overhead(n);
}
