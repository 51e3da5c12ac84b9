// Decoders, and average precision against pycocotools (boxes.json, from tests/peers/coco_map.py).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "quasar/base/error.hpp"
#include "quasar/base/file.hpp"
#include "quasar/eval/boxes.hpp"
#include "quasar/eval/detection_match.hpp"
#include "quasar/eval/priors.hpp"
#include "unit/data/files.hpp"

namespace quasar::eval {
namespace {

// Parts of all images of a case, through a metric's own match().
double precision_of(const Json& images, const std::vector<double>& thresholds, Precision how) {
  std::vector<Part> parts;
  for (const Json& image : images) {
    data::Boxes objects;
    for (const Json& o : image["objects"]) {
      if (how == Precision::coco || o[5] == 0) objects.push_back({o[0], o[1], o[2], o[3], o[4], o[5] == 1});
    }
    std::vector<Detection> found;
    for (const Json& d : image["detections"]) found.push_back({d[0], d[1], d[2], d[3], d[4], d[5]});
    parts.push_back(match(found, objects, thresholds, how));
  }
  const std::vector<uint32_t> once(parts.size(), 1);
  return average_precision(parts, thresholds.size(), how)->value(once);
}

void compare(const std::filesystem::path& file) {
  const Json all = parse_json(read_file(file), file.string());
  const Json &images = all["images"], &expected = all["expected"];
  std::vector<double> ten;
  for (int k = 0; k < 10; ++k) ten.push_back(0.5 + 0.05 * k);
  EXPECT_NEAR(precision_of(images, ten, Precision::coco), expected["coco"], 1e-6);
  EXPECT_NEAR(precision_of(images, {0.5}, Precision::coco), expected["coco_50"], 1e-6);
  EXPECT_NEAR(precision_of(images, {0.75}, Precision::coco), expected["coco_75"], 1e-6);
  EXPECT_NEAR(precision_of(images, {0.5}, Precision::voc), expected["voc"], 1e-6);
  EXPECT_NEAR(precision_of(images, {0.5}, Precision::voc07), expected["voc07"], 1e-6);
}

TEST(AveragePrecision, AsPycocotoolsOnAFewImages) {
  compare(std::filesystem::path(QUASAR_SOURCE_DIR) / "tests/unit/eval/boxes.json");
}

// tests/peers/coco.sh names fresh cases.
TEST(AveragePrecision, AsPycocotoolsOnGivenCases) {
  const char* folder = std::getenv("QUASAR_BOXES");
  if (folder == nullptr) GTEST_SKIP() << "QUASAR_BOXES names no folder";
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().string());
    compare(entry.path());
    ++count;
  }
  EXPECT_GT(count, 0U);
}

TEST(AveragePrecision, ByHand) {
  const data::Boxes objects{{0, 0, 10, 10, 1}, {20, 0, 30, 10, 1}};
  // Right, wrong, right: precision 1 up to recall 1/2, then 2/3.
  const std::vector<Detection> found{{0, 0, 10, 10, 0.9, 1}, {50, 0, 60, 10, 0.8, 1}, {20, 0, 30, 10, 0.7, 1}};
  const std::vector<Part> parts{match(found, objects, std::vector{0.5}, Precision::voc)};
  const uint32_t once[] = {1};
  EXPECT_NEAR(average_precision(parts, 1, Precision::voc)->value(once), 0.5 + 0.5 * 2 / 3, 1e-12);
  EXPECT_NEAR(average_precision(parts, 1, Precision::coco)->value(once), (51 + 50 * 2.0 / 3) / 101, 1e-12);
  // Of a class that has objects and no detections, 0; detections of a class without objects do not count.
  const std::vector<Part> none{match({}, objects, std::vector{0.5}, Precision::coco)};
  EXPECT_EQ(average_precision(none, 1, Precision::coco)->value(once), 0);
  const std::vector<Part> strange{match(std::vector<Detection>{{0, 0, 1, 1, 1, 7}}, {}, std::vector{0.5}, Precision::coco)};
  EXPECT_EQ(average_precision(strange, 1, Precision::coco)->value(once), 0);
}

TEST(Suppression, DropsWhatOverlapsABetterOneOfItsClass) {
  const std::vector<Detection> found{
      {0, 0, 10, 10, 0.5, 1}, {1, 0, 11, 10, 0.9, 1}, {1, 0, 11, 10, 0.7, 2}, {0, 0, 10, 10, 0.01, 3}};
  const auto taken = selected(found, {0.05, 0.45, 100});
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].score, 0.9);
  EXPECT_EQ(taken[1].label, 2);
  EXPECT_EQ(selected(found, {0.05, 0.45, 1}).size(), 1U);
  EXPECT_NEAR(iou(found[0], found[1]), 9.0 / 11, 1e-12);
}

std::vector<Detection> decode(const Json& words, const std::vector<float>& values, const Layout& layout) {
  return make_decoder(words)->decode(values, layout);
}

void expect_box(const Detection& one, double left, double top, double right, double bottom, double score, int64_t label) {
  EXPECT_NEAR(one.left, left, 1e-4);
  EXPECT_NEAR(one.top, top, 1e-4);
  EXPECT_NEAR(one.right, right, 1e-4);
  EXPECT_NEAR(one.bottom, bottom, 1e-4);
  EXPECT_NEAR(one.score, score, 1e-6);
  EXPECT_EQ(one.label, label);
}

const std::vector<Shape> picture{{1, 3, 64, 128}};

TEST(Decoders, FastestDet) {
  // Two classes, a grid of 1 x 2; the second cell holds an object in its middle, half as wide and as high as the picture.
  const std::vector<float> values{0, 0.8F, 0, 0.5493061443F, 0, 0, 0, 0, 0, 0, 0.1F, 0.2F, 0.9F, 0.6F};
  const auto found = decode("fastestdet", values, {{{1, 7, 1, 2}}, picture});
  ASSERT_EQ(found.size(), 1U);
  const double x = 1.5 / 2 * 128;  // tanh(0.5493) = 1/2
  expect_box(found[0], x - 32, -16, x + 32, 16, std::pow(0.8, 0.6) * std::pow(0.6, 0.4), 1);
}

TEST(Decoders, YoloV5AndV8) {
  const std::vector<float> five{10, 20, 4, 6, 0.5F, 0.1F, 0.8F, 1, 1, 1, 1, 0, 1, 1};
  const auto found = decode("yolov5", five, {{{1, 2, 7}}, picture});
  ASSERT_EQ(found.size(), 1U);
  expect_box(found[0], 8, 17, 12, 23, 0.4, 1);
  // The same box and another, fields first.
  const std::vector<float> eight{10, 50, 20, 50, 4, 10, 6, 10, 0.1F, 0.7F, 0.4F, 0};
  const auto two = decode("YOLOv8", eight, {{{1, 6, 2}}, picture});
  ASSERT_EQ(two.size(), 2U);
  expect_box(two[0], 45, 45, 55, 55, 0.7, 0);
  expect_box(two[1], 8, 17, 12, 23, 0.4, 1);
}

// Masks, key points: fields behind the classes.
TEST(Decoders, FieldsBehindTheClassesArePassedOver) {
  const std::vector<float> eight{10, 50, 20, 50, 4, 10, 6, 10, 0.1F, 0.7F, 0.4F, 0, 9, 9};
  const auto found = decode({{"name", "yolov8"}, {"classes", 2}}, eight, {{{1, 7, 2}}, picture});
  ASSERT_EQ(found.size(), 2U);
  expect_box(found[0], 45, 45, 55, 55, 0.7, 0);
  const std::vector<float> five{10, 20, 4, 6, 0.5F, 0.1F, 0.8F, 9};
  const auto one = decode({{"name", "yolov5"}, {"classes", 2}}, five, {{{1, 1, 8}}, picture});
  ASSERT_EQ(one.size(), 1U);
  expect_box(one[0], 8, 17, 12, 23, 0.4, 1);
  EXPECT_THROW(decode({{"name", "yolov5"}, {"classes", 4}}, five, {{{1, 1, 8}}, picture}), Error);
}

TEST(Decoders, YoloV10) {
  const std::vector<float> rows{8, 17, 12, 23, 0.4F, 1, 8, 17, 12, 23, 0.9F, 1, 0, 0, 1, 1, 0.01F, 2};
  const auto found = decode("yolov10", rows, {{{1, 3, 6}}, picture});
  ASSERT_EQ(found.size(), 2U);  // nothing is suppressed
  expect_box(found[0], 8, 17, 12, 23, 0.9, 1);
  EXPECT_THROW(decode("yolov10", rows, {{{1, 6, 3}}, picture}), Error);
}

TEST(Decoders, Detr) {
  // Two queries of two classes; the second one finds nothing.
  const std::vector<float> logits{0, std::log(3.0F), 0, 0, 0, 9}, boxes{0.5F, 0.5F, 0.25F, 0.5F, 0.1F, 0.1F, 0.1F, 0.1F};
  std::vector<float> values = logits;
  values.insert(values.end(), boxes.begin(), boxes.end());
  const auto found = decode("detr", values, {{{1, 2, 3}, {1, 2, 4}}, picture});
  ASSERT_EQ(found.size(), 1U);
  expect_box(found[0], 48, 16, 80, 48, 0.6, 1);
  std::vector<float> boxes_first = boxes;
  boxes_first.insert(boxes_first.end(), logits.begin(), logits.end());
  const Json words{{"name", "detr"}, {"activation", "sigmoid"}, {"background", false}};
  const auto all = decode(words, boxes_first, {{{1, 2, 4}, {1, 2, 3}}, picture});
  ASSERT_EQ(all.size(), 2U);
  expect_box(all[1], 48, 16, 80, 48, 0.75, 1);
  EXPECT_EQ(all[0].label, 2);
  EXPECT_THROW(decode("detr", values, {{{1, 14}}, picture}), Error);
}

TEST(Decoders, PicoDet) {
  // Strides 32 and 64 of 64 x 128 pixels, two bins, one class: the fourth cell of stride 32 has an object, a stride wide to the
  // left.
  std::vector<float> fine(8), coarse(2), fine_sides(8 * 8), coarse_sides(2 * 8);
  fine[3] = 0.8F;
  fine_sides[3 * 8 + 1] = 50;  // left: all in bin 1; the other sides: half of each
  std::vector<float> values = fine;
  for (const auto& more : {coarse, fine_sides, coarse_sides}) values.insert(values.end(), more.begin(), more.end());
  const Json words{{"name", "picodet"}, {"bins", 2}};
  const auto found = decode(words, values, {{{1, 8, 1}, {1, 2, 1}, {1, 8, 8}, {1, 2, 8}}, picture});
  ASSERT_EQ(found.size(), 1U);
  expect_box(found[0], 112 - 32, 16 - 16, 112 + 16, 16 + 16, 0.8, 0);
  // Decoded in the model.
  const std::vector<float> decoded{8, 17, 12, 23, 1, 1, 5, 5, 5, 5, 9, 9, 0.1F, 0, 0.9F, 0.8F, 0, 0};
  const auto two = decode("picodet", decoded, {{{1, 3, 4}, {1, 2, 3}}, picture});
  ASSERT_EQ(two.size(), 2U);
  expect_box(two[0], 5, 5, 9, 9, 0.9, 0);
  expect_box(two[1], 8, 17, 12, 23, 0.8, 1);
  EXPECT_THROW(decode(words, values, {{{1, 8, 1}, {1, 2, 1}, {1, 8, 8}, {1, 16, 1}}, picture}), Error);
}

TEST(Decoders, NanoDetBeginsAtTheCornersOfCells) {
  // 84 cells of strides 8, 16 and 32 on 64 x 64 pixels; of each a class and four distributions over two bins.
  std::vector<float> values(84 * 9);
  values[(64 + 5) * 9] = 0.9F;  // the second row's second cell of stride 16
  const auto found = decode({{"name", "nanodet"}, {"bins", 2}, {"centre", 0}}, values, {{{1, 84, 9}}, {{1, 3, 64, 64}}});
  ASSERT_EQ(found.size(), 1U);
  expect_box(found[0], 8, 8, 24, 24, 0.9, 0);
}

TEST(Decoders, YoloV3TakesChannelsFirstAndLast) {
  // One anchor of 16 x 8 pixels, one class, a grid of 1 x 2 on 64 x 128 pixels.
  std::vector<float> first(12), last(12);
  for (int cell = 0; cell < 2; ++cell) {
    const float fields[] = {0, 0, std::log(2.0F), 0, cell == 0 ? -20.0F : 0.0F, 3};
    for (int f = 0; f < 6; ++f) {
      first[static_cast<size_t>(f * 2 + cell)] = fields[f];
      last[static_cast<size_t>(cell * 6 + f)] = fields[f];
    }
  }
  const Json words{{"name", "yolov3"}, {"anchors", {16, 8}}};
  for (const auto& [values, shape] : {std::pair{first, Shape{1, 6, 1, 2}}, std::pair{last, Shape{1, 1, 2, 6}}}) {
    const auto found = decode(words, values, {{shape}, picture});
    ASSERT_EQ(found.size(), 1U) << to_string(shape);
    expect_box(found[0], 96 - 16, 32 - 4, 96 + 16, 32 + 4, 0.5 * sigmoid(3), 0);
  }
}

TEST(Decoders, YoloV5RawHeads) {
  // One anchor of 16 x 8 pixels, two classes, a grid of 1 x 2 on 64 x 128 pixels: stride 64.
  const float fields[] = {0, 0, std::log(3.0F), 0, 0, -20, 3};  // sigmoid(ln 3) = 3/4
  std::vector<float> first(14, -20), last(14, -20);
  for (size_t f = 0; f < 7; ++f) first[2 * f + 1] = last[7 + f] = fields[f];
  const Json words{{"name", "yolov5"}, {"anchors", {16, 8}}};
  for (const auto& [values, shape] :
       {std::pair{first, Shape{1, 7, 1, 2}}, std::pair{last, Shape{1, 1, 2, 7}}, std::pair{last, Shape{1, 1, 1, 2, 7}}}) {
    const auto found = decode(words, values, {{shape}, picture});
    ASSERT_EQ(found.size(), 1U) << to_string(shape);
    expect_box(found[0], 96 - 18, 32 - 4, 96 + 18, 32 + 4, 0.5 * sigmoid(3), 1);  // centre (1 + 2/2 - 1/2) of 64, 16·1.5²
  }
  std::vector<float> activated = last;
  for (float& value : activated) value = static_cast<float>(sigmoid(value));
  Json done = words;
  done["activated"] = true;
  EXPECT_NEAR(decode(done, activated, {{{1, 1, 1, 2, 7}}, picture}).at(0).score, 0.5 * sigmoid(3), 1e-6);
  EXPECT_THROW(decode("yolov5", first, {{{1, 7, 1, 2}}, picture}), Error);  // 9 anchors in one scale
}

TEST(Decoders, YoloV8RawHeads) {
  // Two bins, one class, a grid of 1 x 2: distances 1/2, 1/2, 1/2 and 3/4 of a cell of 64 pixels.
  std::vector<float> values(2 * 9, -20);
  for (size_t k = 0; k < 8; ++k) values[2 * k + 1] = 0;
  values[2 * 7 + 1] = std::log(3.0F);
  values[2 * 8 + 1] = 2;
  const auto found = decode({{"name", "yolov8"}, {"bins", 2}}, values, {{{1, 9, 1, 2}}, picture});
  ASSERT_EQ(found.size(), 1U);
  expect_box(found[0], 64, 0, 128, 32 + 48, sigmoid(2), 0);
}

TEST(Decoders, SsdOffsetsFromPriors) {
  // Two priors; offsets move the second one by a tenth of its size and double its width.
  const std::vector<float> values{0, 0, 0, 0, 1, 0, std::log(2.0F) / 0.2F, 0, 5, 0, 0, 0, 0, 5};
  const Json boxes{{{0.25, 0.5}, {0.5, 0.25}}};
  const Json words{{"name", "ssd"}, {"activation", "softmax"}, {"priors", {{"grids", {1}}, {"boxes", boxes}}}};
  const auto found = decode(words, values, {{{1, 2, 4}, {1, 2, 3}}, picture});
  const double p = std::exp(5.0) / (std::exp(5.0) + 2);
  ASSERT_EQ(found.size(), 1U);
  expect_box(found[0], 0.55 * 128 - 64, 24, 0.55 * 128 + 64, 40, p, 1);
  Json three = words;
  three["priors"]["boxes"][0].push_back({1, 1});
  EXPECT_THROW(decode(three, values, {{{1, 2, 4}, {1, 2, 3}}, picture}), Error);
}

TEST(Decoders, PriorsOfTensorFlowsSsd) {
  const auto priors = read_priors({{"grids", {19, 10, 5, 3, 2, 1}}}, false);
  ASSERT_EQ(priors.size(), 1917U);  // ssd_mobilenet's, in shares of 300 x 300 pixels
  const auto expect = [&](size_t i, double x, double y, double w, double h) {
    EXPECT_NEAR(priors[i].x, x, 1e-6);
    EXPECT_NEAR(priors[i].y, y, 1e-6);
    EXPECT_NEAR(priors[i].width, w, 1e-6);
    EXPECT_NEAR(priors[i].height, h, 1e-6);
  };
  expect(0, 0.5 / 19, 0.5 / 19, 0.1, 0.1);
  expect(4, 1.5 / 19, 0.5 / 19, 0.2 * std::sqrt(2.0), 0.2 / std::sqrt(2.0));
  expect(1083, 0.05, 0.05, 0.35, 0.35);
  expect(1083 + 5, 0.05, 0.05, std::sqrt(0.35 * 0.5), std::sqrt(0.35 * 0.5));
  expect(1916, 0.5, 0.5, std::sqrt(0.95), std::sqrt(0.95));
}

TEST(Decoders, PriorsFromAFile) {
  const TemporaryFolder folder;
  const std::vector<float> rows{0.25F, 0.5F, 0.1F, 0.2F, 0.75F, 0.5F, 0.3F, 0.4F};
  data::write_npz(folder.path() / "p.npz",
                  {{"anchors", data::npy_text<float>({2, 4}, rows)}, {"more", data::npy_text<float>({1}, {0})}});
  write_file(folder.path() / "p.npy", data::npy_text<float>({1, 2, 4}, rows));
  for (const char* name : {"p.npz", "p.npy"}) {
    const auto priors = read_priors((folder.path() / name).string(), true);
    ASSERT_EQ(priors.size(), 2U);
    EXPECT_FLOAT_EQ(static_cast<float>(priors[1].y), 0.75F);
    EXPECT_FLOAT_EQ(static_cast<float>(priors[1].width), 0.4F);
    EXPECT_NO_THROW(make_decoder({{"name", "ssd"}, {"priors", name}}, folder.path()));
  }
  EXPECT_THROW(read_priors("nowhere.npy", false), Error);
  EXPECT_THROW(read_priors({{"grids", {19}}, {"ratio", {1}}}, false), Error);
  EXPECT_THROW(read_priors(3, false), Error);
}

TEST(Decoders, SsdTakesProbabilitiesOrLabelsAndScores) {
  const std::vector<float> probabilities{0.5F, 0.25F, 0.75F, 0.5F, 0,     0,    0.1F, 0.1F,  // boxes, shares of the picture
                                         0.1F, 0.2F,  0.7F,  0.9F, 0.06F, 0.04F};
  const auto found = decode("ssd", probabilities, {{{1, 2, 4}, {1, 2, 3}}, picture});
  ASSERT_EQ(found.size(), 2U);
  expect_box(found[0], 64, 16, 96, 32, 0.7, 1);
  expect_box(found[1], 0, 0, 12.8, 6.4, 0.06, 0);
  const std::vector<float> labels{8, 4, 16, 12, 2, 0.7F};
  const auto one = decode({{"name", "ssd"}, {"normalized", false}, {"corners", "yxyx"}, {"background", -1}}, labels,
                          {{{1, 1, 4}, {1, 1}, {1, 1}}, picture});
  ASSERT_EQ(one.size(), 1U);
  expect_box(one[0], 4, 8, 12, 16, 0.7, 2);
  // Nothing found, beside an output that counts it.
  EXPECT_TRUE(decode("ssd", std::vector<float>{0}, {{{1, 0, 4}, {1, 0}, {1, 0}, {1}}, picture}).empty());
}

TEST(Decoders, OtherShapesAndOptionsAreRefused) {
  for (const auto& name : decoders::table().names()) {
    try {
      decode(name, std::vector<float>(8), {{{1, 8}}, picture});
      FAIL() << name;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(name), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find("[1,8]"), std::string::npos) << e.what();
    }
    EXPECT_FALSE(decoders::table().find(name).second.help.empty());
  }
  EXPECT_THROW(make_decoder("yolov99"), Error);
  EXPECT_THROW(make_decoder(3), Error);
  EXPECT_THROW(make_decoder(Json{{"name", "yolov5"}, {"threshold", 1}}), Error);
  EXPECT_THROW(make_decoder(Json{{"name", "yolov3"}, {"anchors", {1, -2}}}), Error);
}

}  // namespace
}  // namespace quasar::eval
