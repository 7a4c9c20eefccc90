// SPDX-License-Identifier: Apache-2.0
// A tiny language model as a folder of Hugging Face and an adapter of the package peft, for tests
// that know installed headers only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace halftone {

/// Writes tensors of float32 with the numbers -4, -3, ... 4, -4, ... over 8.
class TinyTensors {
 public:
  void add(const std::string& name, std::vector<std::size_t> shape) {
    std::size_t count = 1;
    std::string extents;
    for (const std::size_t extent : shape) {
      count *= extent;
      extents += (extents.empty() ? "" : ",") + std::to_string(extent);
    }
    const std::size_t begin = data_.size() * sizeof(float);
    for (std::size_t i = 0; i < count; ++i) {
      data_.push_back((static_cast<float>(data_.size() % 9) - 4) / 8);
    }
    head_ += (head_.empty() ? "{" : ",") + ("\"" + name) + R"(":{"dtype":"F32","shape":[)" +
             extents + R"(],"data_offsets":[)" + std::to_string(begin) + "," +
             std::to_string(data_.size() * sizeof(float)) + "]}";
  }
  void write(const std::filesystem::path& path) const {
    std::ofstream file(path, std::ios::binary);
    const std::string head = head_ + "}";
    const std::uint64_t size = head.size();
    file.write(reinterpret_cast<const char*>(&size), sizeof size);
    file << head;
    file.write(reinterpret_cast<const char*>(data_.data()),
               static_cast<std::streamsize>(data_.size() * sizeof(float)));
  }

 private:
  std::string head_;
  std::vector<float> data_;
};

/// A llama of one block of width 8 and 16 tokens, which are letters.
inline std::string write_tiny_folder(const std::string& folder) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config.json") << R"({"model_type": "llama", "hidden_size": 8,
    "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 16,
    "max_position_embeddings": 32, "rms_norm_eps": 1e-5, "tie_word_embeddings": false})";
  std::string vocabulary;
  for (char letter = 'a'; letter < 'a' + 16; ++letter) {
    vocabulary += (vocabulary.empty() ? "\"" : ",\"") + std::string(1, letter) +
                  "\":" + std::to_string(letter - 'a');
  }
  std::ofstream(folder + "/tokenizer.json")
      << R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
             "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "merges": [], "vocab": {)"
      << vocabulary << "}}}";
  TinyTensors tensors;
  for (const char* table : {"model.embed_tokens", "lm_head"}) {
    tensors.add(std::string(table) + ".weight", {16, 8});
  }
  const std::string layer = "model.layers.0.";
  for (const char* matrix : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                             "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
    tensors.add(layer + matrix + ".weight", {8, 8});
  }
  for (const std::string& norm :
       {std::string("model.norm"), layer + "input_layernorm", layer + "post_attention_layernorm"}) {
    tensors.add(norm + ".weight", {8});
  }
  tensors.write(folder + "/model.safetensors");
  return folder;
}

/// Changes of two of its matrices.
inline std::string write_tiny_adapter(const std::string& folder) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/adapter_config.json")
      << R"({"peft_type": "LORA", "lora_alpha": 4, "r": 2})";
  TinyTensors tensors;
  for (const char* matrix : {"self_attn.q_proj", "mlp.down_proj"}) {
    const std::string name = std::string("base_model.model.model.layers.0.") + matrix;
    tensors.add(name + ".lora_A.weight", {2, 8});
    tensors.add(name + ".lora_B.weight", {8, 2});
  }
  tensors.write(folder + "/adapter_model.safetensors");
  return folder;
}

}  // namespace halftone
