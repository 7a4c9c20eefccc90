// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <variant>

#include "halftone/accel/language.h"
#include "halftone/base/error.h"
#include "halftone/lm/model/hf_config.h"
#include "halftone/lm/model/open_model.h"

namespace halftone::accel {
namespace {

void check_shape(const LanguageWorkload& model) {
  const auto above_zero = [&](std::size_t value, const char* what) {
    if (value == 0) fail(ErrorKind::kFormat, model.name + ": '" + what + "' is 0");
  };
  above_zero(model.layers, "num_hidden_layers");
  above_zero(model.width, "hidden_size");
  above_zero(model.heads, "num_attention_heads");
  above_zero(model.kv_heads, "num_key_value_heads");
  above_zero(model.head_width, "head_dim");
  above_zero(model.inner, "intermediate_size");
  above_zero(model.vocabulary, "vocab_size");
  if (model.heads % model.kv_heads != 0) {
    fail(ErrorKind::kFormat, model.name + ": num_key_value_heads " +
                                 std::to_string(model.kv_heads) + " does not divide " +
                                 std::to_string(model.heads) + " heads");
  }
  if (model.active_experts == 0 || model.active_experts > model.experts) {
    fail(ErrorKind::kFormat, model.name + ": expected 1 to " + std::to_string(model.experts) +
                                 " experts per token, found " +
                                 std::to_string(model.active_experts));
  }
}

LanguageWorkload model_of(const lm::Description& sizes, const std::string& name) {
  const bool differ =
      sizes.full_head_width != 0 || sizes.sharing_blocks != 0 || sizes.block_input_width != 0;
  if (sizes.dense_blocks != 0 || sizes.latent_width != 0 || !sizes.mixers.empty() || differ) {
    fail(ErrorKind::kUnsupported,
         name + ": architecture '" + sizes.architecture +
             "': latent attention, recurrences, and blocks without experts beside those "
             "with experts or of other sizes, are not estimated");
  }
  LanguageWorkload model;
  model.name = name;
  model.layers = sizes.blocks;
  model.width = sizes.width;
  model.heads = sizes.heads;
  model.kv_heads = sizes.kv_heads;
  model.head_width = sizes.head_width;
  model.inner = sizes.inner;
  model.vocabulary = sizes.vocabulary;
  if (sizes.experts != 0) {
    model.experts = sizes.experts;
    model.active_experts = sizes.active_experts;
    model.shared_inner = sizes.shared_inner;
  }
  model.window = sizes.window;
  model.windowed = sizes.windowed;
  model.is_gated = sizes.is_gated;
  model.ties_embeddings = sizes.ties_embeddings;
  check_shape(model);
  return model;
}

/// The operation of a workload that reads a matrix, without its block; empty for vectors and
/// small tables that no estimate counts.
std::string operation_name(lm::WeightRole role) {
  using lm::WeightRole;
  static const std::map<WeightRole, std::string> operations = {
      {WeightRole::kTokenEmbedding, "embedding"},
      {WeightRole::kHead, "head"},
      {WeightRole::kQuery, "qkv"},
      {WeightRole::kKey, "qkv"},
      {WeightRole::kValue, "qkv"},
      {WeightRole::kAttentionOutput, "attention output"},
      {WeightRole::kGate, "feed-forward up"},
      {WeightRole::kUp, "feed-forward up"},
      {WeightRole::kDown, "feed-forward down"},
      {WeightRole::kRouter, "router"},
      {WeightRole::kSharedGate, "shared expert up"},
      {WeightRole::kSharedUp, "shared expert up"},
      {WeightRole::kSharedDown, "shared expert down"},
      {WeightRole::kExpertGate, "experts up"},
      {WeightRole::kExpertUp, "experts up"},
      {WeightRole::kExpertDown, "experts down"},
  };
  const auto found = operations.find(role);
  return found == operations.end() ? "" : found->second;
}

StoredMatrix storage_of(const lm::StorageType& type) {
  if (const auto* plain = std::get_if<formats::SafetensorsType>(&type)) {
    const auto bits = static_cast<int>(8 * formats::size_bytes(*plain));
    return {{bits, true}, static_cast<double>(bits)};
  }
  const auto& blocks = *std::get<numerics::SharedBlockEncoding>(type);
  return {{std::max(1, static_cast<int>(blocks.bits())), blocks.number != nullptr}, blocks.bits()};
}

/// Tensors that one product reads: mean bits, and the widest format.
class Matrices {
 public:
  void add(const std::string& operation, const lm::Weight& weight) {
    const StoredMatrix stored = storage_of(weight.type);
    Sum& sum = sums_[operation];
    sum.bits += stored.bits * static_cast<double>(weight.num_elements());
    sum.elements += static_cast<double>(weight.num_elements());
    if (sum.number.bits < stored.number.bits) sum.number = stored.number;
  }

  void store(LanguageWorkload& model) const {
    for (const auto& [operation, sum] : sums_) {
      model.stored[operation] = {sum.number, sum.bits / sum.elements};
      model.stored_bytes += sum.bits / 8;
    }
  }

 private:
  struct Sum {
    double bits = 0;
    double elements = 0;
    Number number{0, false};
  };
  std::map<std::string, Sum> sums_;
};

}  // namespace

LanguageWorkload parse_language_model(std::string_view json, const std::string& name) {
  return model_of(lm::config_sizes(json, name), name);
}

LanguageWorkload language_model_of(const lm::ModelParts& source, const std::string& name) {
  LanguageWorkload model = model_of(source.description, name);
  Matrices matrices;
  for (const lm::WeightId& id : lm::needed_weights(source.description)) {
    const std::string operation = operation_name(id.role);
    if (id.part != lm::Part::kWeight || operation.empty()) continue;
    const bool in_block = operation != "embedding" && operation != "head";
    matrices.add((in_block ? "block " + std::to_string(id.block) + " " : "") + operation,
                 source.weights.at(id));
  }
  matrices.store(model);
  // The head of a tied model reads the table.
  if (model.ties_embeddings) model.stored["head"] = model.stored.at("embedding");
  return model;
}

}  // namespace halftone::accel
