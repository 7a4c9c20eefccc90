// SPDX-License-Identifier: Apache-2.0
// What a language model is made of, whatever file it comes from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/ir/ops/sequence.h"

namespace halftone::lm {

enum class Norm : std::uint8_t {
  kRms,    ///< x / sqrt(mean of x^2 + epsilon), times a gain
  kLayer,  ///< (x - mean) / sqrt(variance + epsilon), times a gain, plus a bias
};

/// How a block knows where a token stands.
enum class Positions : std::uint8_t {
  kRotary,   ///< pairs of elements of queries and keys are rotated
  kLearned,  ///< a row of a table is added to the embedding
};

/// What mixes the tokens of a block.
enum class Mixer : std::uint8_t {
  kAttention,
  /// out(c * convolution(b * x)) with (b, c, x) = in(rows): LFM2 (Liquid AI, 2025).
  kConvolution,
  /// out(norm(scan(silu(convolution(x, b, c)), dt) * silu(z))) with (z, x, b, c, dt) = in(rows):
  /// Mamba 2 (Dao and Gu, 2024, Figure 6).
  kScan,
  /// out(norm(delta(silu(convolution(q, k, v)), decay, beta)) * silu(z)), a gated delta rule (Yang
  /// et al., 2024, Figure 1).
  kDelta,
  kAttentionAndScan,  ///< both read the same rows, and their outputs are added: Falcon-H1
  kNone,              ///< the block is a feed-forward network alone: Nemotron-H
  /// out(scan(y, dt) * silu(z)) with (x, z) = in(rows), y = silu(convolution(x)), dt from a product
  /// with one of three parts of a product with y, b and c the others, each part with a norm: Mamba
  /// (Gu and Dao, 2023, Section 3) as Jamba has it.
  kChannelScan,
};

/// Whether blocks remember keys and values.
constexpr bool has_attention(Mixer mixer) {
  return mixer == Mixer::kAttention || mixer == Mixer::kAttentionAndScan;
}

/// Which elements of a head are rotated together.
using Pairing = ir::RotaryPairing;

enum class FeedForward : std::uint8_t {
  kSilu,
  kGelu,
  kGeluTanh,
  kRelu,
  kReluSquared,
  /// With g = min(gate x, limit) and u = up x within limit of 0: g sigmoid(slope g) (u + 1).
  kClampedSwish,
};
/// "SiLU", "GELU", ...
std::string_view to_string(FeedForward function);

/// YaRN (Peng et al., 2023, section 3): slow angles are divided by a factor, fast ones are not,
/// between them frequencies are interpolated. See yarn_divisors().
struct Yarn {
  double factor = 0;       ///< of contexts; 0: none
  double fast_turns = 32;  ///< in the original context, from which on angles are not divided
  double slow_turns = 1;   ///< up to which they are divided by the whole factor
  bool truncates = true;   ///< the ends of the interpolation are whole pairs

  bool operator==(const Yarn&) const = default;
};

/// Angles of rotary positions: position p turns pair i by
///
///     p base^(-2 i / dims) / divisors[i]
struct RotaryAngles {
  double base = 10000;
  std::vector<double> divisors{};       ///< [dims / 2]; empty: 1
  std::vector<double> long_divisors{};  ///< instead, for contexts above original_context; or empty
  Yarn yarn{};                          ///< whose divisors come on top
  /// Dynamic NTK (bloc97, 2023): for contexts c above original_context o the base is multiplied by
  /// (f c / o - f + 1)^(dims / (dims - 2)); 0: never.
  double dynamic_factor = 0;

  bool operator==(const RotaryAngles&) const = default;
};

/// A decoder: an embedding, blocks of attention or a recurrence and a feed-forward network, a final
/// norm, a head.
struct Description {
  std::string architecture;  ///< as GGUF files name it: "llama", "qwen2moe", ...

  std::size_t blocks = 0;
  std::size_t unused_blocks = 0;  ///< of files, behind these: they predict further tokens
  std::size_t width = 0;          ///< of the hidden rows
  std::size_t vocabulary = 0;
  std::size_t context = 0;  ///< positions that the model was trained for

  double embedding_factor = 1;
  double residual_factor = 1;    ///< of what attention and feed-forward network add
  bool ties_embeddings = false;  ///< the head is the table of the embedding
  bool has_head_bias = false;
  double logit_factor = 1;
  double logit_cap = 0;  ///< logits are then cap tanh(logits / cap); 0: as they are

  Norm norm = Norm::kRms;
  double norm_epsilon = 1e-5;
  double norm_offset = 0;            ///< added to the gains that the file has
  bool has_norm_gain = true;         ///< those of heads always have one
  bool has_norm_bias = true;         ///< of layer norms
  bool has_pre_norms = true;         ///< norms before attention and feed-forward network
  bool has_post_norms = false;       ///< norms behind them
  bool has_sub_norms = false;        ///< norms before their last products too
  bool is_parallel = false;          ///< the feed-forward network reads what attention reads
  bool shares_pre_norm = false;      ///< parallel: one norm before both
  bool has_final_transform = false;  ///< a matrix between the final norm and the head

  std::vector<Mixer> mixers{};       ///< [blocks]; empty: attention
  bool has_single_branches = false;  ///< a block has a mixer or a feed-forward network, not both
  std::size_t taps = 0;              ///< tokens that a short convolution sees
  bool has_kernel_bias = false;
  std::size_t scan_inner = 0;   ///< channels of a scan, or numbers of all values of a delta rule
  std::size_t scan_heads = 0;   ///< of these; each has a decay
  std::size_t scan_groups = 0;  ///< of channels that share b and c, or heads of keys
  std::size_t scan_states = 0;  ///< of a channel: of a delta rule, numbers of a key
  std::size_t scan_rank = 0;  ///< of kChannelScan: numbers that the steps of all channels come from
  bool has_log_decays = false;  ///< the file has log(-a) in place of a
  bool has_scan_norm = true;
  bool norms_before_gate = false;  ///< the norm of a scan comes before silu(z), not behind it
  /// Of z, x, b, c and dt, as the input matrix of a scan gives them; empty: 1.
  std::vector<double> scan_input_factors{};
  double scan_factor = 1;       ///< of what a scan beside attention gives
  double attention_factor = 1;  ///< of what that attention gives
  /// Of a delta rule: one input matrix gives q, k, v and z of each head of keys in turn.
  bool merges_gate = false;
  bool merges_steps = false;  ///< and one gives beta and the decay of each
  bool tiles_heads =
      false;  ///< value head h belongs to key head h % groups, not h / (heads / groups)

  std::size_t heads = 0;
  std::size_t kv_heads = 0;    ///< each serves heads / kv_heads heads
  std::size_t head_width = 0;  ///< of queries and keys
  std::size_t value_width = 0;
  /// Keys and values are products with one row of this width (latent attention, DeepSeek-AI 2024,
  /// equations 9 to 19), to whose keys rotary_dims elements come that all heads share; 0: none.
  std::size_t latent_width = 0;
  std::size_t query_latent_width = 0;  ///< likewise for queries; 0: products with the rows
  double score_scale = 0;              ///< scores are scale q k
  double score_cap = 0;                ///< then cap tanh(score / cap); 0: as they are
  std::size_t window = 0;        ///< keys that blocks with a window see, the token's own included
  std::vector<bool> windowed{};  ///< [blocks] whether a block has the window
  std::size_t full_head_width = 0;  ///< of blocks without a window; 0: as the others
  std::size_t full_kv_heads = 0;    ///< likewise
  bool keys_are_values = false;     ///< of blocks without a window: before norms and rotation
  std::size_t sharing_blocks = 0;   ///< the last ones, which read keys and values of earlier blocks
  std::size_t sharing_inner = 0;    ///< width of their feed-forward networks; 0: as the others
  bool normalizes_values = false;   ///< each head, without gains
  bool has_qkv_bias = false;
  bool gates_attention = false;  ///< each query is followed by a gate: mixed * sigmoid(gate)
  bool has_output_bias = false;
  bool has_sinks = false;            ///< a number per head is a further score, of no value
  bool normalizes_heads = false;     ///< each head of queries and keys has an RMS norm
  bool normalizes_together = false;  ///< one for all heads instead
  bool normalizes_rotated = false;   ///< behind the rotation instead of before it

  Positions positions = Positions::kRotary;
  Pairing pairing = Pairing::kNeox;  ///< in the order of the file's rows of q and k
  std::size_t rotary_dims = 0;       ///< leading elements of a head that are rotated
  RotaryAngles rotary{};
  RotaryAngles window_rotary{};      ///< of blocks with the window
  std::vector<bool> unrotated{};     ///< [blocks] whether a block has no positions; empty: none
  std::size_t original_context = 0;  ///< that angles were trained for
  double rotary_factor = 1;          ///< of elements that `rotary` rotates

  FeedForward function = FeedForward::kSilu;
  bool is_gated = true;   ///< down(function(gate x) * (up x)); otherwise down(function(up x))
  std::size_t inner = 0;  ///< width of the feed-forward network, or of one expert
  std::vector<std::size_t> inners{};  ///< [blocks] the width of each; empty: the same
  bool has_ffn_bias = false;
  /// [blocks] Of a gate only what is above its mean by so many standard deviations is left, less
  /// that bound; kNoCutoff: all. Empty: all of all blocks.
  std::vector<double> gate_cutoffs{};
  static constexpr double kNoCutoff = -1e30;
  double gate_slope = 1.702;  ///< of kClampedSwish
  double gate_limit = 7;
  double gate_factor = 1;  ///< of what the gate's matrix gives, before its function
  double down_factor = 1;  ///< of what the last matrix gives

  /// Each block has an input of its own that follows from the token: a row of a table plus a
  /// product with the embedding. Behind the feed-forward network gate x times it is added.
  std::size_t block_input_width = 0;  ///< 0: none
  std::size_t block_input_rows = 0;   ///< of the table; tokens behind them have row 0. 0: all
  bool has_block_factor = false;      ///< a number that the outputs of a block are multiplied by

  /// Rows between blocks are several streams, each `width` wide. A block predicts all from all,
  /// works on the first, and corrects all by what it made of that one, by coefficients that follow
  /// from the rows (alternating updates: Baykal et al., 2023). What the input of the block adds
  /// goes to the others.
  std::size_t streams = 1;
  bool scales_first_stream = false;  ///< before the gate of the input of a block reads it
  /// Rank of two matrices past attention: what they give, with a norm, and their rows are added to
  /// its output, and the sum is divided by sqrt 2 (Menghani et al., 2024); 0: none.
  std::size_t bypass_rank = 0;

  std::size_t experts = 0;       ///< feed-forward networks of a block; 0: one, without a choice
  std::size_t dense_blocks = 0;  ///< leading blocks that have one nevertheless
  std::vector<bool> dense{};     ///< [blocks] whether a block has one; empty: as dense_blocks says
  std::size_t dense_inner = 0;   ///< its width
  /// Blocks have a network beside the experts, of this width too. Each has norms of its own; scores
  /// come from rows with a norm and a gain of their own, and each expert has a factor.
  bool has_network_beside = false;
  std::size_t active_experts = 0;     ///< those of the largest scores that a token passes through
  bool has_sigmoid_scores = false;    ///< each score is a sigmoid instead of a softmax over all
  bool has_expert_bias = false;       ///< of the products of experts and of their scores
  bool has_choice_bias = false;       ///< added to scores for the choice alone
  bool softmax_after_choice = false;  ///< over the chosen scores instead of over all
  bool renormalizes = false;          ///< chosen probabilities are divided by their sum
  std::size_t expert_groups = 1;      ///< of equally many experts
  std::size_t active_groups = 1;      ///< groups of the largest scores, others are not chosen from
  bool sums_group_scores = false;     ///< of their two best experts, instead of the best one's
  double share_factor = 1;            ///< of what the chosen experts give
  std::size_t shared_inner = 0;       ///< width of an expert for all tokens; 0: none
  bool has_shared_gate = false;       ///< whose output is multiplied by sigmoid(w x)

  [[nodiscard]] bool has_experts(std::size_t block) const {
    return experts != 0 && has_network(block) && block >= dense_blocks &&
           (dense.empty() || !dense.at(block));
  }
  [[nodiscard]] std::size_t expert_blocks() const;
  [[nodiscard]] bool has_network(std::size_t block) const {
    return !has_single_branches || mixer(block) == Mixer::kNone;
  }
  [[nodiscard]] bool is_windowed(std::size_t block) const {
    return window != 0 && windowed.at(block);
  }
  [[nodiscard]] bool shares_keys(std::size_t block) const {
    return block + sharing_blocks >= blocks;
  }
  /// The block whose keys and values a block reads: itself, or the last one before those that share
  /// keys that has a window, or none, as well. @pre check() passed
  [[nodiscard]] std::size_t key_block(std::size_t block) const;
  /// The same with the sizes of one block in place of those that blocks differ in.
  [[nodiscard]] Description of_block(std::size_t block) const;
  [[nodiscard]] bool has_cutoff(std::size_t block) const {
    return !gate_cutoffs.empty() && gate_cutoffs.at(block) != kNoCutoff;
  }
  [[nodiscard]] bool is_rotated(std::size_t block) const {
    return positions == Positions::kRotary && (unrotated.empty() || !unrotated.at(block));
  }
  [[nodiscard]] Mixer mixer(std::size_t block) const {
    return mixers.empty() ? Mixer::kAttention : mixers.at(block);
  }
  /// Blocks that remember keys and values.
  [[nodiscard]] std::size_t attention_blocks() const {
    if (mixers.empty()) return blocks;
    return static_cast<std::size_t>(std::ranges::count_if(mixers, has_attention));
  }
  /// Numbers of keys and values that a token leaves in all blocks.
  [[nodiscard]] std::size_t cache_width() const;
  [[nodiscard]] bool has_mixer(Mixer mixer) const {
    return std::ranges::find(mixers, mixer) != mixers.end();
  }
  [[nodiscard]] bool has_scan() const {
    return has_mixer(Mixer::kScan) || has_mixer(Mixer::kAttentionAndScan);
  }
  [[nodiscard]] bool biases_norms() const { return norm == Norm::kLayer && has_norm_bias; }
  bool operator==(const Description&) const = default;
};

/// @throws Error kFormat if numbers are missing, out of range or do not fit together
void check(const Description& description);

}  // namespace halftone::lm
