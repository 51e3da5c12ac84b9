#include "quasar/sensitivity/unit_errors.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/machine.hpp"
#include "quasar/base/parallel.hpp"
#include "quasar/sensitivity/group_errors.hpp"

namespace quasar::tune {
namespace {

constexpr size_t samples_of_groups = 2;

std::vector<double> means_of(const std::vector<std::vector<double>>& by_sample, size_t units) {
  std::vector<double> means(units);
  for (const auto& distances : by_sample) {
    for (size_t u = 0; u < units; u++) means[u] += distances[u] / static_cast<double>(by_sample.size());
  }
  return means;
}

// Into how many parts the units of one sample go: where samples do not come out even, so that no worker waits for long.
size_t shares_of(size_t samples, size_t workers) {
  return samples % workers == 0 || samples >= 8 * workers ? 1 : workers;
}

// Mean distances to the float outputs with the switch of each chosen unit flipped, one after another.
std::vector<double> flipped(const ToggledModel& model, const data::Dataset& samples, const std::vector<bool>& on,
                            const std::vector<bool>& chosen, size_t threads, const Distance& distance = output_distance,
                            const Progress& progress = {}, const SharedBy& shared = {}) {
  const size_t units = model.units().size();
  const std::vector<bool> off(units, false);
  std::vector<std::vector<double>> by_sample(samples.size(), std::vector<double>(units));
  const size_t workers = passages_at_once(model, samples, threads), shares = shares_of(samples.size(), workers);
  Parts parts(progress, "operators by themselves", samples.size() * static_cast<size_t>(std::ranges::count(chosen, true)));
  const auto work = [&](size_t piece) {
    std::vector<double> distances;
    const data::Sample sample = samples.at(piece / shares);
    const ToggledModel::Passage passage(model, sample, on);
    const std::vector<Tensor> reference = on == off ? passage.outputs() : model.outputs(sample, off);
    for (size_t u = piece % shares; u < units; u += shares) {
      distances.push_back(chosen[u] ? distance(reference, passage.flipped(u)) : 0);
      if (chosen[u]) parts.done();
    }
    return distances;
  };
  const auto numbers = [&](size_t piece) { return (units - piece % shares + shares - 1) / shares; };
  const auto tell = [&](size_t piece, std::span<const double> distances) {
    for (size_t k = 0; k < distances.size(); k++) by_sample[piece / shares][piece % shares + k * shares] = distances[k];
    return true;
  };
  do_parts(shared.sharer, {.name = shared.name + " distances " + std::to_string(shares),
                           .parts = samples.size() * shares,
                           .threads = workers,
                           .numbers = numbers,
                           .work = work,
                           .tell = tell});
  return means_of(by_sample, units);
}

}  // namespace

size_t passages_at_once(const ToggledModel& model, const data::Dataset& samples, size_t threads) {
  if (samples.size() == 0) return 1;
  const size_t bytes = ToggledModel::Passage(model, samples.at(0), std::vector<bool>(model.units().size())).bytes();
  return std::clamp<size_t>(model.kept_bytes() / std::max<size_t>(bytes, 1), 1, threads == 0 ? cores() : threads);
}

std::vector<double> alone_at_outputs(const ToggledModel& model, const data::Dataset& samples, size_t threads,
                                     const Distance& distance, const Progress& progress) {
  const size_t units = model.units().size();
  return flipped(model, samples, std::vector<bool>(units, false), std::vector<bool>(units, true), threads, distance, progress);
}

namespace {

// Of more units than can be looked at one by one, what groups of them cause together is shared out.
std::vector<double> at_outputs(const ToggledModel& model, const data::Dataset& samples, const std::vector<UnitError>& errors,
                               size_t threads, const Distance& distance, const Progress& progress, const SharedBy& shared) {
  if (const size_t units = errors.size(); units <= most_single_units)
    return flipped(model, samples, std::vector<bool>(units, false), std::vector<bool>(units, true), threads, distance, progress,
                   shared);
  std::vector<double> noises;
  for (const auto& error : errors) noises.push_back(error.noise_to_signal);
  const data::DatasetPtr all(data::DatasetPtr(), &samples);  // does not own
  return shared_out(
      group_errors(model, *data::first(all, std::min(samples.size(), samples_of_groups)), most_single_units, threads, distance),
      noises);
}

// By sample, with all before a unit in float.
std::vector<std::vector<ToggledModel::Local>> locals_of(const ToggledModel& model, const data::Dataset& samples, size_t threads,
                                                        const SharedBy& shared) {
  const size_t units = model.units().size();
  const std::vector<bool> off(units, false);
  std::vector<std::vector<ToggledModel::Local>> out(samples.size(), std::vector<ToggledModel::Local>(units));
  const auto work = [&](size_t i) {
    std::vector<double> numbers;
    for (const auto& local : model.locals(samples.at(i), off))
      numbers.insert(numbers.end(), {local.noise, local.signal, local.size});
    return numbers;
  };
  const auto tell = [&](size_t i, std::span<const double> numbers) {
    for (size_t u = 0; u < units; u++) out[i][u] = {numbers[3 * u], numbers[3 * u + 1], numbers[3 * u + 2]};
    return true;
  };
  do_parts(shared.sharer, {.name = shared.name + " locals",
                           .parts = samples.size(),
                           .threads = threads,
                           .numbers = [&](size_t) { return 3 * units; },
                           .work = work,
                           .tell = tell});
  return out;
}

}  // namespace

double work_by_units(const ToggledModel& model, const data::Sample& sample) {
  const auto locals = model.locals(sample, std::vector<bool>(model.units().size(), false));
  double behind = 0, sum = 0;
  for (size_t u = locals.size(); u-- > 0;) {
    behind += model.units()[u].inputs_per_output * locals[u].size;
    sum += behind;
  }
  return 2 * sum;
}

std::vector<UnitError> alone(const ToggledModel& model, const data::Dataset& samples, size_t threads, const Distance& distance,
                             const Progress& progress, const SharedBy& shared) {
  const size_t units = model.units().size();
  const auto locals = locals_of(model, samples, threads, shared);
  std::vector<UnitError> errors;
  for (size_t u = 0; u < units; u++) {
    ToggledModel::Local sum;
    for (const auto& local : locals) {
      sum.noise += local[u].noise;
      sum.signal += local[u].signal;
      sum.size += local[u].size;
    }
    const Unit& unit = model.units()[u];
    errors.push_back({.unit = unit,
                      .work = unit.inputs_per_output * sum.size / static_cast<double>(samples.size()),
                      .noise_to_signal = sum.signal > 0 ? sum.noise / sum.signal : 0});
  }
  const std::vector<double> distances = at_outputs(model, samples, errors, threads, distance, progress, shared);
  for (size_t u = 0; u < units; u++) errors[u].output_error = distances[u];
  return errors;
}

double with_all(const ToggledModel& model, const data::Dataset& samples, size_t threads) {
  const size_t units = model.units().size();
  std::vector<double> distances(samples.size());
  parallel_for(samples.size(), threads, [&](size_t i) {
    const data::Sample sample = samples.at(i);
    distances[i] = output_distance(model.outputs(sample, std::vector<bool>(units, false)),
                                   model.outputs(sample, std::vector<bool>(units, true)));
  });
  double sum = 0;
  for (const double one : distances) sum += one;
  return sum / static_cast<double>(samples.size());
}

std::vector<double> up_to_each(const ToggledModel& model, const data::Dataset& samples, size_t threads,
                               const Progress& progress) {
  const size_t units = model.units().size();
  std::vector<std::vector<double>> by_sample(samples.size(), std::vector<double>(units));
  const size_t workers = passages_at_once(model, samples, threads), shares = shares_of(samples.size(), workers);
  // The part that begins with this unit. A unit costs as much as there are units behind it: all parts cost about the same.
  const auto first = [&](size_t share) {
    const double rest = std::sqrt(1 - static_cast<double>(share) / static_cast<double>(shares));
    return units - static_cast<size_t>(static_cast<double>(units) * rest);
  };
  Parts parts(progress, "operators one after another", samples.size() * units);
  parallel_for(samples.size() * shares, workers, [&](size_t task) {
    const size_t i = task / shares, begin = first(task % shares), end = first(task % shares + 1);
    std::vector<bool> on(units, false);
    const data::Sample sample = samples.at(i);
    const std::vector<Tensor> reference = model.outputs(sample, on);
    std::fill_n(on.begin(), begin, true);
    ToggledModel::Passage passage(model, sample, on);
    for (size_t u = begin; u < end; u++) {
      passage.flip(u);
      by_sample[i][u] = output_distance(reference, passage.outputs());
      parts.done();
    }
  });
  return means_of(by_sample, units);
}

std::vector<double> without_each(const ToggledModel& model, const data::Dataset& samples, const std::vector<bool>& on,
                                 const std::vector<bool>& among, size_t threads) {
  return flipped(model, samples, on, among, threads);
}

std::vector<double> with_each(const ToggledModel& model, const data::Dataset& samples, const std::vector<bool>& on,
                              size_t threads) {
  std::vector<bool> off = on;
  off.flip();
  return flipped(model, samples, on, off, threads);
}

}  // namespace quasar::tune
