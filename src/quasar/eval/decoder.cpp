#include "quasar/eval/decoder.hpp"

#include "quasar/base/error.hpp"

namespace quasar::eval {

std::unique_ptr<Decoder> make_decoder(const Json& words, const std::filesystem::path& base) {
  Json options = words.is_object() ? words : Json{{"name", words}};
  const Json name = options.value("name", Json());
  if (!name.is_string())
    throw Error("decoder is " + words.dump() + ", but must be a name (" + joined(decoders::table().names()) +
                ") or {name: ..., option: value}");
  options.erase("name");
  if (options.contains("priors") && options["priors"].is_string())
    options["priors"] = (base / options["priors"].get<std::string>()).string();
  return decoders::table().make(name.get<std::string>(), options);
}

}  // namespace quasar::eval
