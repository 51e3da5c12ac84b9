// Labelled boxes from a JSON file in COCO's form: images (id, file_name), categories (id), annotations (image_id, category_id,
// bbox [x, y, width, height], iscrowd).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "quasar/data/annotations.hpp"

namespace quasar::data {

// The boxes of each of `files` (as `file_name` names them), in pixels of the picture. A label is the place of its category among
// the ids in ascending order: 0 … 79 for COCO's 80 categories, whose ids have gaps. Images that are none of `files` are passed
// over. Throws Error that names the JSON file and the entry: a part that is missing or of another type, an unknown id, a file
// without an entry in `images`.
std::vector<Boxes> read_coco(const std::filesystem::path& json, const std::vector<std::string>& files);

}  // namespace quasar::data
