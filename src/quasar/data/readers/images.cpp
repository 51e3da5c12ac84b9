// A folder of pictures, or one of folders that are the classes. Pictures are decoded when they are read, by whoever reads them:
// on as many threads as run the model. Those that were read stay in memory as bytes, up to a limit.
#include <algorithm>
#include <cctype>
#include <mutex>
#include <set>
#include <utility>

#include "quasar/data/annotations.hpp"
#include "quasar/data/bytes.hpp"
#include "quasar/data/coco.hpp"
#include "quasar/data/framing.hpp"
#include "quasar/data/image.hpp"
#include "quasar/data/labels.hpp"
#include "quasar/data/options.hpp"
#include "quasar/data/pixels.hpp"
#include "quasar/data/preview.hpp"
#include "quasar/data/reader.hpp"

namespace quasar::data::readers {
namespace {

namespace fs = std::filesystem;

constexpr const char* owner = "reader images";
constexpr size_t kept_bytes = size_t{256} << 20;

// What the files are told of: relative to the folder, sorted.
struct Files {
  fs::path folder;
  std::vector<std::string> names;
  Labels labels = {};
  std::vector<Boxes> boxes = {};  // of each, in pixels of the picture; empty: none
};

// Framed pictures by index; the first ones that fit are kept.
class Kept {
 public:
  explicit Kept(size_t count) : slots_(count) {}
  std::shared_ptr<const Image> find(size_t index) const {
    const std::lock_guard lock(guard_);
    return slots_.at(index);
  }
  void keep(size_t index, std::shared_ptr<const Image> image) {
    const std::lock_guard lock(guard_);
    if (slots_[index] != nullptr || used_ + image->pixels.size() > kept_bytes) return;
    used_ += image->pixels.size();
    slots_[index] = std::move(image);
  }

 private:
  mutable std::mutex guard_;
  std::vector<std::shared_ptr<const Image>> slots_;
  size_t used_ = 0;
};

class ImagesDataset : public Labelled, public Truths, public Pictures {
 public:
  ImagesDataset(Files files, Framing framing, Pixels pixels, int64_t label_offset)
      : Labelled(files.labels),
        files_(std::move(files)),
        framing_(std::move(framing)),
        pixels_(std::move(pixels)),
        label_offset_(label_offset),
        kept_(files_.names.size()) {}

  size_t size() const override { return files_.names.size(); }
  std::string source() const override { return "'" + files_.folder.string() + "'"; }

  Sample at(size_t index) const override { return {pixels_.tensor(*framed(index), "'" + path(index).string() + "'")}; }

  std::optional<Picture> picture(size_t index) const override { return Picture{*framed(index), files_.names.at(index)}; }

  // Moved as the picture was; what the model does not see is cut off, and boxes of which nothing is left are left out.
  std::optional<Boxes> boxes(size_t index) const override {
    if (files_.boxes.empty()) return std::nullopt;
    const Frame frame = this->frame(index);
    const auto wide = static_cast<double>(frame.out.width), high = static_cast<double>(frame.out.height);
    const double by_x = static_cast<double>(frame.scaled.width) / static_cast<double>(frame.cut.width);
    const double by_y = static_cast<double>(frame.scaled.height) / static_cast<double>(frame.cut.height);
    const auto x = [&](double at) {
      return std::clamp((at - static_cast<double>(frame.cut_left)) * by_x - static_cast<double>(frame.left), 0.0, wide);
    };
    const auto y = [&](double at) {
      return std::clamp((at - static_cast<double>(frame.cut_top)) * by_y - static_cast<double>(frame.top), 0.0, high);
    };
    Boxes out;
    for (const Box& box : files_.boxes[index]) {
      const Box moved{x(box.left), y(box.top), x(box.right), y(box.bottom), with_offset(box.label, label_offset_), box.crowd};
      if (moved.right > moved.left && moved.bottom > moved.top) out.push_back(moved);
    }
    return out;
  }

  // Throws Error when the first picture cannot be what the model takes.
  void check() const { pixels_.check(frame(0).out, "'" + path(0).string() + "'"); }

 private:
  // The picture as the model sees it, in bytes.
  std::shared_ptr<const Image> framed(size_t index) const {
    std::shared_ptr<const Image> image = kept_.find(index);
    if (image != nullptr) return image;
    const Image decoded = decode(path(index));
    image = std::make_shared<const Image>(
        framing_.apply(pixels_.is_gray() ? gray(decoded) : decoded, "'" + path(index).string() + "'"));
    kept_.keep(index, image);
    return image;
  }

  fs::path path(size_t index) const { return files_.folder / files_.names.at(index); }
  Frame frame(size_t index) const { return framing_.of(size_of(path(index)), "'" + path(index).string() + "'"); }

  Files files_;
  Framing framing_;
  Pixels pixels_;
  int64_t label_offset_;
  mutable Kept kept_;
};

std::string extension_of(const fs::path& path) {
  std::string out = path.extension().string();
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// Throws Error for what is called a picture, but is no file: a pipe, a device, a link that leads nowhere.
bool is_picture(const fs::directory_entry& entry) {
  const std::string extension = extension_of(entry.path());
  std::error_code ignored;
  if (extension != ".jpg" && extension != ".jpeg" && extension != ".png") return false;
  if (entry.is_directory(ignored)) return false;
  if (!entry.is_regular_file(ignored)) file_bytes(entry.path());  // says what is wrong with it
  return true;
}

// What programs and systems leave in folders: .ipynb_checkpoints, ._picture.jpg, __MACOSX of archives.
bool is_left_behind(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  return name.starts_with('.') || name == "__MACOSX";
}

bool holds_nothing(const fs::path& folder) {
  const fs::directory_iterator entries(folder);
  return std::ranges::all_of(begin(entries), end(entries), is_left_behind);
}

// `others`: pictures in formats that are not read.
std::vector<std::string> pictures_in(const fs::path& folder, std::vector<std::string>& others) {
  static const std::set<std::string> unread{".bmp", ".webp", ".tif", ".tiff", ".gif", ".heic", ".avif", ".jp2", ".ppm", ".pgm"};
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::error_code ignored;
    if (is_left_behind(entry)) continue;
    if (is_picture(entry)) names.push_back(entry.path().filename().string());
    if (unread.contains(extension_of(entry.path())) && entry.is_regular_file(ignored)) others.push_back(entry.path().string());
  }
  std::ranges::sort(names);
  return names;
}

// Without them classes would have other numbers, and scores other samples.
void refuse(std::vector<std::string> others, const fs::path& folder) {
  if (others.empty()) return;
  throw Error("'" + folder.string() + "' holds " + std::to_string(others.size()) +
              (others.size() == 1 ? " picture" : " pictures") + " in formats that are not read (" +
              fs::path(*std::ranges::min_element(others)).lexically_relative(folder).string() +
              " …); convert them to .jpg or .png, or move them away");
}

// The folder's own pictures; if there are none, those of its subfolders, in the order of their names: the classes.
// `labelled`: by a file, so that subfolders are no classes where the folder itself holds pictures.
Files find_files(const fs::path& folder, bool labelled) {
  std::vector<std::string> others, others_inside;
  Files out{folder, pictures_in(folder, others)};
  if (labelled && !out.names.empty()) return out;  // the file says which
  const std::vector<std::string> loose = std::exchange(out.names, {});
  std::vector<std::string> classes;
  for (const auto& entry : fs::directory_iterator(folder)) {
    std::error_code ignored;
    if (entry.is_directory(ignored) && !is_left_behind(entry)) classes.push_back(entry.path().filename().string());
  }
  std::ranges::sort(classes);
  int64_t label = 0;
  for (const auto& name : classes) {
    const auto pictures = pictures_in(folder / name, others_inside);
    for (const auto& picture : pictures) {
      out.names.push_back(name + "/" + picture);
      out.labels.of.push_back(label);
    }
    if (!pictures.empty() || holds_nothing(folder / name))
      out.labels.names[label++] = name;  // a class of which there is none here
  }
  if (!loose.empty() && out.names.size() > loose.size())
    throw Error("'" + folder.string() + "' holds " + std::to_string(loose.size()) + " pictures (" + loose.front() + " …), and " +
                std::to_string(out.names.size()) + " in subfolders (" + out.names.front() +
                " …); are the subfolders classes? Then move the others away; else name one subfolder");
  refuse(others, folder);
  if (!loose.empty()) return {folder, loose};
  refuse(others_inside, folder);
  if (out.names.empty()) throw Error("'" + folder.string() + "' holds no .jpg, .jpeg or .png file, nor do its subfolders");
  return out;
}

class Images : public Reader {
 public:
  explicit Images(const Options& options) : options_(options) { reject_batches(options, owner); }

  DatasetPtr open(const std::vector<graph::Value>& inputs, const fs::path& base) const override {
    check_inputs(inputs);
    if (inputs.size() > 1) {
      throw Error(std::string(owner) + ": the model has the inputs " + joined(names_of(inputs)) +
                  ", but pictures feed one of them; give the others with constants: {INPUT: value}, or use npz or npy");
    }
    const Pixels pixels(inputs[0], options_, owner);
    const Framing framing(options_, pixels.size(), owner);
    const fs::path folder = path_of(options_, "path", base, owner);
    if (!fs::is_directory(folder)) {
      throw Error("'" + folder.string() + "' is " + (fs::exists(folder) ? "not a folder" : "not there") +
                  "; reader images needs a folder of pictures");
    }
    Files files = find_files(folder, options_.has("labels"));
    if (options_.has("labels")) read_labels_of(files, find_labels(text_option(options_, "labels", owner), base, folder));
    files.labels.of = with_offset(std::move(files.labels.of), options_);
    files.labels.names = read_class_names(options_, base, folder, owner, std::move(files.labels.names));
    const auto all =
        std::make_shared<ImagesDataset>(std::move(files), framing, pixels, integer_option(options_, "label_offset", 0));
    all->check();
    return limited(all, options_, owner);
  }

 private:
  static void read_labels_of(Files& files, const fs::path& labels) {
    files.labels = {};
    if (labels.extension() == ".json") {
      files.boxes = read_coco(labels, files.names);
    } else {
      files.labels.of = read_labels(labels, files.names);
    }
  }

  Options options_;
};

// The reader's own, those of framing and pixels, and of the common ones what pictures do not have their own of.
std::vector<OptionSpec> all_options() {
  std::vector<OptionSpec> out = {{"path", "", "the folder: of pictures, or of one folder per class"},
                                 {"labels", nullptr,
                                  "CSV file with the columns file,label, or a JSON file of boxes in COCO's form; left out: "
                                  "subfolders are the classes, in the order of their names"}};
  for (const auto& own : {Framing::options(), Pixels::options()}) out.insert(out.end(), own.begin(), own.end());
  for (auto& common : with_common({})) {
    const bool taken =
        common.name == "dtype" || std::ranges::any_of(out, [&](const auto& one) { return one.name == common.name; });
    if (!taken) out.push_back(std::move(common));
  }
  return out;
}

}  // namespace

Entry<Reader> images() {
  return {
      .help = "folder of JPEG and PNG files, with declared preprocessing; labels from a CSV file, class folders or COCO's JSON",
      .make = make_as<Images, Reader>,
      .options = all_options()};
}

}  // namespace quasar::data::readers
