// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/description.h"

#include <cmath>

#include "halftone/base/error.h"

namespace halftone::lm {
namespace {

[[noreturn]] void fail_description(const Description& d, const std::string& message) {
  fail(ErrorKind::kFormat, d.architecture + ": " + message);
}

void check_extent(const Description& d, const char* what, std::size_t value,
                  std::size_t max = std::size_t{1} << 24) {
  if (value >= 1 && value <= max) return;
  fail_description(d, std::string(what) + ": expected 1 to " + std::to_string(max) + ", found " +
                          std::to_string(value));
}

/// @param least  excluded
void check_number(const Description& d, const char* what, double value, double least) {
  if (std::isfinite(value) && value > least) return;
  fail_description(d, std::string(what) + ": expected a number above " + std::to_string(least) +
                          ", found " + std::to_string(value));
}

void check_extents(const Description& d) {
  check_extent(d, "blocks", d.blocks, 1 << 12);
  check_extent(d, "embedding width", d.width);
  check_extent(d, "vocabulary", d.vocabulary);
  check_extent(d, "context", d.context, std::size_t{1} << 31);
  check_extent(d, "attention heads", d.heads, 1 << 16);
  check_extent(d, "heads of keys and values", d.kv_heads, d.heads);
  check_extent(d, "head width", d.head_width, 1 << 16);
  check_extent(d, "head width of values", d.value_width, 1 << 16);
  check_extent(d, "feed-forward width", d.inner);
  if (d.heads % d.kv_heads != 0) {
    fail_description(d, "heads of keys and values: " + std::to_string(d.kv_heads) +
                            " do not divide " + std::to_string(d.heads) + " attention heads");
  }
  if (d.window != 0 && d.windowed.size() != d.blocks) {
    fail_description(d, "attention windows: expected one entry for each of " +
                            std::to_string(d.blocks) + " blocks, found " +
                            std::to_string(d.windowed.size()));
  }
}

/// Sizes of blocks that differ, and blocks without keys.
void check_differing(const Description& d) {
  if (d.full_head_width != 0) {
    check_extent(d, "head width without a window", d.full_head_width, 1 << 16);
    check_extent(d, "heads of keys without a window", d.full_kv_heads, d.heads);
    if (d.heads % d.full_kv_heads != 0 || d.value_width != d.head_width ||
        d.full_head_width % 2 != 0 || d.latent_width != 0) {
      fail_description(d, "heads without a window: they do not fit the others");
    }
  }
  if (d.block_input_width != 0) {
    check_extent(d, "width of inputs of blocks", d.block_input_width, 1 << 16);
    check_extent(d, "width of inputs of all blocks", d.block_input_width * d.blocks);
  }
  if (d.sharing_inner != 0) check_extent(d, "feed-forward width", d.sharing_inner);
  if (d.sharing_inner != 0 && d.experts != 0) {
    fail_description(d, "experts: blocks that share keys have networks of the same width");
  }
  if (d.sharing_blocks > d.blocks) {
    fail_description(d, "blocks that share keys: expected 0 to " + std::to_string(d.blocks) +
                            ", found " + std::to_string(d.sharing_blocks));
  }
  for (std::size_t block = d.blocks - d.sharing_blocks; block < d.blocks; ++block) {
    if (d.key_block(block) != block) continue;
    fail_description(d, "block " + std::to_string(block) +
                            ": no earlier block of its kind has keys that it could read");
  }
}

/// Lists with an entry for each block are empty or whole.
void check_listed(const Description& d, const char* what, std::size_t entries) {
  if (entries == 0 || entries == d.blocks) return;
  fail_description(d, std::string(what) + ": expected one entry for each of " +
                          std::to_string(d.blocks) + " blocks, found " + std::to_string(entries));
}

void check_streams(const Description& d) {
  check_extent(d, "streams", d.streams, 64);
  if (d.streams != 1 && (d.is_parallel || d.has_block_factor || d.experts != 0)) {
    fail_description(d, "streams: expected blocks with a network behind attention");
  }
  if (d.bypass_rank != 0) check_extent(d, "rank of matrices past attention", d.bypass_rank);
  check_listed(d, "feed-forward widths", d.inners.size());
  for (const std::size_t inner : d.inners) check_extent(d, "feed-forward width", inner);
  if (!d.inners.empty() && (d.sharing_inner != 0 || d.experts != 0)) {
    fail_description(d, "feed-forward widths: expected no others beside those of each block");
  }
  check_listed(d, "cutoffs of gates", d.gate_cutoffs.size());
  for (const double cutoff : d.gate_cutoffs) {
    if (cutoff != Description::kNoCutoff) check_number(d, "cutoff of gates", cutoff, -100);
  }
  if (!d.gate_cutoffs.empty() && (!d.is_gated || d.experts != 0)) {
    fail_description(d, "cutoffs of gates: expected networks with a gate");
  }
  if (d.block_input_rows != 0) {
    check_extent(d, "rows of the embedding of blocks", d.block_input_rows, d.vocabulary);
  }
}

void check_latent(const Description& d) {
  if (d.latent_width == 0) return;
  check_extent(d, "latent width", d.latent_width);
  if (d.query_latent_width != 0) check_extent(d, "latent width of queries", d.query_latent_width);
  const bool is_alone = !d.normalizes_heads && !d.has_qkv_bias && d.kv_heads == d.heads &&
                        d.positions == Positions::kRotary && d.rotary_dims < d.head_width;
  if (!is_alone) fail_description(d, "latent attention: expected rotated elements in each head");
}

/// Of blocks with attention and a scan.
void check_factors(const Description& d) {
  check_number(d, "factor of scans", d.scan_factor, 0);
  check_number(d, "factor of attention", d.attention_factor, 0);
  check_number(d, "factor of the gate", d.gate_factor, 0);
  check_number(d, "factor of the last matrix", d.down_factor, 0);
  if (d.scan_input_factors.empty()) return;
  if (d.scan_input_factors.size() != 5) {
    fail_description(d, "factors of the inputs of a scan: expected 5, found " +
                            std::to_string(d.scan_input_factors.size()));
  }
  for (const double factor : d.scan_input_factors) {
    check_number(d, "factor of the inputs of a scan", factor, 0);
  }
}

void check_mixers(const Description& d) {
  if (d.has_single_branches && (d.is_parallel || d.mixers.empty())) {
    fail_description(d, "blocks of one branch: expected mixers, and no parallel branches");
  }
  if (d.mixers.empty()) return;
  if (d.mixers.size() != d.blocks) {
    fail_description(d, "mixers: expected one entry for each of " + std::to_string(d.blocks) +
                            " blocks, found " + std::to_string(d.mixers.size()));
  }
  if (d.attention_blocks() == 0) {
    fail_description(d, "mixers: expected a block with attention, found none");
  }
  if (d.has_mixer(Mixer::kNone) && !d.has_single_branches) {
    fail_description(d, "mixers: expected one in each block, found a block without");
  }
  check_extent(d, "tokens of a short convolution", d.taps, 64);
  if (!d.has_scan() && !d.has_mixer(Mixer::kDelta) && !d.has_mixer(Mixer::kChannelScan)) return;
  check_extent(d, "channels of a recurrence", d.scan_inner);
  check_extent(d, "heads of a recurrence", d.scan_heads, d.scan_inner);
  check_extent(d, "groups of a recurrence", d.scan_groups, d.scan_inner);
  check_extent(d, "states of a channel", d.scan_states, 1 << 16);
  if (d.has_mixer(Mixer::kChannelScan)) {
    check_extent(d, "numbers of the steps of a recurrence", d.scan_rank);
    if (d.scan_heads != d.scan_inner || d.scan_groups != 1) {
      fail_description(d, "channels of a recurrence: expected a head each, in one group");
    }
  }
  if (d.has_mixer(Mixer::kDelta) && d.scan_heads % d.scan_groups != 0) {
    fail_description(d, "heads of values: " + std::to_string(d.scan_heads) +
                            " are no multiple of " + std::to_string(d.scan_groups) +
                            " heads of keys");
  }
  if (d.scan_inner % d.scan_heads != 0 || d.scan_inner % d.scan_groups != 0) {
    fail_description(d, "channels of a recurrence: " + std::to_string(d.scan_inner) +
                            " are no multiple of " + std::to_string(d.scan_heads) + " heads and " +
                            std::to_string(d.scan_groups) + " groups");
  }
}

/// @param dims  elements of a head that they rotate
void check_angles(const Description& d, const RotaryAngles& angles, std::size_t dims) {
  check_number(d, "base of rotary positions", angles.base, 0);
  for (const auto* divisors : {&angles.divisors, &angles.long_divisors}) {
    if (!divisors->empty() && divisors->size() != dims / 2) {
      fail_description(d, "factors of rotary positions: expected " + std::to_string(dims / 2) +
                              ", found " + std::to_string(divisors->size()));
    }
    for (const double divisor : *divisors) check_number(d, "rotary factor", divisor, 0);
  }
  check_number(d, "factor of dynamic rotary positions", angles.dynamic_factor, -1e-30);
  check_number(d, "factor of YaRN", angles.yarn.factor, -1e-30);
  if (angles.yarn.factor == 0) return;
  check_number(d, "slow turns of YaRN", angles.yarn.slow_turns, 0);
  check_number(d, "fast turns of YaRN", angles.yarn.fast_turns, angles.yarn.slow_turns);
  check_extent(d, "original context of YaRN", d.original_context, std::size_t{1} << 31);
}

void check_positions(const Description& d) {
  if (d.positions != Positions::kRotary) return;
  check_extent(d, "rotated elements of a head", d.rotary_dims, d.head_width);
  if (d.rotary_dims % 2 != 0) {
    fail_description(d, "rotated elements of a head: expected an even number, found " +
                            std::to_string(d.rotary_dims));
  }
  check_angles(d, d.rotary, d.full_head_width == 0 ? d.rotary_dims : d.full_head_width);
  check_angles(d, d.window_rotary, d.rotary_dims);
  if (!d.unrotated.empty() && d.unrotated.size() != d.blocks) {
    fail_description(d, "blocks without positions: expected one entry for each of " +
                            std::to_string(d.blocks) + " blocks, found " +
                            std::to_string(d.unrotated.size()));
  }
  check_number(d, "attention factor of rotary positions", d.rotary_factor, 0);
}

void check_experts(const Description& d) {
  if (d.experts == 0) return;
  check_extent(d, "experts", d.experts, 1 << 12);
  check_extent(d, "experts of all blocks", d.blocks * d.experts, 1 << 17);
  check_extent(d, "experts per token", d.active_experts, d.experts);
  if (d.shared_inner != 0) check_extent(d, "width of the shared expert", d.shared_inner);
  if (d.dense_blocks != 0 || !d.dense.empty() || d.has_network_beside) {
    check_extent(d, "width of networks without experts", d.dense_inner);
  }
  if (!d.dense.empty() && (d.dense.size() != d.blocks || d.dense_blocks != 0)) {
    fail_description(d, "blocks without experts: expected one entry for each of " +
                            std::to_string(d.blocks) + " blocks, found " +
                            std::to_string(d.dense.size()));
  }
  if (d.dense_blocks > d.blocks) {
    fail_description(d, "blocks without experts: expected 0 to " + std::to_string(d.blocks) +
                            ", found " + std::to_string(d.dense_blocks));
  }
  check_number(d, "factor of experts", d.share_factor, 0);
  check_extent(d, "groups of experts", d.expert_groups, d.experts);
  check_extent(d, "groups of experts per token", d.active_groups, d.expert_groups);
  const std::size_t grouped = d.experts / d.expert_groups;
  if (d.experts % d.expert_groups != 0 || grouped * d.active_groups < d.active_experts ||
      (d.sums_group_scores && grouped < 2)) {
    fail_description(d, "groups of experts: " + std::to_string(d.expert_groups) +
                            " do not divide " + std::to_string(d.experts) +
                            " experts, or are too small");
  }
}

}  // namespace

std::string_view to_string(FeedForward function) {
  constexpr std::string_view kNames[] = {"SiLU", "GELU",         "GELU with tanh",
                                         "ReLU", "ReLU squared", "clamped swish"};
  return kNames[static_cast<std::size_t>(function)];
}

std::size_t Description::key_block(std::size_t block) const {
  if (!shares_keys(block)) return block;
  for (std::size_t other = blocks - sharing_blocks; other-- > 0;) {
    if (is_windowed(other) == is_windowed(block)) return other;
  }
  return block;
}

std::size_t Description::expert_blocks() const {
  std::size_t count = 0;
  for (std::size_t block = 0; block < blocks; ++block) count += has_experts(block) ? 1U : 0U;
  return count;
}

Description Description::of_block(std::size_t block) const {
  Description one = *this;
  if (full_head_width != 0 && !is_windowed(block)) {
    one.head_width = one.value_width = one.rotary_dims = full_head_width;
    one.kv_heads = full_kv_heads;
  }
  if (sharing_inner != 0 && shares_keys(block)) one.inner = sharing_inner;
  if (!inners.empty()) one.inner = inners.at(block);
  return one;
}

std::size_t Description::cache_width() const {
  std::size_t kept = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    if (!has_attention(mixer(block)) || shares_keys(block)) continue;
    const bool is_full = full_head_width != 0 && !is_windowed(block);
    kept += is_full ? 2 * full_kv_heads * full_head_width : kv_heads * (head_width + value_width);
  }
  return kept;
}

void check(const Description& description) {
  check_extents(description);
  check_number(description, "epsilon of norms", description.norm_epsilon, 0);
  check_number(description, "scale of scores", description.score_scale, 0);
  check_number(description, "factor of the embedding", description.embedding_factor, 0);
  check_number(description, "factor of the blocks", description.residual_factor, 0);
  check_number(description, "factor of the logits", description.logit_factor, 0);
  // Zero means none.
  check_number(description, "cap of scores", description.score_cap, -1e-30);
  check_number(description, "cap of logits", description.logit_cap, -1e-30);
  check_number(description, "slope of gates", description.gate_slope, 0);
  check_number(description, "limit of gates", description.gate_limit, 0);
  check_positions(description);
  check_latent(description);
  check_differing(description);
  check_streams(description);
  check_mixers(description);
  check_factors(description);
  check_experts(description);
}

}  // namespace halftone::lm
