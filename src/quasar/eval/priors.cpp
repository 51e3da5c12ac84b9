#include "quasar/eval/priors.hpp"

#include <array>
#include <cmath>
#include <filesystem>

#include "quasar/base/plugin.hpp"
#include "quasar/data/archive.hpp"
#include "quasar/data/npy.hpp"

namespace quasar::eval {
namespace {

constexpr const char* owner = "decoder ssd, priors";

using Sizes = std::vector<std::array<double, 2>>;  // width and height

[[noreturn]] void fail(const std::string& what) {
  throw Error(std::string(owner) + ": " + what);
}

data::NpyArray array_of(const std::filesystem::path& file) {
  const std::string where = "'" + file.string() + "'";
  if (file.extension() == ".npy") return {data::file_bytes(file), where};
  const data::Archive archive(file);
  std::vector<std::string> names = archive.names();
  if (names.size() > 1) std::erase_if(names, [](const auto& name) { return name != "priors.npy" && name != "anchors.npy"; });
  if (names.size() != 1)
    fail(where + " must hold one array, or one called priors or anchors; it holds " + joined(archive.names()));
  return {archive.open(names[0]), where};
}

std::vector<Prior> from_file(const std::filesystem::path& file, bool y_first) {
  const data::NpyArray array = array_of(file);
  Shape shape = array.shape();
  while (shape.size() > 2 && shape[0] == 1) shape.erase(shape.begin());
  if (shape.size() != 2 || shape[1] != 4)
    fail(array.where() + " has the shape " + to_string(array.shape()) + ", but must be [N,4]");
  const std::vector<double> values = to_doubles(array.all());
  std::vector<Prior> out;
  for (size_t i = 0; i < values.size(); i += 4) {
    const double* at = &values[i];
    out.push_back(y_first ? Prior{at[1], at[0], at[3], at[2]} : Prior{at[0], at[1], at[2], at[3]});
    if (!(out.back().width > 0) || !(out.back().height > 0))
      fail(array.where() + ": row " + std::to_string(i / 4) + " has no size");
  }
  return out;
}

std::array<int64_t, 2> grid_of(const Json& word) {
  const auto whole = [](const Json& one) { return one.is_number_integer() && one >= 1 && one <= 4096; };
  if (whole(word)) return {word.get<int64_t>(), word.get<int64_t>()};
  if (word.is_array() && word.size() == 2 && whole(word[0]) && whole(word[1]))
    return {word[0].get<int64_t>(), word[1].get<int64_t>()};
  fail("a grid is " + word.dump() + ", but must be a number of rows and columns, or [rows, columns]");
}

double positive(const Json& word, const std::string& what) {
  if (word.is_number() && word.get<double>() > 0 && std::isfinite(word.get<double>())) return word.get<double>();
  fail(what + " is " + word.dump() + ", but must be a number above 0");
}

std::vector<Sizes> declared(const Json& boxes, size_t grids) {
  if (!boxes.is_array() || boxes.size() != grids) fail("boxes must be a list with one list of [width, height] for each grid");
  std::vector<Sizes> out;
  for (const Json& of_grid : boxes) {
    out.emplace_back();
    for (const Json& box : of_grid.is_array() ? of_grid : Json::array({of_grid})) {
      if (!box.is_array() || box.size() != 2) fail("boxes holds " + box.dump() + ", but must hold [width, height]");
      out.back().push_back({positive(box[0], "a box's width"), positive(box[1], "a box's height")});
    }
  }
  return out;
}

std::vector<Sizes> by_scales(const Options& options, size_t grids) {
  const double low = options.real("min_scale"), high = options.real("max_scale");
  const Json& words = options.json("ratios");
  if (!words.is_array() || words.empty()) fail("ratios is " + words.dump() + ", but must be a list of numbers");
  const auto scale = [&](size_t k) {
    if (k == grids) return 1.0;
    return grids == 1 ? low : low + (high - low) * static_cast<double>(k) / static_cast<double>(grids - 1);
  };
  std::vector<Sizes> out;
  for (size_t k = 0; k < grids; ++k) {
    const double s = scale(k), between = std::sqrt(s * scale(k + 1));
    out.emplace_back();
    const auto add = [&](double ratio) { out.back().push_back({s * std::sqrt(ratio), s / std::sqrt(ratio)}); };
    if (k == 0 && options.flag("reduced")) {
      out.back().push_back({0.1, 0.1});
      add(2);
      add(0.5);
      continue;
    }
    for (const Json& ratio : words) add(positive(ratio, "a ratio"));
    out.back().push_back({between, between});
  }
  return out;
}

std::vector<Prior> computed(const Json& words) {
  const Options options({{"grids", Json::array(), "rows and columns of each head"},
                         {"boxes", nullptr, "width and height of each box of a cell"},
                         {"min_scale", 0.2, "of the first grid"},
                         {"max_scale", 0.95, "of the last grid"},
                         {"ratios", {1, 2, 0.5, 3, 1.0 / 3}, "width / height"},
                         {"reduced", true, "the first grid has three boxes only"}},
                        words, owner);
  const Json& grids = options.json("grids");
  if (!grids.is_array() || grids.empty()) fail("grids is " + grids.dump() + ", but must be a list such as [19, 10, 5, 3, 2, 1]");
  const auto sizes = options.has("boxes") ? declared(options.json("boxes"), grids.size()) : by_scales(options, grids.size());
  std::vector<Prior> out;
  for (size_t k = 0; k < grids.size(); ++k) {
    const auto [rows, columns] = grid_of(grids[k]);
    for (int64_t cell = 0; cell < rows * columns; ++cell) {
      const double x = (static_cast<double>(cell % columns) + 0.5) / static_cast<double>(columns);
      const double y = (static_cast<double>(cell / columns) + 0.5) / static_cast<double>(rows);
      for (const auto& [width, height] : sizes[k]) out.push_back({x, y, width, height});
    }
  }
  return out;
}

}  // namespace

std::vector<Prior> read_priors(const Json& words, bool y_first) {
  if (words.is_string()) return from_file(words.get<std::string>(), y_first);
  if (words.is_object()) return computed(words);
  fail("is " + words.dump() + ", but must be a .npy or .npz file, or a mapping with grids");
}

}  // namespace quasar::eval
