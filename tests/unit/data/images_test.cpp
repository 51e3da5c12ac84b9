// The images reader and what it is made of, against PIL and NumPy (pictures/expected.npz, from make_pictures.py).
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>

#include "files.hpp"
#include "quasar/data/annotations.hpp"
#include "quasar/data/archive.hpp"
#include "quasar/data/class_names.hpp"
#include "quasar/data/image.hpp"
#include "quasar/data/npy.hpp"
#include "quasar/data/resample.hpp"

namespace quasar::data {
namespace {

namespace fs = std::filesystem;

const fs::path pictures = fs::path(QUASAR_SOURCE_DIR) / "tests/unit/data/pictures";

Tensor expected(const std::string& name) {
  static const Archive archive(pictures / "expected.npz");
  return NpyArray(archive.open(name + ".npy"), name).all();
}

// The greatest difference between an image and an expected array of bytes; 1000 for other sizes.
int distance(const Image& image, const Tensor& wanted) {
  const auto height = static_cast<size_t>(wanted.shape()[0]), width = static_cast<size_t>(wanted.shape()[1]);
  if (image.height != height || image.width != width || image.pixels.size() != wanted.count()) return 1000;
  int most = 0;
  for (size_t i = 0; i < image.pixels.size(); ++i) most = std::max(most, std::abs(image.pixels[i] - wanted.as<uint8_t>()[i]));
  return most;
}

struct Decoded : testing::TestWithParam<std::string> {};

TEST_P(Decoded, AsPil) {
  std::string name = "decoded_" + GetParam();
  std::ranges::replace(name, '.', '_');
  const bool jpeg = GetParam().find(".j") != std::string::npos;
  EXPECT_LE(distance(decode(pictures / GetParam()), expected(name)),
            jpeg ? 1 : 0);  // other releases of libjpeg may round otherwise
  EXPECT_EQ(size_of(pictures / GetParam()), (Size{30, 41}));
}

INSTANTIATE_TEST_SUITE_P(Files, Decoded,
                         testing::Values("color.png", "gray.png", "black_and_white.png", "palette.png", "alpha.png", "color.jpg",
                                         "progressive.jpeg", "gray.jpg", "cmyk.jpg"),
                         [](const auto& item) {
                           std::string name = item.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

TEST(Resampled, AsPil) {
  const Image picture = decode(pictures / "color.png");
  const std::pair<std::string, Interpolation> filters[] = {{"nearest", Interpolation::nearest},
                                                           {"box", Interpolation::box},
                                                           {"bilinear", Interpolation::bilinear},
                                                           {"bicubic", Interpolation::bicubic},
                                                           {"lanczos", Interpolation::lanczos}};
  for (const auto& [name, filter] : filters) {
    for (const auto& [height, width] : {std::pair{11, 17}, std::pair{47, 60}, std::pair{30, 7}, std::pair{64, 41}}) {
      const Size size{static_cast<size_t>(height), static_cast<size_t>(width)};
      const std::string array = name + "_" + std::to_string(height) + "_" + std::to_string(width);
      EXPECT_EQ(distance(resampled(picture, size, {filter, true}), expected(array)), 0) << array;
    }
  }
}

TEST(Resampled, WithoutAntialiasItTakesNeighboursOnly) {
  // Columns 0, 10, 20 …: half the size without antialias is the mean of each pair's two (OpenCV's rule), a quarter skips columns.
  Image ramp{16, 1, 1, {}};
  for (int i = 0; i < 16; ++i) ramp.pixels.push_back(static_cast<uint8_t>(i * 10));
  const Image quarter = resampled(ramp, {1, 4}, {Interpolation::bilinear, false});
  EXPECT_EQ(quarter.pixels, (std::vector<uint8_t>{15, 55, 95, 135}));
}

TEST(Luminance, AsPil) {
  EXPECT_EQ(distance(gray(decode(pictures / "color.png")), expected("luminance").reshaped({30, 41, 1})), 0);
}

// The reader's first sample of a folder that holds a copy of color.png.
struct ImagesReader : testing::Test {
  ImagesReader() { add("a.png"); }
  void add(const std::string& name, const std::string& from = "color.png") const {
    fs::create_directories((folder.path() / name).parent_path());
    fs::copy_file(pictures / from, folder.path() / name);
  }
  DatasetPtr open_with(const Json& options, Shape shape = {1, 3, -1, -1}, DataType type = DataType::float32) const {
    Json all{{"reader", "images"}, {"path", folder.path().string()}};
    if (options.is_object()) all.update(options);
    return open(all, {input_of("x", type, std::move(shape))});
  }
  static double farthest(const Tensor& found, const Tensor& wanted) {
    if (found.shape() != wanted.shape()) return 1000;
    double most = 0;
    for (size_t i = 0; i < found.count(); ++i) {
      most = std::max(most, std::abs(static_cast<double>(found.as<float>()[i]) - static_cast<double>(wanted.as<float>()[i])));
    }
    return most;
  }
  TemporaryFolder folder;
};

TEST_F(ImagesReader, PreprocessesAsPilAndNumpy) {
  const Json imagenet{{"resize", 24},
                      {"crop", 21},
                      {"mean", {255 * 0.485, 255 * 0.456, 255 * 0.406}},
                      {"std", {255 * 0.229, 255 * 0.224, 255 * 0.225}}};
  EXPECT_LE(farthest(open_with(imagenet)->at(0)[0], expected("imagenet")), 1e-6);
  const Json central{{"crop", 0.875}, {"mean", 127.5}, {"scale", 1 / 127.5}};
  EXPECT_LE(farthest(open_with(central, {1, 3, 16, 16})->at(0)[0], expected("central")), 1e-6);
  const Json letterbox{
      {"letterbox", true}, {"resize", {20, 20}}, {"interpolation", "bicubic"}, {"color", "BGR"}, {"scale", 1 / 255.0}};
  EXPECT_LE(farthest(open_with(letterbox)->at(0)[0], expected("letterbox_bgr")), 1e-6);
}

TEST_F(ImagesReader, LaysPixelsOutAsTheModelTakesThem) {
  const Tensor first = open_with(Json::object(), {1, 3, 30, 41})->at(0)[0], last = open_with({}, {1, 30, 41, 3})->at(0)[0];
  EXPECT_EQ(last.shape(), (Shape{1, 30, 41, 3}));
  const auto a = first.as<float>(), b = last.as<float>();
  for (size_t i = 0; i < 30 * 41; ++i) {
    for (size_t c = 0; c < 3; ++c) EXPECT_EQ(a[c * 30 * 41 + i], b[3 * i + c]);
  }
  EXPECT_EQ(open_with({{"layout", "NHWC"}}, {-1, -1, -1, -1})->at(0)[0].shape(), (Shape{1, 30, 41, 3}));
  EXPECT_EQ(open_with({{"color", "gray"}}, {1, 1, 30, 41})->at(0)[0].shape(), (Shape{1, 1, 30, 41}));
  EXPECT_EQ(open_with({}, {3, 30, 41})->at(0)[0].shape(), (Shape{3, 30, 41}));
  const Tensor bytes = open_with({}, {1, 30, 41, 3}, DataType::uint8)->at(0)[0];
  EXPECT_EQ(bytes.type(), DataType::uint8);
  EXPECT_EQ(bytes.as<uint8_t>()[5], decode(pictures / "color.png").pixels[5]);
  EXPECT_EQ(open_with({}, {1, 3, 10, 12}, DataType::float16)->at(0)[0].type(), DataType::float16);
}

TEST_F(ImagesReader, LabelsComeFromCsvFoldersOrCoco) {
  add("b.jpg", "color.jpg");
  write_file(folder.path() / "labels.csv", "file,label\nb.jpg,7\n../a.png,1\na.png,4\n");
  const auto csv = open_with({{"labels", "labels.csv"}, {"label_offset", 1}});
  ASSERT_EQ(csv->size(), 2U);
  EXPECT_EQ(csv->label(0), 5);
  EXPECT_EQ(csv->label(1), 8);
  EXPECT_FALSE(open_with({})->label(0).has_value());

  const TemporaryFolder classes;
  for (const char* name : {"dog", "cat"}) {
    fs::create_directories(classes.path() / name);
    fs::copy_file(pictures / "color.png", classes.path() / name / "1.PNG");
  }
  fs::create_directories(classes.path() / "empty");
  const auto found = open(Json{{"reader", "images"}, {"path", classes.path().string()}},
                          {input_of("x", DataType::float32, Shape{1, 3, -1, -1})});
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ(found->label(0), 0);  // cat
  EXPECT_EQ(found->label(1), 1);
  EXPECT_EQ(class_name_of(*found, 0), "cat");
  EXPECT_EQ(class_name_of(*found, 1), "dog");
  EXPECT_EQ(class_name_of(*found, 2), "empty");
  const auto renamed = open(
      Json{{"reader", "images"}, {"path", classes.path().string()}, {"class_names", {"Felis", "Canis"}}, {"label_offset", 1}},
      {input_of("x", DataType::float32, Shape{1, 3, -1, -1})});
  EXPECT_EQ(class_name_of(*renamed, 2), "Canis");
  fs::copy_file(pictures / "color.png", classes.path() / "cover.png");
  EXPECT_EQ(missing(error_of([&] {
                      open(Json{{"reader", "images"}, {"path", classes.path().string()}},
                           {input_of("x", DataType::float32, Shape{1, 3, -1, -1})});
                    }),
                    {"holds 1 pictures (cover.png", "2 in subfolders (cat/1.PNG"}),
            "");
  fs::remove(classes.path() / "cover.png");
  write_file(classes.path() / "labels.csv", "file,label\ncat/1.PNG,4\ndog/1.PNG,3\n");
  const auto numbered = open(Json{{"reader", "images"}, {"path", classes.path().string()}, {"labels", "labels.csv"}},
                             {input_of("x", DataType::float32, Shape{1, 3, -1, -1})});
  EXPECT_EQ(class_name_of(*numbered, 0), "");  // the folders' names say nothing about these numbers
}

const char* const coco = R"({"images": [{"id": 5, "file_name": "a.png"}, {"id": 6, "file_name": "../../secret.png"}],
 "categories": [{"id": 90}, {"id": 3}],
 "annotations": [{"image_id": 5, "category_id": 90, "bbox": [4.1, 6, 20.5, 12]},
                 {"image_id": 5, "category_id": 3, "bbox": [0, 0, 2, 2], "iscrowd": 1},
                 {"image_id": 6, "category_id": 3, "bbox": [0, 0, 2, 2]}]})";

// Numbers are those of the folders that are classes, also of those that are empty here.
TEST_F(ImagesReader, EmptyFoldersAreClassesAndWhatProgramsLeaveIsNone) {
  fs::remove(folder.path() / "a.png");
  for (const char* name : {"ant/1.png", "cat/1.png", ".ipynb_checkpoints/1.png", "__MACOSX/1.png", "cat/._1.png"}) add(name);
  fs::create_directories(folder.path() / "bee");
  write_file(folder.path() / "bee" / ".gitkeep", "");
  fs::create_directories(folder.path() / "boxes");
  write_file(folder.path() / "boxes" / "1.xml", "<no picture/>");
  const auto found = open_with({});
  ASSERT_EQ(found->size(), 2U);
  EXPECT_EQ(found->label(0), 0);
  EXPECT_EQ(found->label(1), 2);
  EXPECT_EQ(class_name_of(*found, 2), "cat");
}

// A class of such pictures would have no number, and the classes behind it another one.
TEST_F(ImagesReader, PicturesInOtherFormatsAreNotPassedOver) {
  fs::remove(folder.path() / "a.png");
  add("cat/a.png");
  add("dog/b.webp");
  add("emu/c.png");
  try {
    open_with({});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("holds 1 picture in formats that are not read (dog/b.webp"), std::string::npos)
        << e.what();
  }
  add("loose.png");
  for (const char* name : {"cat", "emu"}) fs::remove_all(folder.path() / name);
  EXPECT_EQ(open_with({})->size(), 1U) << "a folder of pictures, and masks in another one";
  add("thumb.gif");
  EXPECT_THROW(open_with({}), Error);
}

TEST_F(ImagesReader, BoxesMoveWithThePicture) {
  write_file(folder.path() / "boxes.json", coco);
  const auto stretched = boxes_of(*open_with({{"labels", "boxes.json"}}, {1, 3, 60, 82}), 0);
  ASSERT_TRUE(stretched && stretched->size() == 2);
  EXPECT_NEAR((*stretched)[0].left, 8.2, 1e-9);
  EXPECT_NEAR((*stretched)[0].right, 49.2, 1e-9);
  EXPECT_NEAR((*stretched)[0].bottom, 36, 1e-9);
  EXPECT_EQ((*stretched)[0].label, 1);  // ids in order: 3, 90
  EXPECT_TRUE((*stretched)[1].crowd);
  // 41 x 30 into 82 x 82: twice as large, 11 rows of border above.
  const auto letterbox = boxes_of(*open_with({{"labels", "boxes.json"}, {"letterbox", true}}, {1, 3, 82, 82}), 0);
  EXPECT_NEAR((*letterbox)[0].top, 11 + 12, 1e-9);
  // The middle 20 x 20: what lies outside is cut off, and the crowd in the corner is gone.
  const auto cropped = boxes_of(*open_with({{"labels", "boxes.json"}, {"crop", 20}}), 0);
  ASSERT_EQ(cropped->size(), 1U);
  EXPECT_EQ((*cropped)[0].left, 0);
  EXPECT_NEAR((*cropped)[0].top, 1, 1e-9);
  EXPECT_NEAR((*cropped)[0].right, 14.6, 1e-9);
}

TEST_F(ImagesReader, MistakesAreNamed) {
  const auto fails = [&](const Json& options, const Shape& shape, const std::vector<std::string>& parts) {
    EXPECT_EQ(missing(error_of([&] { open_with(options, shape)->at(0); }), parts), "") << options;
  };
  const Shape any = {1, 3, -1, -1};
  fails({{"resize", "big"}}, any, {"reader images", "'resize' is \"big\""});
  fails({{"crop", 0}}, any, {"'crop' is 0"});
  fails({{"crop", 300}}, any, {"a.png", "fewer than the crop of 300 x 300"});
  fails({{"resize", 20}, {"crop", 24}}, any, {"crop 24 is larger than resize 20"});
  fails({{"letterbox", true}}, any, {"letterbox needs resize"});
  fails({{"color", "CMY"}}, any, {"color", "RGB, BGR, gray"});
  fails({{"std", 0}}, any, {"'std' holds a zero"});
  fails({{"std", 2}, {"scale", 2}}, any, {"scale and std contradict"});
  fails({{"mean", {1, 2}}}, any, {"'mean' has 2 values for 3 channels"});
  const Json mean{0.485, 0.456, 0.406}, std{0.229, 0.224, 0.225};  // torchvision's, of values 0 to 1
  fails({{"mean", mean}, {"std", std}}, any,
        {"mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] are for values of 0 to 1",
         "write mean: [123.675, 116.28, 103.53], std: [58.395, 57.12, 57.375]"});
  fails({{"mean", 123.675}, {"std", 0.5}}, any, {"std: 0.5 is for", "write std: 127.5. Does", "scale instead of std"});
  fails({{"mean", 0.5}}, any, {"mean: 0.5 is for", "subtracted first", "write mean: 127.5, std: 255"});
  fails({{"mean", 0.5}, {"scale", 1 / 255.0}}, any, {"write mean: 127.5"});
  fails({{"mean", 1}, {"std", 127.5}}, any, {"write mean: 127.5"});
  for (const Json& right : {Json{{"mean", 0}, {"std", 255}}, {{"mean", {0, 0, 3}}, {"std", {0.5, 2, 1}}}, {{"scale", 2}}})
    EXPECT_NO_THROW(open_with(right)->at(0)) << right;
  fails({{"layout", "CHWN"}}, any, {"must be NCHW or NHWC"});
  fails({{"layout", "NHWC"}}, {1, 3, 30, 41}, {"[1,3,30,41]", "NHWC"});
  fails({{"color", "gray"}}, {1, 3, 30, 41}, {"gray has 1"});
  fails({{"resize", 24}}, {1, 3, 24, 24}, {"expected shape [1,3,24,24], found [1,3,24,32]", "resize or crop"});
  fails({{"resize", {60000, 60000}}}, any, {"a.png", "60000 x 60000 pixels"});
  fails({{"labels", "none.csv"}}, any, {"none.csv"});
  fails({{"path", "nowhere"}}, any, {"nowhere", "not there"});
  fails({}, {1, 12}, {"[1,12]", "three axes"});
  EXPECT_EQ(missing(error_of([&] { open_with({{"mean", 3}}, {1, 3, 30, 41}, DataType::uint8); }), {"floating point"}), "");
  EXPECT_EQ(missing(error_of([&] { open_with({}, {1, 3, 30, 41}, DataType::int64); }), {"int64"}), "");
}

TEST_F(ImagesReader, DamagedFilesAreNamed) {
  const std::pair<std::string, std::string> files[] = {
      {"color.png", "b.png"}, {"color.jpg", "b.jpg"}, {"progressive.jpeg", "b.jpeg"}};
  for (const auto& [from, to] : files) {
    const std::string whole = read_file(pictures / from);
    for (const size_t size : {size_t{0}, size_t{2}, size_t{12}, whole.size() / 2, whole.size() - 20}) {
      write_file(folder.path() / to, whole.substr(0, size));
      EXPECT_EQ(missing(error_of([&] { open_with({})->at(1); }), {to}), "") << to << " " << size;
    }
    fs::remove(folder.path() / to);
  }
  write_file(folder.path() / "b.png", "this is no picture");
  EXPECT_EQ(missing(error_of([&] { open_with({})->at(1); }), {"b.png", "neither a JPEG nor a PNG file"}), "");
  // A header that claims 100000 x 100000 pixels is refused before memory is taken.
  std::string bomb = read_file(pictures / "color.png");
  bomb.replace(16, 8, std::string("\x00\x01\x86\xa0\x00\x01\x86\xa0", 8));
  write_file(folder.path() / "b.png", bomb);
  EXPECT_NE(error_of([&] { open_with({})->at(1); }), "no error");
}

// Left out, they would make other scores.
TEST_F(ImagesReader, PicturesThatAreNoFilesAreErrors) {
  const fs::path place = folder.path() / "b.png";
  const auto said = [&] {
    const std::string message = error_of([&] { open_with({}); });
    fs::remove(place);
    return message;
  };
  fs::create_symlink("nowhere.png", place);
  EXPECT_EQ(said(), "cannot read '" + place.string() + "': No such file or directory");
  fs::create_symlink("b.png", place);
  EXPECT_EQ(said(), "cannot read '" + place.string() + "': Too many levels of symbolic links");
  fs::create_symlink("/dev/zero", place);
  EXPECT_EQ(said(), "'" + place.string() + "' is not a file");
  ASSERT_EQ(mkfifo(place.c_str(), 0600), 0);
  EXPECT_EQ(said(), "'" + place.string() + "' is not a file");
  fs::create_directory(folder.path() / "c.png");
  fs::create_symlink("a.png", place);
  EXPECT_EQ(open_with({})->size(), 2U);
}

TEST_F(ImagesReader, CocoFilesAreChecked) {
  const auto fails = [&](const std::string& from, const std::string& to, const std::vector<std::string>& parts) {
    std::string text = coco;
    text.replace(text.find(from), from.size(), to);
    write_file(folder.path() / "boxes.json", text);
    EXPECT_EQ(missing(error_of([&] { open_with({{"labels", "boxes.json"}}); }), parts), "") << to;
  };
  fails("annotations", "notes", {"boxes.json", "no list 'annotations'"});
  fails("\"image_id\": 5", "\"image_id\": 8", {"image_id that 'images' does not have"});
  fails("\"category_id\": 90", "\"category_id\": 91", {"category_id that 'categories' does not have"});
  fails("[4.1, 6, 20.5, 12]", "[4.1, 6, -20.5, 12]", {"has no bbox"});
  fails("[4.1, 6, 20.5, 12]", "[4.1, 6]", {"has no bbox"});
  fails("a.png", "c.png", {"no image with file_name 'a.png'"});
  fails("\"id\": 6", "\"id\": 5", {"given twice"});
}

TEST_F(ImagesReader, FoldersOfPicturesAreFoundByThemselves) {
  EXPECT_EQ(open(Json(folder.path().string()), {input_of("x", DataType::float32, Shape{1, 3, 30, 41})})->size(), 1U);
}

}  // namespace
}  // namespace quasar::data
