#include "quasar/tune/open_data.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/digits.hpp"
#include "quasar/base/error.hpp"
#include "quasar/base/names.hpp"
#include "quasar/tune/pixel_evidence.hpp"

namespace quasar::tune {
namespace {

// "110", "4.5", "0.43"
std::string two_digits(double value) {
  const double unit = value > 0 ? std::pow(10.0, std::floor(std::log10(value)) - 1) : 1;
  return in_digits(std::round(value / unit) * unit, 10);
}

// "mean: 127.5, std: 127.5"
std::string option_text(const Json& words) {
  std::vector<std::string> out;
  for (const auto& [key, value] : words.items()) out.push_back(key + ": " + value.dump());
  return joined(out);
}

std::string reason(const PixelEvidence& evidence, const std::vector<PixelValues>& values) {
  if (evidence.wants_smaller())
    return "it seems to take smaller ones: with 0 to 255 the results of its first layer '" + evidence.layer + "' are " +
           two_digits(evidence.first_layer.front()) + " times as large as the constants that it adds to them, with 0 to 1 " +
           two_digits(evidence.first_layer[1]) + " times";
  if (const auto best = evidence.best(values)) {
    const double gain = evidence.told[*best] / std::max(evidence.told.front(), 1e-9);
    return "it seems to take other ones: with " + values[*best].name + " its answers " +
           (gain < 100 ? "tell the pictures apart " + two_digits(gain) + " times as well"
                       : std::string("differ, with 0 to 255 they are the same for every picture"));
  }
  return "nothing in the model tells that it takes these";
}

// The ways to say it, what fits best first; without a best one those that are of the usual size.
std::string suggestions(const PixelEvidence& evidence, const std::vector<PixelValues>& values) {
  const auto best = evidence.best(values);
  std::vector<std::string> out;
  if (best)
    out.push_back(option_text(values[*best].words) + " (" + values[*best].name +
                  ", with which its answers tell the pictures apart best)");
  for (size_t i = 1; i < values.size(); ++i) {
    if (i != best && values[i].words.contains("std")) out.push_back(option_text(values[i].words) + " (" + values[i].name + ")");
  }
  return joined(out, ", or ");
}

// Pictures whose values nobody has said, for a model that does not take bytes.
std::optional<data::RawPictures> pictures_of_unknown_values(const Json& description, const graph::Model& model,
                                                            const std::filesystem::path& base) {
  const auto takes_bytes = [](const graph::Value& input) { return input.type == DataType::uint8; };
  return std::ranges::any_of(model.inputs, takes_bytes) ? std::nullopt : data::raw_pictures(description, base);
}

void require_known_values(const Json& description, const graph::Model& model, const std::filesystem::path& base) {
  const auto pictures = pictures_of_unknown_values(description, model, base);
  if (!pictures) return;
  const auto values = usual_values(pictures->words.value("color", "RGB"));
  const PixelEvidence evidence = pixel_evidence(model, *pictures, values);
  if (evidence.raw_fits()) return;
  const std::string folder = (pictures->base / pictures->words.value("path", "")).lexically_normal().string();
  throw Error("'" + folder + "': pictures would feed the model values of 0 to 255, and " + reason(evidence, values) +
              ". Write a file photos.yaml, to be given in the place of the folder, with the lines `reader: images`, `path: " +
              folder + "` and what the model was trained with: " + suggestions(evidence, values) +
              ". If it does take 0 to 255: as_is: true there, or --as-is");
}

}  // namespace

data::DatasetPtr open_data(const Json& description, const graph::Model& model, const std::filesystem::path& base,
                           std::shared_ptr<data::NegativeIds> negative) {
  data::DatasetPtr samples = data::open(description, model.inputs, base);
  require_known_values(description, model, base);
  return data::with_checked_ids(std::move(samples), model, std::move(negative));
}

Json with_values(const Json& description, const graph::Model& model, const std::filesystem::path& base, std::string& told) {
  const auto pictures = pictures_of_unknown_values(description, model, base);
  if (!pictures) return description;
  const auto values = usual_values(pictures->words.value("color", "RGB"));
  const PixelEvidence evidence = pixel_evidence(model, *pictures, values);
  constexpr size_t zero_to_one = 1;
  std::optional<size_t> chosen = evidence.best(values);
  if (!chosen && !evidence.raw_fits() && evidence.wants_smaller()) chosen = zero_to_one;
  if (!chosen && !evidence.raw_fits()) return description;  // open_data() says what to do
  Json words = pictures->words;
  words["path"] = (pictures->base / words.value("path", "")).lexically_normal().string();
  if (evidence.raw_fits()) {
    words["as_is"] = true;
    told = "pictures: values of 0 to 255 as they are, which the model takes (--set data_reader.as_is)";
  } else {
    words.update(values[*chosen].words);
    told = "pictures: " + values[*chosen].name + " (" + option_text(values[*chosen].words) + "), " +
           (evidence.is_classifier() ? "with which the model's answers tell them apart best"
                                     : "a guess: its first layer is meant for small values") +
           " (--set data_reader.mean, data_reader.std)";
  }
  return words;
}

}  // namespace quasar::tune
