// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/architectures.h"

#include <cmath>
#include <string>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"

namespace halftone::lm {
namespace {

constexpr Architecture kArchitectures[] = {
    {.gguf = "llama", .hf = "llama", .gguf_pairing = Pairing::kNeighbours, .renormalizes = true},
    {.gguf = "llama", .hf = "mistral", .gguf_pairing = Pairing::kNeighbours},
    {.gguf = "llama", .hf = "mixtral", .gguf_pairing = Pairing::kNeighbours, .renormalizes = true},
    {.gguf = "qwen2", .hf = "qwen2", .has_qkv_bias = true},
    {.gguf = "qwen2moe", .hf = "qwen2_moe", .has_qkv_bias = true},
    {.gguf = "qwen3", .hf = "qwen3", .normalizes_heads = true},
    {.gguf = "qwen3moe", .hf = "qwen3_moe", .normalizes_heads = true, .renormalizes = true},
    {.gguf = "gemma",
     .hf = "gemma",
     .function = FeedForward::kGeluTanh,
     .scales_embedding = true,
     .hf_norm_offset = 1,
     .ties_embeddings = true},
    {.gguf = "gemma2",
     .hf = "gemma2",
     .function = FeedForward::kGeluTanh,
     .has_post_norms = true,
     .scales_embedding = true,
     .hf_norm_offset = 1,
     .ties_embeddings = true,
     .window_period = 2,
     .default_window = 4096,
     .score_cap = 50,
     .logit_cap = 30},
    {.gguf = "gemma3",
     .hf = "gemma3_text",
     .function = FeedForward::kGeluTanh,
     .normalizes_heads = true,
     .has_post_norms = true,
     .scales_embedding = true,
     .hf_norm_offset = 1,
     .ties_embeddings = true,
     .window_period = 6,
     .base = 1e6,
     .window_base = 10000},
    {.gguf = "phi3", .hf = "phi3", .gguf_merges = true},
    {.gguf = "gpt2",
     .hf = "gpt2",
     .norm = Norm::kLayer,
     .positions = Positions::kLearned,
     .gguf_merges = true,
     .function = FeedForward::kGeluTanh,
     .is_gated = false,
     .has_biases = true,
     .ties_embeddings = true},
    {.gguf = "bitnet", .hf = "bitnet", .has_sub_norms = true, .base = 500000},
};

const Architecture& find_architecture(std::string_view Architecture::*file, const char* what,
                                      std::string_view name) {
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.*file == name) return architecture;
    const std::string word(architecture.*file);
    if (!known.ends_with(word)) known += (known.empty() ? "" : ", ") + word;
  }
  fail(ErrorKind::kUnsupported, "architecture '" + printable(name) + "' (" + what +
                                    "): its blocks are not described here; known: " + known);
}

}  // namespace

const Architecture& architecture_of_gguf(std::string_view name) {
  return find_architecture(&Architecture::gguf, "general.architecture", name);
}

const Architecture& architecture_of_hf(std::string_view model_type) {
  return find_architecture(&Architecture::hf, "model_type", model_type);
}

Description start_description(const Architecture& architecture) {
  Description d;
  d.architecture = architecture.gguf;
  d.norm = architecture.norm;
  d.positions = architecture.positions;
  d.function = architecture.function;
  d.is_gated = architecture.is_gated;
  d.has_qkv_bias = architecture.has_qkv_bias || architecture.has_biases;
  d.has_output_bias = d.has_ffn_bias = architecture.has_biases;
  d.normalizes_heads = architecture.normalizes_heads;
  d.has_sub_norms = architecture.has_sub_norms;
  d.has_post_norms = architecture.has_post_norms;
  d.score_cap = architecture.score_cap;
  d.logit_cap = architecture.logit_cap;
  d.renormalizes = architecture.renormalizes;
  d.rotary.base = architecture.base;
  d.window_rotary.base = architecture.window_base;
  return d;
}

void complete(Description& d, const Architecture& architecture) {
  if (d.value_width == 0) d.value_width = d.head_width;
  if (d.rotary_dims == 0) d.rotary_dims = d.head_width;
  if (d.score_scale == 0) d.score_scale = 1 / std::sqrt(static_cast<double>(d.head_width));
  if (architecture.scales_embedding) d.embedding_factor = std::sqrt(static_cast<double>(d.width));
  d.renormalizes = d.renormalizes && d.experts != 0;
  // Blocks with a window have angles of their own only if a base is given.
  if (d.window_rotary.base == 0) d.window_rotary = d.rotary;
  if (d.window == 0) {
    d.windowed.clear();
  } else if (d.windowed.empty() && d.blocks <= (1 << 12)) {
    const std::size_t period = architecture.window_period;
    for (std::size_t i = 0; i < d.blocks; ++i) {
      d.windowed.push_back(period == 0 || i % period < period - 1);
    }
  }
}

}  // namespace halftone::lm
