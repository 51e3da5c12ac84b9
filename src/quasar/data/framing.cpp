#include "quasar/data/framing.hpp"

#include <algorithm>
#include <cmath>

#include "quasar/base/names.hpp"

namespace quasar::data {
namespace {

constexpr int64_t most_side = 65'500;

[[noreturn]] void refuse(const std::string& owner, const std::string& name, const Json& value, const std::string& allowed) {
  throw Error(owner + ": option '" + name + "' is " + value.dump() + ", but must be " + allowed);
}

std::optional<size_t> side_of(const Json& value) {
  if (!value.is_number_integer() || value.get<int64_t>() < 1 || value.get<int64_t>() > most_side) return std::nullopt;
  return value.get<size_t>();
}

// [height, width]
std::optional<Size> size_of(const Json& value) {
  if (!value.is_array() || value.size() != 2) return std::nullopt;
  const auto height = side_of(value[0]), width = side_of(value[1]);
  return height && width ? std::optional(Size{*height, *width}) : std::nullopt;
}

std::vector<uint8_t> read_fill(const Json& value, const std::string& owner) {
  std::vector<uint8_t> out;
  for (const Json& one : value.is_array() ? value : Json::array({value})) {
    if (!one.is_number_integer() || one < 0 || one > 255)
      refuse(owner, "fill", value, "a number from 0 to 255, or three (red, green, blue)");
    out.push_back(one.get<uint8_t>());
  }
  if (out.size() != 1 && out.size() != 3) refuse(owner, "fill", value, "a number from 0 to 255, or three (red, green, blue)");
  return out;
}

Interpolation read_interpolation(const std::string& name) {
  if (name == "nearest") return Interpolation::nearest;
  if (name == "box") return Interpolation::box;
  if (name == "bicubic") return Interpolation::bicubic;
  if (name == "lanczos") return Interpolation::lanczos;
  return Interpolation::bilinear;
}

// Half of a difference, ties to the even number (Python's round).
int64_t half(size_t larger, size_t smaller) {
  const auto difference = static_cast<int64_t>(larger - smaller), low = difference / 2;
  return difference % 2 == 0 ? low : low + low % 2;
}

}  // namespace

std::vector<OptionSpec> Framing::options() {
  return {{"resize", nullptr, "N: the shorter side becomes N, the other keeps the proportion; [height, width]: exactly these"},
          {"crop", nullptr,
           "N or [height, width]: the middle, after resize; a fraction below 1: the middle square of this share of the shorter "
           "side, before resize"},
          {"letterbox", false, "resize keeps the proportion within [height, width], and the rest is filled"},
          {"fill", 114, "of a letterbox: 0 to 255, or [red, green, blue]"},
          {.name = "interpolation",
           .fallback = "bilinear",
           .help = "of resize: nearest, box, bilinear, bicubic or lanczos",
           .choices = {"nearest", "box", "bilinear", "bicubic", "lanczos"}},
          {"antialias", true, "filters are stretched when a picture shrinks, as in PIL; false: as in OpenCV"}};
}

Framing::Framing(const Options& options, std::optional<Size> model, const std::string& owner) : owner_(owner) {
  read_sizes(options, model);
  letterbox_ = options.has("letterbox") && options.flag("letterbox");
  if (letterbox_) {
    if (shorter_) exact_ = Size{*shorter_, *shorter_};
    shorter_.reset();
    if (crop_) throw Error(owner + ": letterbox and a crop after resize contradict each other");
    if (!exact_) throw Error(owner + ": letterbox needs resize: [height, width], for the model's input has no fixed size");
  }
  fill_ = read_fill(options.has("fill") ? options.json("fill") : Json(114), owner);
  if (options.has("interpolation")) how_.interpolation = read_interpolation(normalized(options.text("interpolation")));
  if (options.has("antialias")) how_.antialias = options.flag("antialias");
}

// Without resize and without a crop of fixed size, pictures are resized to the model's input.
void Framing::read_sizes(const Options& options, std::optional<Size> model) {
  if (options.has("resize")) {
    const Json& resize = options.json("resize");
    shorter_ = side_of(resize);
    exact_ = size_of(resize);
    if (!shorter_ && !exact_) refuse(owner_, "resize", resize, "a number of pixels, or [height, width]");
  }
  if (options.has("crop")) {
    const Json& crop = options.json("crop");
    const bool share = crop.is_number_float() && crop > 0.0 && crop < 1.0;
    if (share) share_ = crop.get<double>();
    if (const auto side = side_of(crop)) crop_ = Size{*side, *side};
    if (const auto size = size_of(crop)) crop_ = size;
    if (!share_ && !crop_) refuse(owner_, "crop", crop, "a number of pixels, [height, width], or a fraction between 0 and 1");
  }
  if (!shorter_ && !exact_ && !crop_) exact_ = model;
  if (shorter_ && crop_ && std::min(crop_->height, crop_->width) > *shorter_)
    throw Error(owner_ + ": crop " + options.json("crop").dump() + " is larger than resize " + std::to_string(*shorter_));
}

// The longer side is cut to whole pixels (torchvision's Resize).
Size Framing::scaled_size(Size cut) const {
  if (exact_) return *exact_;
  if (!shorter_) return cut;
  const bool upright = cut.height >= cut.width;
  const size_t longer = *shorter_ * std::max(cut.height, cut.width) / std::min(cut.height, cut.width);
  return upright ? Size{longer, *shorter_} : Size{*shorter_, longer};
}

// The part keeps its proportion and stands in the middle; of an odd rest the larger half is right and below.
void Framing::letterbox(Frame& frame) const {
  frame.out = *exact_;
  const double by_height = static_cast<double>(exact_->height) / static_cast<double>(frame.cut.height);
  const double by_width = static_cast<double>(exact_->width) / static_cast<double>(frame.cut.width);
  const double scale = std::min(by_height, by_width);
  const auto side = [&](size_t length, size_t most) {
    return std::clamp<size_t>(static_cast<size_t>(std::nearbyint(static_cast<double>(length) * scale)), 1, most);
  };
  frame.scaled = {side(frame.cut.height, exact_->height), side(frame.cut.width, exact_->width)};
  frame.top = -static_cast<int64_t>((exact_->height - frame.scaled.height) / 2);
  frame.left = -static_cast<int64_t>((exact_->width - frame.scaled.width) / 2);
}

void Framing::crop(Frame& frame, const std::string& where) const {
  if (crop_->height > frame.scaled.height || crop_->width > frame.scaled.width) {
    throw Error(where + ": has " + std::to_string(frame.scaled.width) + " x " + std::to_string(frame.scaled.height) +
                " pixels (width x height), fewer than the crop of " + std::to_string(crop_->width) + " x " +
                std::to_string(crop_->height) + "; resize it first");
  }
  frame.out = *crop_;
  frame.top = half(frame.scaled.height, crop_->height);
  frame.left = half(frame.scaled.width, crop_->width);
}

Frame Framing::of(Size picture, const std::string& where) const {
  Frame frame;
  frame.cut = picture;
  if (share_) {
    const auto side = static_cast<size_t>(static_cast<double>(std::min(picture.height, picture.width)) * *share_);
    if (side == 0) throw Error(where + ": is too small for crop " + Json(*share_).dump());
    frame.cut = {side, side};
    frame.cut_top = (picture.height - side) / 2;
    frame.cut_left = (picture.width - side) / 2;
  }
  if (letterbox_) {
    letterbox(frame);
  } else {
    frame.scaled = frame.out = scaled_size(frame.cut);
    if (crop_) crop(frame, where);
  }
  check_size(frame.scaled, where + ", resized");
  check_size({frame.cut.height, frame.scaled.width}, where + ", resized");  // between rows and columns
  return frame;
}

Image Framing::apply(const Image& picture, const std::string& where) const {
  const Frame frame = of({picture.height, picture.width}, where);
  const Image scaled = resampled(cropped(picture, frame.cut_top, frame.cut_left, frame.cut), frame.scaled, how_);
  if (!letterbox_) return cropped(scaled, static_cast<size_t>(frame.top), static_cast<size_t>(frame.left), frame.out);
  Image out{frame.out.width, frame.out.height, scaled.channels, {}};
  out.pixels.resize(out.width * out.height * out.channels);
  for (size_t i = 0; i < out.pixels.size(); ++i) out.pixels[i] = fill_of(i % out.channels);
  const auto top = static_cast<size_t>(-frame.top), left = static_cast<size_t>(-frame.left);
  for (size_t y = 0; y < scaled.height; ++y) {
    std::copy_n(&scaled.pixels[y * scaled.width * scaled.channels], scaled.width * scaled.channels,
                &out.pixels[((top + y) * out.width + left) * out.channels]);
  }
  return out;
}

}  // namespace quasar::data
