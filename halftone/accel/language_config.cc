// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/language.h"
#include "halftone/base/error.h"
#include "halftone/lm/model/hf_config.h"

namespace halftone::accel {
namespace {

void check_shape(const LanguageModel& model) {
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

}  // namespace

LanguageModel parse_language_model(std::string_view json, const std::string& name) {
  const lm::Description sizes = lm::config_sizes(json, name);
  LanguageModel model;
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
  model.is_gated = sizes.is_gated;
  model.ties_embeddings = sizes.ties_embeddings;
  check_shape(model);
  return model;
}

}  // namespace halftone::accel
