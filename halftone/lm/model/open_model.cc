// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/open_model.h"

#include <algorithm>
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

ModelParts open_gguf(const std::filesystem::path& path) {
  const auto file = formats::GgufFile::open(path);
  return with_context(path.string(), [&] {
    Description description = describe_gguf(file);
    Weights weights(description, file);
    return ModelParts{std::move(description), std::move(weights)};
  });
}

ModelParts open_model_file(const std::filesystem::path& path, std::optional<std::size_t> bits) {
  auto container = formats::SafetensorsFile::open(path);
  return with_context(path.string(), [&] {
    const ModelFile file = ModelFile::parse(std::move(container), bits);
    return ModelParts{file.description(), Weights(file.description(), file)};
  });
}

ModelParts open_llama2c(const std::filesystem::path& path, const SharedBytes& bytes) {
  return with_context(path.string(), [&] {
    Llama2cFile file = parse_llama2c(bytes);
    Weights weights(file.description, file);
    return ModelParts{std::move(file.description), std::move(weights)};
  });
}

/// Whether a file has a head of its own beside the table of the embedding, which transformers
/// takes then, whatever tie_word_embeddings says.
bool has_own_head(const formats::SafetensorsFile& file) {
  const auto find = [&](std::string_view end) -> const formats::SafetensorsTensor* {
    for (const auto& tensor : file.tensors()) {
      if (tensor.name.ends_with(end)) return &tensor;
    }
    return nullptr;
  };
  const auto* head = find("lm_head.weight");
  const auto* table = find("embed_tokens.weight");
  if (table == nullptr) table = find("wte.weight");
  if (table == nullptr) table = find(".embeddings.weight");
  if (head == nullptr || table == nullptr) return false;
  return head->type != table->type || head->shape != table->shape ||
         !std::ranges::equal(head->bytes.bytes, table->bytes.bytes);
}

ModelParts open_folder(const std::filesystem::path& path) {
  const std::filesystem::path config = path / "config.json";
  const SharedBytes text = map_file(config);
  Description description = describe_config(
      {reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()}, config.string());
  const auto file = formats::SafetensorsFile::open(weights_file_of(path));
  return with_context(path.string(), [&] {
    if (has_own_head(file)) description.ties_embeddings = false;
    Weights weights(description, file);
    return ModelParts{std::move(description), std::move(weights)};
  });
}

}  // namespace

std::filesystem::path weights_file_of(const std::filesystem::path& folder) {
  std::filesystem::path alone = folder / "model.safetensors";
  const std::filesystem::path index = folder / "model.safetensors.index.json";
  if (path_exists(alone) || path_exists(index)) return path_exists(alone) ? alone : index;
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    if (!path_exists(folder / name)) continue;
    fail(ErrorKind::kUnsupported,
         (folder / name).string() +
             ": files of PyTorch are not read, because they may hold programs; write "
             "model.safetensors with transformers: "
             "AutoModelForCausalLM.from_pretrained(FOLDER).save_pretrained(NEW)");
  }
  return alone;
}

ModelParts open_model(const std::filesystem::path& path, std::optional<std::size_t> bits) {
  const bool is_own = !is_folder(path) && path.extension() == ".safetensors";
  if (is_own) return open_model_file(path, bits);
  if (bits) {
    fail(ErrorKind::kUsage, path.string() +
                                ": bits: expected a file of two precisions, which quantize "
                                "--nested 3,4 writes as NAME.safetensors");
  }
  if (is_folder(path)) return open_folder(path);
  const SharedBytes bytes = map_file(path);
  constexpr std::string_view kGgufMagic = "GGUF";
  const bool is_gguf = bytes.bytes.size() >= kGgufMagic.size() &&
                       std::memcmp(bytes.bytes.data(), kGgufMagic.data(), kGgufMagic.size()) == 0;
  // What is called a GGUF file and is none says so.
  const bool is_called_gguf = path.extension() == ".gguf";
  return is_gguf || is_called_gguf ? open_gguf(path) : open_llama2c(path, bytes);
}

}  // namespace halftone::lm
