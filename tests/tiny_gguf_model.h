// SPDX-License-Identifier: Apache-2.0
// Keys of small GGUF files whose tokens are bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "halftone/formats/gguf/gguf_writer.h"
#include "halftone/lm/model/description.h"
#include "halftone/lm/text/testing.h"

namespace halftone {

/// The keys of a llama whose tokens are the 256 bytes and one that ends texts, and whose context is
/// 64 tokens.
inline formats::GgufKeys tiny_llama_keys(const lm::Description& d) {
  formats::GgufKeys keys = lm::byte_token_keys({"<end>"});
  keys.set("general.architecture", "llama");
  const auto set = [&](const std::string& name, std::size_t value) {
    keys.set("llama." + name, static_cast<std::uint32_t>(value));
  };
  set("block_count", d.blocks);
  set("embedding_length", d.width);
  set("context_length", 64);
  set("attention.head_count", d.heads);
  set("attention.head_count_kv", d.kv_heads);
  set("feed_forward_length", d.inner);
  if (d.experts > 0) set("expert_count", d.experts);
  if (d.experts > 0) set("expert_used_count", d.active_experts);
  keys.set("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  return keys;
}

}  // namespace halftone
