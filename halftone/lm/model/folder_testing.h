// SPDX-License-Identifier: Apache-2.0
// Folders of Hugging Face with random weights, for tests.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/lm/model/hf_config.h"
#include "halftone/lm/model/open_model.h"
#include "halftone/lm/model/testing.h"

namespace halftone::lm {

inline const nlohmann::json kLlama = {{"architectures", {"LlamaForCausalLM"}},
                                      {"model_type", "llama"},
                                      {"hidden_size", 64},
                                      {"num_hidden_layers", 2},
                                      {"num_attention_heads", 2},
                                      {"num_key_value_heads", 1},
                                      {"intermediate_size", 128},
                                      {"vocab_size", 40},
                                      {"max_position_embeddings", 16},
                                      {"rms_norm_eps", 1e-5},
                                      {"hidden_act", "silu"},
                                      {"tie_word_embeddings", true},
                                      {"torch_dtype", "bfloat16"}};
inline const nlohmann::json kGpt2 = {{"architectures", {"GPT2LMHeadModel"}},
                                     {"model_type", "gpt2"},
                                     {"n_embd", 64},
                                     {"n_layer", 2},
                                     {"n_head", 2},
                                     {"n_positions", 16},
                                     {"vocab_size", 40},
                                     {"layer_norm_epsilon", 1e-5},
                                     {"activation_function", "gelu_new"}};
inline const nlohmann::json kMixtral = [] {
  nlohmann::json config = kLlama;
  config["architectures"] = {"MixtralForCausalLM"};
  config["model_type"] = "mixtral";
  config["num_local_experts"] = 3;
  config["num_experts_per_tok"] = 2;
  config["tie_word_embeddings"] = false;
  return config;
}();

inline const nlohmann::json kGptOss = [] {
  nlohmann::json config = kMixtral;
  config["architectures"] = {"GptOssForCausalLM"};
  config["model_type"] = "gpt_oss";
  config["intermediate_size"] = 64;
  config["head_dim"] = 32;
  config["sliding_window"] = 4;
  return config;
}();

/// Adds a weight to the tensors of a folder, as its architecture keeps it.
inline void add_random_weight(const WeightId& id, const TensorPlace& place, const Description& d,
                              RandomWeights& weights, std::map<std::string, NamedTensor>& tensors) {
  const std::vector<std::size_t> shape = shape_of(d, id);
  const std::size_t outputs = shape[0];
  const std::size_t inputs = shape.size() > 1 ? shape[1] : 1;
  const std::size_t all = place.outputs == 0 ? outputs : place.outputs;
  const bool is_head = id.role == WeightRole::kHead;
  NamedTensor& tensor = tensors[(is_head ? "" : "model.") + place.name];
  if (tensor.values.empty()) {
    std::vector<std::size_t> extents = {all};
    if (shape.size() > 1) extents.push_back(inputs);
    if (place.is_transposed) std::swap(extents[0], extents[1]);
    const std::size_t experts = place.stacked != 0 ? place.stacked : 1;
    if (place.stacked != 0) extents.insert(extents.begin(), experts);
    tensor = {(is_head ? "" : "model.") + place.name, extents,
              std::vector<float>(experts * all * inputs)};
  }
  std::vector<float> values = weights(id, outputs * inputs);
  if (is_norm(id.role)) {
    for (float& gain : values) gain = 1 + gain / 4;  // 0.5 to 1.5
  }
  const std::size_t first = place.stacked != 0 ? id.expert * all * inputs : 0;
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t i = 0; i < inputs; ++i) {
      const std::size_t row = place.begin + o * place.step;
      tensor.values[first + (place.is_transposed ? i * all + row : row * inputs + i)] =
          values[o * inputs + i];
    }
  }
}

/// Writes a folder with random weights and a tokenizer that is none.
inline void write_model_folder(const std::filesystem::path& folder, const nlohmann::json& config) {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  write_file(folder / "config.json", config.dump());
  write_file(folder / "tokenizer.json", std::string_view("{\"of\": \"the model\"}"));
  const Description d = describe_config(config.dump(), "config.json");
  const Naming naming = d.architecture == "gpt2" ? Naming::kHfGpt2 : Naming::kHf;
  std::map<std::string, NamedTensor> tensors;
  RandomWeights weights;
  for (const WeightId& id : needed_weights(d)) {
    add_random_weight(id, places_of(d, naming, id)[0], d, weights, tensors);
  }
  std::vector<NamedTensor> list;
  for (auto& [name, tensor] : tensors) list.push_back(std::move(tensor));
  write_file(folder / "model.safetensors", safetensors_bytes(list));
}

/// Writes and opens such folders.
class WithModelFolder : public WithFolder {
 protected:
  ModelParts make(const nlohmann::json& config) {
    write_model_folder(path("model"), config);
    return open_model(path("model"));
  }
};

}  // namespace halftone::lm
