// What a float model itself says of the values that it takes from pictures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "quasar/data/raw_pictures.hpp"
#include "quasar/graph/model.hpp"

namespace quasar::tune {

// One way to make values of a picture's bytes, x' = (x − mean) / std.
struct PixelValues {
  std::string name;  // "-1 to 1"
  Json words;        // {mean, std}, as the reader takes them; {}: as they are
};

// The ways that most models are trained with: as they are (first), 0 to 1, -1 to 1, ImageNet's, without ImageNet's mean.
std::vector<PixelValues> usual_values(const std::string& color);

struct PixelEvidence {
  // What the answers say of which picture it is, in nats, for each of the usual values; empty: no output is a classifier's.
  //   I = H(mean over pictures of p) − mean over pictures of H(p)
  std::vector<double> told;
  // How large the results of the first layer are beside what is added to them, for each; empty: there is no such layer.
  std::vector<double> first_layer;
  std::string layer;  // its name
  size_t pictures = 0;

  bool is_classifier() const;
  // Whether the first layer is meant for values of about 1.
  bool wants_smaller() const;
  // Whether the bytes as they are fit the model.
  bool raw_fits() const;
  // The place among the usual values of what a classifier's answers tell most with, of the size that its first layer is meant
  // for; nullopt: that cannot be told.
  std::optional<size_t> best(const std::vector<PixelValues>& values) const;
};

// Runs the model on some of the pictures under each of the usual values.
PixelEvidence pixel_evidence(const graph::Model& model, const data::RawPictures& pictures,
                             const std::vector<PixelValues>& values);

}  // namespace quasar::tune
