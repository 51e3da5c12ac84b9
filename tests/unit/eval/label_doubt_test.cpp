#include "quasar/eval/label_doubt.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace quasar::eval {
namespace {

constexpr size_t classes = 10;

// Every third answer is another class than the label, moved by so much.
std::string doubt(int64_t offset, size_t count = 60) {
  std::vector<int32_t> answers;
  std::vector<int64_t> labels;
  for (size_t i = 0; i < count; ++i) {
    const auto answer = static_cast<int32_t>(i % 7 + 1);
    answers.push_back(answer);
    labels.push_back((i % 3 == 0 ? (answer + 3) % 9 : answer) - offset);
  }
  return label_doubt(answers, labels, classes);
}

TEST(LabelDoubt, LabelsThatFitAreNotDoubted) {
  EXPECT_EQ(doubt(0), "");
}

TEST(LabelDoubt, ClassesAreWhatTheModelKnows) {
  const std::vector<int32_t> answers{1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<int64_t> same(answers.begin(), answers.end()), others{2, 3, 4, 5, 6, 7, 8, 1};
  EXPECT_TRUE(are_classes(answers, same, classes));
  EXPECT_FALSE(are_classes(answers, others, classes));
  EXPECT_FALSE(are_classes(std::vector<int32_t>(8, 0), std::vector<int64_t>(8, 0), 1)) << "one value is always the greatest";
}

TEST(LabelDoubt, NamesTheOffsetWithWhichLabelsFit) {
  EXPECT_NE(doubt(1).find("on 66.7 % with every label greater by one (label_offset: 1"), std::string::npos) << doubt(1);
  EXPECT_NE(doubt(-1).find("on 66.7 % with every label smaller by one"), std::string::npos) << doubt(-1);
}

TEST(LabelDoubt, SaysWhereTheModelOnlyGuesses) {
  EXPECT_NE(doubt(5).find("guessing among 10 classes reaches too"), std::string::npos) << doubt(5);
}

TEST(LabelDoubt, FewSamplesSayNothing) {
  EXPECT_EQ(doubt(1, 19), "");
  EXPECT_EQ(label_doubt({}, {}, classes), "");
}

// Two boxes in each of 20 pictures, found where they are; the labels are the model's names less `offset`, and the labelled boxes
// are moved to the right by so many pixels.
std::string doubt_of_boxes(int64_t offset, double moved, size_t pictures = 20) {
  std::vector<std::vector<Detection>> found;
  std::vector<data::Boxes> boxes;
  for (size_t i = 0; i < pictures; ++i) {
    const auto label = static_cast<int64_t>(i % 7 + 1);
    found.push_back({{10, 10, 50, 50, 0.9, label}, {12, 10, 50, 50, 0.4, label + 1}, {100, 10, 150, 50, 0.8, 3}});
    boxes.push_back({{10 + moved, 10, 50 + moved, 50, label - offset}, {100 + moved, 10, 150 + moved, 50, 3 - offset}});
    boxes.back().push_back({300, 300, 400, 400, 9, true});  // a crowd counts nowhere
  }
  return box_doubt(found, boxes);
}

TEST(LabelDoubt, BoxesThatFitAreNotDoubted) {
  EXPECT_EQ(doubt_of_boxes(0, 0), "");
  EXPECT_EQ(doubt_of_boxes(0, 5), "");
}

TEST(LabelDoubt, ClassesOfBoxesMayBeNumberedOtherwise) {
  EXPECT_NE(doubt_of_boxes(1, 0).find("on 0 % of the labelled boxes that it finds, and on 100 % with every label greater by one"),
            std::string::npos)
      << doubt_of_boxes(1, 0);
  EXPECT_NE(doubt_of_boxes(-1, 0).find("smaller by one"), std::string::npos);
}

TEST(LabelDoubt, BoxesThatNothingIsFoundAt) {
  EXPECT_NE(doubt_of_boxes(0, 500).find("where 40 boxes are labelled the float model finds nothing"), std::string::npos)
      << doubt_of_boxes(0, 500);
  EXPECT_EQ(doubt_of_boxes(0, 500, 9), "") << "18 boxes say too little";
}

TEST(LabelDoubt, OneClassForAllIsNoGuessing) {
  const std::vector<int32_t> answers(30, 1);
  const std::vector<int64_t> labels(30, 1);
  EXPECT_EQ(label_doubt(answers, labels, 2), "");
}

}  // namespace
}  // namespace quasar::eval
