#include "quasar/data/coco.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"

namespace quasar::data {
namespace {

class Coco {
 public:
  explicit Coco(const std::filesystem::path& file)
      : where_("'" + file.string() + "'"), all_(parse_json(read_file(file), file.string())) {
    for (const char* part : {"images", "categories", "annotations"}) {
      if (!all_.is_object() || !all_.contains(part) || !all_[part].is_array())
        throw Error(where_ + ": has no list '" + part + "', which labels in COCO's form need");
    }
    for (const Json& image : all_["images"]) {
      const int64_t id = number(image, "id", "images");
      if (!image.contains("file_name") || !image["file_name"].is_string()) fail("images", image, "has no file_name");
      if (!name_of_.emplace(id, image["file_name"].get<std::string>()).second)
        fail("images", image, "has an id that is given twice");
      boxes_[image["file_name"].get<std::string>()];
    }
    std::map<int64_t, int64_t> ids;
    for (const Json& category : all_["categories"]) ids.emplace(number(category, "id", "categories"), 0);
    for (auto& [id, place] : ids) class_of_.emplace(id, static_cast<int64_t>(class_of_.size()));
    for (const Json& annotation : all_["annotations"]) add(annotation);
  }

  const Boxes& of(const std::string& file) const {
    const auto found = boxes_.find(file);
    if (found != boxes_.end()) return found->second;
    throw Error(where_ + ": has no image with file_name '" + file + "'");
  }

 private:
  [[noreturn]] void fail(const char* part, const Json& entry, const std::string& what) const {
    std::string text = entry.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > 120) text = text.substr(0, 117) + "...";
    throw Error(where_ + ", " + part + ": " + text + " " + what);
  }

  int64_t number(const Json& entry, const char* key, const char* part) const {
    if (!entry.is_object() || !entry.contains(key) || !entry[key].is_number_integer())
      fail(part, entry, std::string("has no whole number '") + key + "'");
    return entry[key].get<int64_t>();
  }

  void add(const Json& annotation) {
    const auto image = name_of_.find(number(annotation, "image_id", "annotations"));
    const auto category = class_of_.find(number(annotation, "category_id", "annotations"));
    if (image == name_of_.end()) fail("annotations", annotation, "names an image_id that 'images' does not have");
    if (category == class_of_.end()) fail("annotations", annotation, "names a category_id that 'categories' does not have");
    const Json box = annotation.value("bbox", Json());
    const auto is_side = [](const Json& one) { return one.is_number() && std::isfinite(one.get<double>()); };
    if (!box.is_array() || box.size() != 4 || !std::ranges::all_of(box, is_side) || box[2] < 0 || box[3] < 0)
      fail("annotations", annotation, "has no bbox [x, y, width, height]");
    const double x = box[0], y = box[1], width = box[2], height = box[3];
    const Json crowd = annotation.value("iscrowd", Json(0));
    boxes_[image->second].push_back({x, y, x + width, y + height, category->second, crowd == 1 || crowd == true});
  }

  std::string where_;
  Json all_;
  std::map<int64_t, std::string> name_of_;
  std::map<int64_t, int64_t> class_of_;
  std::map<std::string, Boxes> boxes_;
};

}  // namespace

std::vector<Boxes> read_coco(const std::filesystem::path& json, const std::vector<std::string>& files) {
  const Coco coco(json);
  std::vector<Boxes> out;
  for (const auto& file : files) out.push_back(coco.of(file));
  return out;
}

}  // namespace quasar::data
