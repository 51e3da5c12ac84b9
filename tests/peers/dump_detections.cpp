// Detections of a model on a data set as JSON: per sample a list of [left, top, right, bottom, score, label].
// usage: dump_detections MODEL DATA DECODER
#include <iostream>

#include "quasar/base/json.hpp"
#include "quasar/eval/decoder.hpp"
#include "quasar/graph/load.hpp"
#include "quasar/runtime/session.hpp"

int main(int count, char** words) {
  using namespace quasar;
  if (count != 4) return 1;
  const graph::Model model = graph::load(words[1]);
  const auto samples = data::open(words[2], model.inputs);
  const auto decoder = eval::make_decoder(words[3]);
  const runtime::Session session(model);
  Json out = Json::array();
  for (size_t i = 0; i < samples->size(); ++i) {
    const data::Sample sample = samples->at(i);
    const auto outputs = session.run(sample);
    const auto values = outputs.at(0).as<float>();
    out.push_back(Json::array());
    for (const auto& one : decoder->decode(values, {{outputs[0].shape()}, {sample[0].shape()}}))
      out.back().push_back({one.left, one.top, one.right, one.bottom, one.score, one.label});
  }
  std::cout << out.dump() << "\n";
}
