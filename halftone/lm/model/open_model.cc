// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/open_model.h"

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/paths.h"
#include "halftone/base/shared_bytes.h"
#include "halftone/lm/model/gguf_keys.h"
#include "halftone/lm/model/hf_config.h"
#include "halftone/lm/model/llama2c.h"
#include "halftone/lm/model/model_file.h"

namespace halftone::lm {
namespace {

Model open_gguf(const std::filesystem::path& path) {
  const auto file = formats::GgufFile::open(path);
  return with_context(path.string(), [&] {
    Description description = describe_gguf(file);
    Weights weights(description, file);
    return Model{std::move(description), std::move(weights)};
  });
}

Model open_model_file(const std::filesystem::path& path) {
  auto container = formats::SafetensorsFile::open(path);
  return with_context(path.string(), [&] {
    const ModelFile file = ModelFile::parse(std::move(container));
    return Model{file.description(), Weights(file.description(), file)};
  });
}

Model open_llama2c(const std::filesystem::path& path, const SharedBytes& bytes) {
  return with_context(path.string(), [&] {
    Llama2cFile file = parse_llama2c(bytes);
    Weights weights(file.description, file);
    return Model{std::move(file.description), std::move(weights)};
  });
}

Model open_folder(const std::filesystem::path& path) {
  const std::filesystem::path config = path / "config.json";
  const SharedBytes text = map_file(config);
  Description description = describe_config(
      {reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()}, config.string());
  const std::filesystem::path index = path / "model.safetensors.index.json";
  const auto file =
      formats::SafetensorsFile::open(path_exists(index) ? index : path / "model.safetensors");
  return with_context(path.string(), [&] {
    Weights weights(description, file);
    return Model{std::move(description), std::move(weights)};
  });
}

}  // namespace

Model open_model(const std::filesystem::path& path) {
  if (is_folder(path)) return open_folder(path);
  if (path.extension() == ".safetensors") return open_model_file(path);
  const SharedBytes bytes = map_file(path);
  constexpr std::string_view kGgufMagic = "GGUF";
  const bool is_gguf = bytes.bytes.size() >= kGgufMagic.size() &&
                       std::memcmp(bytes.bytes.data(), kGgufMagic.data(), kGgufMagic.size()) == 0;
  return is_gguf ? open_gguf(path) : open_llama2c(path, bytes);
}

}  // namespace halftone::lm
