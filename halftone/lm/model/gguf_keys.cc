// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/gguf_keys.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "halftone/base/elementary.h"
#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/lm/model/architectures.h"
#include "halftone/lm/model/description_fields.h"
#include "halftone/lm/model/gguf_key_names.h"

namespace halftone::lm {
namespace {

using formats::GgufArray;
using formats::GgufFile;
using formats::GgufTensor;
using formats::GgufValue;

/// Reads keys that start with the name of the architecture.
class GgufKeys {
 public:
  GgufKeys(const GgufFile& file, std::string_view architecture)
      : file_(file), prefix_(std::string(architecture) + ".") {}

  [[nodiscard]] std::optional<std::size_t> whole(const std::string& key) const {
    const GgufValue* value = file_.find(prefix_ + key);
    if (value == nullptr) return std::nullopt;
    const auto found = integer_of(*value, key);
    if (found < 0 || found > (std::int64_t{1} << 40)) {
      fail_key(key, "expected a number from 0 to 2^40, found " + std::to_string(found));
    }
    return static_cast<std::size_t>(found);
  }
  [[nodiscard]] std::size_t needed_whole(const std::string& key) const {
    const auto found = whole(key);
    if (!found) fail_key(key, "is missing");
    return *found;
  }
  [[nodiscard]] std::optional<double> number(const std::string& key) const {
    const GgufValue* value = file_.find(prefix_ + key);
    if (value == nullptr) return std::nullopt;
    if (const auto* found = std::get_if<double>(value)) return *found;
    if (const auto* found = std::get_if<std::int64_t>(value)) return static_cast<double>(*found);
    fail_key(key, "expected a number");
  }
  [[nodiscard]] std::optional<bool> flag(const std::string& key) const {
    const GgufValue* value = file_.find(prefix_ + key);
    if (value == nullptr) return std::nullopt;
    if (const auto* found = std::get_if<bool>(value)) return *found;
    fail_key(key, "expected a boolean");
  }
  [[nodiscard]] std::string text(const std::string& key) const {
    return std::string(file_.text(prefix_ + key).value_or(""));
  }
  [[nodiscard]] const GgufArray* list(const std::string& key) const {
    const GgufValue* value = file_.find(prefix_ + key);
    return value == nullptr ? nullptr : std::get_if<GgufArray>(value);
  }
  /// A number of each block, or one of all. @throws Error kFormat unless it is one of these
  [[nodiscard]] std::vector<std::size_t> of_blocks(const std::string& key,
                                                   std::size_t blocks) const {
    const GgufArray* numbers = list(key);
    if (numbers == nullptr) return std::vector<std::size_t>(blocks, needed_whole(key));
    std::vector<std::size_t> all;
    for (const std::int64_t number : numbers->integers) {
      if (number < 0) fail_key(key, "expected numbers from 0, found " + std::to_string(number));
      all.push_back(static_cast<std::size_t>(number));
    }
    if (all.size() < blocks) {
      fail_key(key, "expected " + std::to_string(blocks) + " numbers, found " +
                        std::to_string(all.size()));
    }
    return all;
  }
  /// Sets the fields of a part whose keys there are; the others stay as they are.
  /// @throws Error kFormat if a key that is needed is missing or one is of another type, named
  void read(FieldPart part, Description& description) const {
    visit_part(part, description, [&](const DescriptionField& field, auto& value) {
      if (field.gguf == nullptr) return;
      const bool is_needed = field.needed == Needed::kInGguf || field.needed == Needed::kAlways;
      if (is_needed && file_.find(prefix_ + field.gguf) == nullptr) {
        fail_key(field.gguf, "is missing");
      }
      value = found_or(field.gguf, value);
    });
  }
  [[noreturn]] void fail_key(const std::string& key, const std::string& message,
                             ErrorKind kind = ErrorKind::kFormat) const {
    fail(kind, "key '" + printable(prefix_ + key) + "': " + message);
  }

 private:
  [[nodiscard]] std::size_t found_or(const char* key, std::size_t usual) const {
    return whole(key).value_or(usual);
  }
  [[nodiscard]] double found_or(const char* key, double usual) const {
    return number(key).value_or(usual);
  }
  [[nodiscard]] bool found_or(const char* key, bool usual) const {
    return flag(key).value_or(usual);
  }
  /// A number, or that of a list with one entry per block that are all equal.
  [[nodiscard]] std::int64_t integer_of(const GgufValue& value, const std::string& key) const {
    if (const auto* found = std::get_if<std::int64_t>(&value)) return *found;
    const auto* list = std::get_if<GgufArray>(&value);
    if (list == nullptr || list->integers.empty()) fail_key(key, "expected an integer");
    for (const std::int64_t entry : list->integers) {
      if (entry == list->integers[0]) continue;
      fail_key(key, "blocks of different sizes need a description of each block",
               ErrorKind::kUnsupported);
    }
    return list->integers[0];
  }

  const GgufFile& file_;
  std::string prefix_;
};

bool has_tensor(const GgufFile& file, const char* name) { return file.tensor(name) != nullptr; }

void read_sizes(const GgufFile& file, const GgufKeys& keys, const Architecture& architecture,
                Description& d) {
  keys.read(FieldPart::kBlocks, d);
  keys.read(FieldPart::kUnusedBlocks, d);
  d.unused_blocks = std::min(d.blocks, d.unused_blocks);
  d.blocks -= d.unused_blocks;
  keys.read(FieldPart::kSizes, d);
  const bool may_differ =
      architecture.has_full_heads || architecture.has_streams || d.has_single_branches;
  if (!may_differ) keys.read(FieldPart::kInner, d);
  const GgufTensor* table = file.tensor("token_embd.weight");
  if (table != nullptr && table->shape.size() == 2) d.vocabulary = table->shape[0];
  d.ties_embeddings = !has_tensor(file, "output.weight");
  d.has_head_bias = has_tensor(file, "output.bias");
  // llama.cpp's converter names the epsilon of Nemotron-H as that of layer norms.
  const bool has_layer_key =
      d.norm == Norm::kLayer || (d.has_single_branches && !keys.number(gguf_key::kRmsEpsilon));
  keys.read(has_layer_key ? FieldPart::kLayerNorm : FieldPart::kNorm, d);
}

/// Latent attention. Newer files have the widths of its rows as key_length, and one head of them.
void read_latents(const GgufKeys& keys, Description& d) {
  keys.read(FieldPart::kLatent, d);
  if (d.latent_width == 0) return;
  keys.read(FieldPart::kQueryLatent, d);
  keys.read(FieldPart::kLatentHeads, d);
  d.kv_heads = d.heads;
}

/// Qwen's files have a list of the blocks with a recurrence, or a period.
void read_delta_mixers(const GgufKeys& keys, Description& d) {
  const GgufArray* list = keys.list(gguf_key::kRecurrentBlocks);
  const std::size_t period = keys.whole(gguf_key::kAttentionPeriod).value_or(4);
  if (period == 0) keys.fail_key(gguf_key::kAttentionPeriod, "expected a number above 0, found 0");
  for (std::size_t i = 0; i < d.blocks && d.blocks <= (1 << 12); ++i) {
    if (list != nullptr && i >= list->integers.size()) break;
    const bool is_recurrent = list != nullptr ? list->integers[i] != 0 : (i + 1) % period != 0;
    d.mixers.push_back(is_recurrent ? Mixer::kDelta : Mixer::kAttention);
  }
}

/// Blocks with a recurrence are those without heads of keys and values.
void read_mixers(const GgufKeys& keys, const Architecture& architecture, Description& d) {
  if (architecture.recurrence == Mixer::kDelta) read_delta_mixers(keys, d);
  if (architecture.recurrence == Mixer::kAttentionAndScan && d.blocks <= (1 << 12)) {
    d.mixers.assign(d.blocks, Mixer::kAttentionAndScan);
  }
  const GgufArray* list = keys.list(gguf_key::kKvHeads);
  if (architecture.recurrence == Mixer::kAttention || list == nullptr || !d.mixers.empty()) {
    d.kv_heads = d.heads;
    return keys.read(FieldPart::kKvHeads, d);
  }
  d.kv_heads = 0;
  for (std::size_t i = 0; i < d.blocks && i < list->integers.size(); ++i) {
    const std::int64_t heads = list->integers[i];
    d.mixers.push_back(heads == 0 ? architecture.recurrence : Mixer::kAttention);
    if (heads == 0) continue;
    const auto found = static_cast<std::size_t>(heads);
    if (heads < 0 || (d.kv_heads != 0 && d.kv_heads != found)) {
      keys.fail_key(gguf_key::kKvHeads,
                    "blocks of different sizes need a description of each block",
                    ErrorKind::kUnsupported);
    }
    d.kv_heads = found;
  }
}

/// A block without heads of keys and values is a feed-forward network if it has a width.
void read_single_branches(const GgufKeys& keys, Description& d) {
  if (!d.has_single_branches) return;
  const std::vector<std::size_t> widths = keys.of_blocks(gguf_key::kInner, d.mixers.size());
  for (std::size_t block = 0; block < d.mixers.size(); ++block) {
    if (widths[block] == 0) continue;
    if (d.mixers[block] == Mixer::kAttention) {
      keys.fail_key(gguf_key::kInner,
                    "block " + std::to_string(block) + " has attention and a width",
                    ErrorKind::kUnsupported);
    }
    if (d.inner != 0 && d.inner != widths[block]) {
      keys.fail_key(gguf_key::kInner, "blocks of one kind differ", ErrorKind::kUnsupported);
    }
    d.mixers[block] = Mixer::kNone;
    d.inner = widths[block];
  }
}

void read_recurrences(const GgufFile& file, const GgufKeys& keys, const Architecture& architecture,
                      Description& d) {
  if (architecture.recurrence == Mixer::kConvolution) keys.read(FieldPart::kConvolution, d);
  if (architecture.recurrence == Mixer::kAttention ||
      architecture.recurrence == Mixer::kConvolution) {
    return;
  }
  keys.read(FieldPart::kScan, d);
  if (architecture.recurrence == Mixer::kChannelScan) {
    keys.read(FieldPart::kChannelScan, d);
    d.scan_heads = d.scan_inner;
    d.scan_groups = 1;
  } else {
    keys.read(FieldPart::kScanHeads, d);
  }
  const auto first = std::ranges::find(d.mixers, architecture.recurrence) - d.mixers.begin();
  const auto has = [&, block = "blk." + std::to_string(first) + "."](const char* name) {
    return has_tensor(file, (block + name).c_str());
  };
  d.has_kernel_bias = has("ssm_conv1d.bias");
  d.has_scan_norm = architecture.recurrence == Mixer::kDelta || has("ssm_norm.weight");
  if (architecture.recurrence != Mixer::kDelta) return;
  d.merges_gate = has("ssm_in.weight");
  d.merges_steps = has("ssm_ba.weight");
  // llama.cpp's converter orders value heads so, unless it leaves rows as they are.
  d.tiles_heads = !architecture.groups_delta_rows && d.scan_heads != d.scan_groups;
}

/// The tensors of the first block with attention.
std::string first_attention(const Description& d) {
  const auto found = std::ranges::find(d.mixers, Mixer::kAttention);
  return "blk." + std::to_string(found == d.mixers.end() ? 0 : found - d.mixers.begin()) + ".attn_";
}

/// The names of tensors of the first block with a feed-forward network, from one on, begin so.
std::string first_network(const Description& d, std::size_t block) {
  while (block < d.mixers.size() && !d.has_network(block)) ++block;
  return "blk." + std::to_string(block) + ".";
}

void read_attention(const GgufFile& file, const GgufKeys& keys, const Architecture& architecture,
                    Description& d) {
  keys.read(FieldPart::kHeadCount, d);
  if (!architecture.has_full_heads) read_mixers(keys, architecture, d);
  read_single_branches(keys, d);
  d.head_width = d.heads == 0 ? 0 : d.width / d.heads;
  keys.read(FieldPart::kHeads, d);
  if (d.value_width == 0) d.value_width = d.head_width;
  read_latents(keys, d);
  keys.read(FieldPart::kCaps, d);
  if (keys.number(gguf_key::kQkvLimit).value_or(0) != 0) {
    keys.fail_key(gguf_key::kQkvLimit, "bounded queries are not described here",
                  ErrorKind::kUnsupported);
  }
  const auto has = [&, first = first_attention(d)](const char* name) {
    return has_tensor(file, (first + name).c_str());
  };
  d.has_qkv_bias = d.has_qkv_bias || has("q.bias") || has("qkv.bias");
  d.has_output_bias = d.has_output_bias || has("output.bias");
  d.has_ffn_bias =
      d.has_ffn_bias || has_tensor(file, (first_network(d, 0) + "ffn_down.bias").c_str());
  d.normalizes_heads = d.normalizes_heads || has("q_norm.weight");
}

/// Factors of rows, scores and logits; of rows and logits, 0 means none.
void read_factors(const GgufKeys& keys, const Architecture& architecture, Description& d) {
  keys.read(FieldPart::kFactors, d);
  double logits = keys.number(gguf_key::kLogitFactor).value_or(1);
  for (double* factor : {&d.embedding_factor, &d.residual_factor, &logits}) {
    if (*factor == 0) *factor = 1;
  }
  d.logit_factor = architecture.has_factors ? 1 / logits : logits;
  // Gemma's largest models divide scores by another number; no key says so.
  if (d.score_scale != 0 || d.blocks != architecture.gguf_wide_blocks || d.heads == 0) return;
  d.score_scale = 1 / std::sqrt(static_cast<double>(d.width) / static_cast<double>(d.heads));
}

/// StableLM's largest model has one norm for attention and feed-forward network.
void read_norms(const GgufFile& file, const Architecture& architecture, Description& d) {
  if (!architecture.gguf_may_share_norm || has_tensor(file, "blk.0.ffn_norm.weight")) return;
  d.is_parallel = d.shares_pre_norm = true;
}

void read_window(const GgufKeys& keys, const Architecture& architecture, Description& d) {
  d.window = architecture.gguf_window;
  keys.read(FieldPart::kWindow, d);
  const std::size_t windowed = architecture.gguf_window_blocks;
  if (windowed != 0 && windowed != d.blocks) d.window = 0;
  if (d.window == 0) return;
  const std::string key = gguf_key::kWindowPattern;
  if (const GgufArray* list = keys.list(key)) {
    for (const std::int64_t is_windowed : list->integers) d.windowed.push_back(is_windowed != 0);
    return;
  }
  const auto period = keys.whole(key);
  if (!period) return;
  if (*period == 0) keys.fail_key(key, "expected a number above 0, found 0");
  for (std::size_t i = 0; i < d.blocks && d.blocks <= (1 << 12); ++i) {
    d.windowed.push_back(i % *period < *period - 1);
  }
}

/// The number of the blocks of a kind, which all have the same.
template <typename IsOfKind>
std::size_t of_kind(const GgufKeys& keys, const char* key, const Description& d,
                    std::size_t otherwise, const IsOfKind& is_of_kind) {
  const std::vector<std::size_t> all = keys.of_blocks(key, d.blocks);
  std::optional<std::size_t> found;
  for (std::size_t block = 0; block < d.blocks; ++block) {
    if (!is_of_kind(block)) continue;
    if (found && *found != all[block]) {
      keys.fail_key(key, "blocks of one kind differ", ErrorKind::kUnsupported);
    }
    found = all[block];
  }
  return found.value_or(otherwise);
}

/// Blocks of several sizes, which share keys and have inputs of their own.
void read_differing(const GgufFile& file, const GgufKeys& keys, Description& d) {
  const auto is_windowed = [&](std::size_t block) { return d.is_windowed(block); };
  const auto is_full = [&](std::size_t block) { return !d.is_windowed(block); };
  const auto shares = [&](std::size_t block) { return d.shares_keys(block); };
  const auto has_keys = [&](std::size_t block) { return !d.shares_keys(block); };
  keys.read(FieldPart::kSharing, d);
  d.sharing_blocks = std::min(d.blocks, d.sharing_blocks);
  d.full_head_width = d.head_width;
  keys.read(FieldPart::kWindowHeads, d);
  d.kv_heads = of_kind(keys, gguf_key::kKvHeads, d, d.heads, is_windowed);
  d.full_kv_heads = of_kind(keys, gguf_key::kKvHeads, d, d.kv_heads, is_full);
  const std::size_t inner = of_kind(keys, gguf_key::kInner, d, 0, has_keys);
  const std::size_t sharing = of_kind(keys, gguf_key::kInner, d, inner, shares);
  d.inner = inner;
  d.sharing_inner = sharing == inner ? 0 : sharing;
  d.has_block_factor = has_tensor(file, "blk.0.layer_output_scale.weight");
  for (std::size_t block = 0; block < d.blocks && !d.keys_are_values; ++block) {
    const std::string value = "blk." + std::to_string(block) + ".attn_v.weight";
    d.keys_are_values = has_keys(block) && is_full(block) && !has_tensor(file, value.c_str());
  }
}

/// Widths of feed-forward networks, which may differ.
void read_inners(const GgufKeys& keys, Description& d) {
  d.inners = keys.of_blocks(gguf_key::kInner, d.blocks);
  d.inners.resize(d.blocks);
  d.inner = d.inners.empty() ? 0 : d.inners[0];
  const auto is_first = [&](std::size_t inner) { return inner == d.inner; };
  if (std::ranges::all_of(d.inners, is_first)) d.inners.clear();
}

/// Cutoffs of gates: minus infinity means none. Without the key they are those of the
/// published models, as llama.cpp has them.
void read_cutoffs(const GgufKeys& keys, Description& d) {
  constexpr std::size_t kUsualBlocks = 10;
  constexpr double kUsual = 1.6448533535003662;
  const GgufArray* list = keys.list(gguf_key::kCutoffs);
  std::vector<double> cutoffs(d.blocks, -INFINITY);
  if (list == nullptr) {
    std::fill_n(cutoffs.begin(), std::min(kUsualBlocks, d.blocks), kUsual);
  } else if (list->numbers.size() != d.blocks) {
    keys.fail_key(gguf_key::kCutoffs, "expected one number for each of " +
                                          std::to_string(d.blocks) + " blocks, found " +
                                          std::to_string(list->numbers.size()));
  } else {
    cutoffs = list->numbers;
  }
  const auto is_none = [](double cutoff) { return cutoff == -INFINITY; };
  if (std::ranges::all_of(cutoffs, is_none)) return;
  std::ranges::replace_if(cutoffs, is_none, Description::kNoCutoff);
  d.gate_cutoffs = std::move(cutoffs);
}

/// Streams, matrices past attention, sparse gates.
void read_streams(const GgufFile& file, const GgufKeys& keys, Description& d) {
  // Where a file does not say, as in llama.cpp.
  constexpr std::size_t kUsualKeyBlocks = 20;
  d.streams = 4;
  d.block_input_width = 256;
  d.sharing_blocks = d.blocks - std::min(d.blocks, kUsualKeyBlocks);
  keys.read(FieldPart::kStreams, d);
  keys.read(FieldPart::kSharing, d);
  d.sharing_blocks = std::min(d.blocks, d.sharing_blocks);
  if (d.streams < 2) keys.fail_key(gguf_key::kStreams, "expected 2 or more");
  if (keys.whole(gguf_key::kActiveStream).value_or(0) != 0) {
    keys.fail_key(gguf_key::kActiveStream,
                  "blocks that work on another stream than the first are not described here",
                  ErrorKind::kUnsupported);
  }
  d.scales_first_stream = true;
  const GgufTensor* left = file.tensor("blk.0.laurel_l.weight");
  d.bypass_rank = left == nullptr || left->shape.empty() ? 0 : left->shape[0];
  if (d.bypass_rank == 0) fail(ErrorKind::kFormat, "tensor 'blk.0.laurel_l.weight': is missing");
  if (d.blocks > (1 << 12)) return;
  read_inners(keys, d);
  read_cutoffs(keys, d);
}

std::vector<double> factors_of(const GgufFile& file, const char* name) {
  const GgufTensor* tensor = file.tensor(name);
  if (tensor == nullptr) return {};
  std::vector<float> values(tensor->num_elements());
  with_context("tensor '" + std::string(name) + "'",
               [&] { numerics::decode_blocks(*tensor->type, tensor->bytes.bytes, values); });
  return {values.begin(), values.end()};
}

/// Positions divided by one number.
void scale_linearly(double factor, Description& d) {
  if (factor == 1 || d.rotary_dims > (1 << 16)) return;
  if (d.rotary.divisors.empty()) d.rotary.divisors.assign(d.rotary_dims / 2, 1);
  for (double& divisor : d.rotary.divisors) divisor *= factor;
}

void read_yarn(const GgufKeys& keys, double factor, Description& d) {
  // llama.cpp rounds the ends of gpt-oss too, unlike the model it was trained as.
  d.rotary.yarn.truncates = architecture_of_gguf(d.architecture).gguf_truncates_yarn;
  d.rotary.yarn.factor = factor;
  keys.read(FieldPart::kYarn, d);
  d.original_context = keys.whole(gguf_key::kOriginalContext).value_or(d.context);
  if (factor <= 1) return;
  const double growth = keys.number(gguf_key::kScoreGrowth).value_or(0);
  const double log = elementary::log(factor);
  // DeepSeek's files have the growth of scores: then that of rotated elements cancels out, except
  // where it is 0.1.
  if (growth == 0) d.rotary_factor *= 1 + 0.1 * log;
  if (d.latent_width == 0) return;
  const double one = d.rotary_factor * (1 + growth * log);
  d.score_scale = one * one / std::sqrt(static_cast<double>(d.head_width));
}

/// As llama.cpp reads them: a factor without a type is a linear one, and one of 0 is 1.
void read_scaling(const GgufKeys& keys, Description& d) {
  std::string type = keys.text(gguf_key::kScaling);
  if (type.empty()) type = d.rotary.long_divisors.empty() ? "linear" : "longrope";
  auto factor = keys.number(gguf_key::kScalingFactor);
  if (!factor) factor = keys.number(gguf_key::kOldScalingFactor);
  const double divisor = factor.value_or(0) == 0 ? 1 : *factor;
  d.rotary_factor = keys.number(gguf_key::kRotaryFactor).value_or(1);
  if (!d.rotary.long_divisors.empty()) {
    d.original_context = keys.whole(gguf_key::kOriginalContext).value_or(d.context);
  }
  if (type == "linear" || type == "longrope") {
    scale_linearly(divisor, d);
  } else if (type == "yarn") {
    read_yarn(keys, divisor, d);
  } else if (type != "none") {
    keys.fail_key(gguf_key::kScaling,
                  "'" + printable(type) +
                      "': its angles are not described here; known: none, linear, yarn, longrope "
                      "and factors as tensors",
                  ErrorKind::kUnsupported);
  }
}

/// Keys that change angles in llama.cpp, for architectures that are not read here.
void refuse_angles(const GgufKeys& keys, const Description& d) {
  const double growth = keys.number(gguf_key::kScoreGrowth).value_or(0);
  if (growth != 0 && d.latent_width == 0) {
    keys.fail_key(gguf_key::kScoreGrowth, "angles of this kind are not described here",
                  ErrorKind::kUnsupported);
  }
  constexpr std::pair<const char*, double> kUsual[] = {{"rope.scaling.yarn_ext_factor", 1},
                                                       {"rope.scaling.yarn_attn_factor", 1},
                                                       {"rope.scaling.alpha", 0}};
  for (const auto& [key, usual] : kUsual) {
    if (keys.number(key).value_or(usual) == usual) continue;
    keys.fail_key(key, "angles of this kind are not described here", ErrorKind::kUnsupported);
  }
}

/// Granite's files say so if there are no positions.
void read_unrotated(const GgufKeys& keys, const Architecture& architecture, Description& d) {
  if (!architecture.has_factors || d.blocks > (1 << 12)) return;
  if (!keys.flag(gguf_key::kFinetuned).value_or(true)) d.unrotated.assign(d.blocks, true);
}

void read_positions(const GgufFile& file, const GgufKeys& keys, const Architecture& architecture,
                    Description& d) {
  if (d.positions != Positions::kRotary || rotates_nothing(architecture)) return;
  if (d.full_head_width == 0) {
    keys.read(FieldPart::kRotaryDims, d);
  } else if (keys.whole(gguf_key::kRotaryDims).value_or(d.full_head_width) != d.full_head_width) {
    keys.fail_key(gguf_key::kRotaryDims, "expected whole heads", ErrorKind::kUnsupported);
  }
  if (d.rotary_dims == 0) d.rotary_dims = d.head_width;
  keys.read(FieldPart::kBase, d);
  keys.read(FieldPart::kWindowBase, d);
  d.rotary.divisors = factors_of(file, gguf_key::kDivisors);
  if (d.rotary.divisors.empty()) {
    d.rotary.divisors = factors_of(file, gguf_key::kShortDivisors);
    d.rotary.long_divisors = factors_of(file, gguf_key::kLongDivisors);
  }
  refuse_angles(keys, d);
  read_unrotated(keys, architecture, d);
  read_scaling(keys, d);
}

/// 1 is a softmax, 2 a sigmoid, 3 a softmax over the chosen ones.
void read_scores(const GgufKeys& keys, Description& d) {
  const auto function = keys.whole(gguf_key::kScoreFunction).value_or(0);
  if (function > 3) {
    keys.fail_key(gguf_key::kScoreFunction, "expected 1 to 3, found " + std::to_string(function),
                  ErrorKind::kUnsupported);
  }
  if (function == 0) return;
  d.has_sigmoid_scores = function == 2;
  d.softmax_after_choice = function == 3;
}

/// Blocks have experts if they have a router.
void read_dense(const GgufFile& file, Description& d) {
  if (d.blocks > (1 << 12)) return;
  std::size_t routers = 0;
  for (std::size_t block = 0; block < d.blocks; ++block) {
    const std::string router = "blk." + std::to_string(block) + ".ffn_gate_inp.weight";
    d.dense.push_back(!has_tensor(file, router.c_str()));
    routers += d.dense.back() ? 0U : 1U;
  }
  if (routers == 0) d.experts = 0;
  if (routers == 0 || routers == d.blocks) d.dense.clear();
}

void read_experts(const GgufFile& file, const GgufKeys& keys, const Architecture& architecture,
                  Description& d) {
  keys.read(FieldPart::kExperts, d);
  if (architecture.gguf_has_dense_blocks) read_dense(file, d);
  if (d.experts == 0) return;
  keys.read(FieldPart::kActiveExperts, d);
  keys.read(FieldPart::kExpertShares, d);
  if (d.share_factor == 0) d.share_factor = 1;
  if (d.dense_blocks != 0 || !d.dense.empty() || d.has_network_beside) d.dense_inner = d.inner;
  keys.read(FieldPart::kExpertInner, d);
  d.shared_inner = d.inner * keys.whole(gguf_key::kSharedExperts).value_or(0);
  keys.read(FieldPart::kSharedInner, d);
  read_scores(keys, d);
  // llama.cpp sums the two best scores of each group.
  keys.read(FieldPart::kExpertGroups, d);
  d.expert_groups = std::max<std::size_t>(1, d.expert_groups);  // 0 means one
  d.active_groups = std::max<std::size_t>(1, d.active_groups);
  d.sums_group_scores = true;
  const std::string bias = first_network(d, d.dense_blocks) + "exp_probs_b.bias";
  d.has_choice_bias = has_tensor(file, bias.c_str());
}

/// BitNet's files name the function; those that do not are older and have SiLU.
void read_function(const GgufKeys& keys, const Architecture& architecture, Description& d) {
  std::string name = keys.text(gguf_key::kOldFunction);
  if (name.empty() && architecture.gguf_names_function) name = keys.text(gguf_key::kFunction);
  if (name.empty()) return;
  if (name == "relu2") {
    d.function = FeedForward::kReluSquared;
  } else if (name == "silu") {
    d.function = FeedForward::kSilu;
  } else {
    keys.fail_key(gguf_key::kFunction, "'" + printable(name) + "': known: silu, relu2",
                  ErrorKind::kUnsupported);
  }
}

}  // namespace

Description describe_gguf(const GgufFile& file) {
  const auto name = file.text(gguf_key::kArchitecture);
  if (!name) fail(ErrorKind::kFormat, "key 'general.architecture': is missing");
  const Architecture& architecture = architecture_of_gguf(*name);
  const GgufKeys keys(file, *name);
  Description d = start_description(architecture);
  d.pairing = architecture.gguf_pairing;
  read_sizes(file, keys, architecture, d);
  read_attention(file, keys, architecture, d);
  read_recurrences(file, keys, architecture, d);
  read_factors(keys, architecture, d);
  read_norms(file, architecture, d);
  read_window(keys, architecture, d);
  if (architecture.has_full_heads) read_differing(file, keys, d);
  if (architecture.has_streams) read_streams(file, keys, d);
  read_positions(file, keys, architecture, d);
  read_experts(file, keys, architecture, d);
  read_function(keys, architecture, d);
  complete(d, architecture);
  check(d);
  return d;
}

}  // namespace halftone::lm
