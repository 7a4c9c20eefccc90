// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/new_gguf.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "halftone/base/elementary.h"
#include "halftone/base/error.h"
#include "halftone/lm/model/architectures.h"
#include "halftone/lm/model/description_fields.h"
#include "halftone/lm/model/description_json.h"
#include "halftone/lm/model/gguf_key_names.h"
#include "halftone/lm/model/gguf_keys.h"

namespace halftone::lm {
namespace {

using formats::NewGgufTensor;

double rounded(double value) { return double{static_cast<float>(value)}; }

NewGgufTensor float_tensor(const char* name, const std::vector<double>& values) {
  std::vector<float> floats(values.begin(), values.end());
  const auto bytes = std::as_bytes(std::span(floats));
  return {name,
          {values.size()},
          &formats::gguf_float32(),
          source_of(own_bytes({bytes.begin(), bytes.end()}))};
}

bool is_uniform(const std::vector<double>& values) {
  return std::ranges::all_of(values, [&](double value) { return value == values[0]; });
}

/// Whether positions are divided by one number, which is a key and no tensor.
bool scales_by_one_number(const Description& d) {
  const RotaryAngles& angles = d.rotary;
  return !angles.divisors.empty() && angles.long_divisors.empty() && is_uniform(angles.divisors);
}

/// Sets the keys of an architecture.
class KeyWriter {
 public:
  KeyWriter(formats::GgufKeys& keys, std::string_view architecture)
      : keys_(keys), prefix_(std::string(architecture) + ".") {}

  void whole(const char* key, std::size_t value) {
    keys_.set(prefix_ + key, static_cast<std::uint32_t>(value));
  }
  void number(const char* key, double value) {
    keys_.set(prefix_ + key, static_cast<float>(value));
  }
  template <typename T>
  void other(const char* key, const T& value) {
    keys_.set(prefix_ + key, value);
  }
  /// The fields of a part; those that are as usual only if asked to.
  void write(FieldPart part, const Description& description, bool with_usual = true) {
    Description d = description;
    Description usual;
    visit_part(part, d, [&](const DescriptionField& field, auto& value) {
      using Value = std::remove_reference_t<decltype(value)>;
      if (field.gguf == nullptr) return;
      if (!with_usual && value == *std::get<Value*>(field.place(usual))) return;
      if constexpr (std::is_same_v<Value, std::size_t>) {
        whole(field.gguf, value);
      } else if constexpr (std::is_same_v<Value, double>) {
        number(field.gguf, value);
      } else {
        other(field.gguf, value);
      }
    });
  }

 private:
  formats::GgufKeys& keys_;
  std::string prefix_;
};

/// Blocks without a network have no width. llama.cpp needs an epsilon of layer norms, too.
void write_single_branches(const Description& d, KeyWriter& keys) {
  std::vector<std::int32_t> widths;
  for (std::size_t block = 0; block < d.blocks; ++block) {
    widths.push_back(d.has_network(block) ? static_cast<std::int32_t>(d.inner) : 0);
  }
  keys.other(gguf_key::kInner, widths);
  keys.write(FieldPart::kLayerNorm, d);
}

void write_sizes(const Description& d, KeyWriter& keys) {
  keys.write(FieldPart::kSizes, d);
  keys.write(FieldPart::kBlocks, d);
  const bool has_dense = d.dense_blocks != 0 || !d.dense.empty() || d.has_network_beside;
  keys.whole(gguf_key::kInner, has_dense ? d.dense_inner : d.inner);
  keys.write(d.norm == Norm::kRms ? FieldPart::kNorm : FieldPart::kLayerNorm, d);
  if (d.has_single_branches) write_single_branches(d, keys);
}

/// Blocks with a window where the architecture does not say which.
void write_window(const Description& d, KeyWriter& keys) {
  const Architecture& architecture = architecture_of_gguf(d.architecture);
  if (d.window == 0 && architecture.gguf_window == 0) return;
  keys.write(FieldPart::kWindow, d);
  Description usual = d;
  usual.windowed.clear();
  complete(usual, architecture);
  const bool is_needed = usual.windowed != d.windowed || d.full_head_width != 0;
  if (is_needed) keys.other(gguf_key::kWindowPattern, d.windowed);
}

/// Those that the architecture does not give.
void write_factors(const Description& d, KeyWriter& keys) {
  const Architecture& architecture = architecture_of_gguf(d.architecture);
  if (architecture.has_factors) keys.write(FieldPart::kFactors, d);
  if (!architecture.has_factors && d.logit_factor == 1) return;
  keys.number(gguf_key::kLogitFactor,
              architecture.has_factors ? 1 / d.logit_factor : d.logit_factor);
}

/// Blocks of several sizes, which share keys and have inputs of their own.
void write_differing(const Description& d, KeyWriter& keys) {
  std::vector<std::uint32_t> heads;
  std::vector<std::uint32_t> inner;
  for (std::size_t block = 0; block < d.blocks; ++block) {
    const Description one = d.of_block(block);
    heads.push_back(static_cast<std::uint32_t>(one.kv_heads));
    inner.push_back(static_cast<std::uint32_t>(one.inner));
  }
  keys.other(gguf_key::kKvHeads, heads);
  if (d.sharing_inner != 0) keys.other(gguf_key::kInner, inner);
  keys.whole(gguf_key::kHeadWidth, d.full_head_width);
  keys.whole(gguf_key::kValueWidth, d.full_head_width);
  keys.whole(gguf_key::kRotaryDims, d.full_head_width);
  keys.write(FieldPart::kWindowHeads, d);
  keys.write(FieldPart::kSharing, d);
}

/// Streams, matrices past attention, sparse gates.
void write_streams(const Description& d, KeyWriter& keys) {
  if (d.streams == 1) return;
  keys.write(FieldPart::kStreams, d);
  keys.whole(gguf_key::kActiveStream, 0);
  keys.write(FieldPart::kSharing, d);
  std::vector<float> cutoffs;
  std::vector<std::uint32_t> inner;
  for (std::size_t block = 0; block < d.blocks; ++block) {
    cutoffs.push_back(d.has_cutoff(block) ? static_cast<float>(d.gate_cutoffs[block]) : -INFINITY);
    inner.push_back(static_cast<std::uint32_t>(d.of_block(block).inner));
  }
  keys.other(gguf_key::kCutoffs, cutoffs);
  if (!d.inners.empty()) keys.other(gguf_key::kInner, inner);
}

void write_scan(const Description& d, KeyWriter& keys) {
  keys.write(FieldPart::kScan, d);
  const bool is_of_channels = d.has_mixer(Mixer::kChannelScan);
  keys.write(is_of_channels ? FieldPart::kChannelScan : FieldPart::kScanHeads, d);
}

void write_delta_mixers(const Description& d, KeyWriter& keys) {
  std::vector<bool> is_recurrent;
  for (const Mixer mixer : d.mixers) is_recurrent.push_back(mixer == Mixer::kDelta);
  keys.other(gguf_key::kRecurrentBlocks, is_recurrent);
  write_scan(d, keys);
}

/// Blocks with a recurrence have no heads of keys and values.
void write_mixers(const Description& d, KeyWriter& keys) {
  const bool is_plain = d.mixers.empty() || d.has_mixer(Mixer::kAttentionAndScan);
  if (is_plain || d.has_mixer(Mixer::kDelta)) {
    keys.write(FieldPart::kKvHeads, d);
    if (d.has_mixer(Mixer::kAttentionAndScan)) write_scan(d, keys);
    if (d.has_mixer(Mixer::kDelta)) write_delta_mixers(d, keys);
    return;
  }
  std::vector<std::int32_t> heads;
  for (std::size_t block = 0; block < d.blocks; ++block) {
    const bool is_attention = d.mixer(block) == Mixer::kAttention;
    heads.push_back(is_attention ? static_cast<std::int32_t>(d.kv_heads) : 0);
  }
  keys.other(gguf_key::kKvHeads, heads);
  if (d.scan_inner == 0) return keys.write(FieldPart::kConvolution, d);
  write_scan(d, keys);
}

void write_attention(const Description& d, KeyWriter& keys) {
  keys.write(FieldPart::kHeadCount, d);
  if (d.full_head_width == 0) {
    write_mixers(d, keys);
    keys.write(FieldPart::kHeads, d);
  } else {
    write_differing(d, keys);
  }
  write_streams(d, keys);
  keys.write(FieldPart::kLatent, d, false);
  keys.write(FieldPart::kQueryLatent, d, false);
  keys.write(FieldPart::kCaps, d, false);
  write_factors(d, keys);
  write_window(d, keys);
}

double log_of_yarn(const Description& d) {
  const double factor = rounded(d.rotary.yarn.factor);
  return factor > 1 ? elementary::log(factor) : 0;
}

/// The growth of scores that latent attention has: they are those of its head width times
/// (1 + growth log(factor))^2; 0: none.
double score_growth(const Description& d) {
  const double log = log_of_yarn(d);
  if (d.latent_width == 0 || log == 0) return 0;
  const double grown = std::sqrt(d.score_scale * std::sqrt(static_cast<double>(d.head_width)));
  return rounded((grown / d.rotary_factor - 1) / log);
}

/// The factor that llama.cpp gives rotated elements for YaRN.
double yarn_rotary_factor(const Description& d) {
  return score_growth(d) != 0 ? 1 : 1 + 0.1 * log_of_yarn(d);
}

void write_yarn(const Description& d, KeyWriter& keys) {
  keys.other(gguf_key::kScaling, std::string_view("yarn"));
  keys.number(gguf_key::kScalingFactor, d.rotary.yarn.factor);
  keys.whole(gguf_key::kOriginalContext, d.original_context);
  keys.write(FieldPart::kYarn, d);
  keys.number(gguf_key::kRotaryFactor, d.rotary_factor / yarn_rotary_factor(d));
  if (score_growth(d) != 0) keys.number(gguf_key::kScoreGrowth, score_growth(d));
}

void write_positions(const Description& d, KeyWriter& keys) {
  if (d.positions != Positions::kRotary) return;
  const Architecture& architecture = architecture_of_gguf(d.architecture);
  if (rotates_nothing(architecture)) return;
  if (d.full_head_width == 0) keys.write(FieldPart::kRotaryDims, d);
  keys.write(FieldPart::kBase, d);
  const bool has_none = architecture.has_factors && !d.unrotated.empty() &&
                        std::ranges::all_of(d.unrotated, [](bool is) { return is; });
  if (has_none) keys.other(gguf_key::kFinetuned, false);
  if (architecture.window_base != 0) keys.write(FieldPart::kWindowBase, d);
  if (scales_by_one_number(d)) {
    keys.other(gguf_key::kScaling, std::string_view("linear"));
    keys.number(gguf_key::kScalingFactor, d.rotary.divisors[0]);
  } else if (d.rotary.yarn.factor != 0) {
    write_yarn(d, keys);
  } else if (!d.rotary.long_divisors.empty()) {
    keys.other(gguf_key::kScaling, std::string_view("longrope"));
    keys.whole(gguf_key::kOriginalContext, d.original_context);
    keys.number(gguf_key::kRotaryFactor, d.rotary_factor);
  }
}

void write_experts(const Description& d, KeyWriter& keys) {
  if (d.experts == 0) return;
  const Architecture& architecture = architecture_of_gguf(d.architecture);
  keys.write(FieldPart::kExperts, d);
  keys.write(FieldPart::kActiveExperts, d);
  if (architecture.gguf_has_expert_inner) keys.write(FieldPart::kExpertInner, d);
  if (architecture.gguf_has_shared_inner) keys.write(FieldPart::kSharedInner, d, false);
  const bool is_plain = d.dense_blocks == 0 && !d.has_sigmoid_scores && d.share_factor == 1;
  if (is_plain && d.latent_width == 0) return;
  keys.write(FieldPart::kExpertGroups, d);
  keys.write(FieldPart::kExpertShares, d);
  keys.whole(gguf_key::kScoreFunction, d.has_sigmoid_scores ? 2 : 1);
  keys.whole(gguf_key::kSharedExperts, d.shared_inner / d.inner);
}

void round_all(RotaryAngles& angles) {
  angles.base = rounded(angles.base);
  angles.yarn.factor = rounded(angles.yarn.factor);
  angles.yarn.fast_turns = rounded(angles.yarn.fast_turns);
  angles.yarn.slow_turns = rounded(angles.yarn.slow_turns);
  for (double& divisor : angles.divisors) divisor = rounded(divisor);
  for (double& divisor : angles.long_divisors) divisor = rounded(divisor);
}

/// The keys read back, with tensors of one element in place of the model's.
Description read_back(const Description& d, const formats::GgufKeys& keys) {
  std::vector<NewGgufTensor> tensors = new_gguf_divisors(d);
  for (const NewGgufPlace& place : new_gguf_places(d)) {
    // Of one tensor the extent says what no key does.
    const bool tells_rank = place.parts[0].role == WeightRole::kBypassLeft;
    tensors.push_back(
        float_tensor(place.name.c_str(), std::vector<double>(tells_rank ? d.bypass_rank : 1)));
  }
  return describe_gguf(formats::GgufFile::parse(
      own_bytes(collect([&](const ByteSink& sink) { formats::write_gguf(sink, keys, tensors); }))));
}

/// Programs compute what the keys say.
void check_says_all(const Description& d, const formats::GgufKeys& keys) {
  using nlohmann::json;
  const json expected = json::parse(description_to_json(described_by_gguf(d)));
  const json found = json::parse(description_to_json(read_back(d, keys)));
  json all = expected;
  all.update(found);
  for (const auto& item : all.items()) {
    const std::string& field = item.key();
    const auto text = [&](const json& object) {
      return object.contains(field) ? object.at(field).dump() : "as usual";
    };
    if (text(expected) == text(found)) continue;
    fail(ErrorKind::kUnsupported,
         "GGUF files of " + d.architecture + " cannot say what this model computes: " + field +
             " is " + text(expected) + ", they mean " + text(found) + "; write NAME.safetensors");
  }
}

/// What llama.cpp has no tensors for.
void check_tensors(const Description& d) {
  const auto refuse = [&](const std::string& what) {
    fail(ErrorKind::kUnsupported, "GGUF files of " + d.architecture + " have no " + what +
                                      ", which this model has; write NAME.safetensors");
  };
  const Architecture& architecture = architecture_of_gguf(d.architecture);
  if (!new_gguf_divisors(d).empty() && !architecture.gguf_has_divisors) {
    refuse("factors of rotary positions");
  }
  if (!d.ties_embeddings && architecture.gguf_ties) refuse("head beside the embedding");
  if (d.has_mixer(Mixer::kDelta) && d.scan_inner / d.scan_heads != d.scan_states) {
    refuse("keys and values of different widths");
  }
  if (architecture.gguf_renormalizes && !d.renormalizes && d.experts != 0) {
    refuse("shares of experts as they are");
  }
  if (d.has_single_branches && !d.dense.empty()) refuse("networks beside those with experts");
  if (architecture.gguf_doubles_scan && d.scan_inner != 2 * d.width) {
    refuse("recurrence of another width than twice that of rows");
  }
  const bool has_scan = d.has_scan() || d.has_mixer(Mixer::kChannelScan);
  if (has_scan && !d.has_kernel_bias) refuse("recurrence whose convolution has no bias");
  if (architecture.gguf_has_choice_bias && !d.has_choice_bias) {
    refuse("choice of experts without a bias");
  }
}

/// llama.cpp has these numbers in its program, whatever a file says.
bool is_published_gemma3n(const Description& d) {
  constexpr std::size_t kSparse = 10;
  const auto is_cut = [](double cutoff) { return std::abs(cutoff - 1.6448536) < 1e-4; };
  bool are_cut = d.gate_cutoffs.size() >= kSparse;
  for (std::size_t block = 0; are_cut && block < d.blocks; ++block) {
    are_cut = block < kSparse ? is_cut(d.gate_cutoffs[block]) : !d.has_cutoff(block);
  }
  return are_cut && d.streams == 4 && d.bypass_rank == 64 && d.block_input_width == 256 &&
         d.blocks - d.sharing_blocks == 20;
}

}  // namespace

std::vector<NewGgufPlace> new_gguf_places(const Description& d) {
  std::vector<NewGgufPlace> places;
  std::map<std::string, std::size_t> known;
  for (const WeightId& id : needed_weights(d)) {
    const TensorPlace place = new_gguf_place(d, id);
    const auto [found, is_new] = known.emplace(place.name, places.size());
    if (is_new) {
      std::vector<std::size_t> shape = shape_of(d, id);
      shape[0] = id.role == WeightRole::kBlockInputTable ? d.vocabulary : place.outputs;
      // llama.cpp has a vector in place of a matrix with one row.
      if (id.role == WeightRole::kSharedRouter) shape.erase(shape.begin());
      // And matrices in place of vectors.
      const bool is_scan = d.has_scan();
      const bool is_column = id.role == WeightRole::kDecay || id.role == WeightRole::kSkip;
      if (is_scan && is_column) shape.push_back(1);
      if (is_scan && id.role == WeightRole::kMixerNorm) {
        shape = {d.scan_groups, d.scan_inner / d.scan_groups};
      }
      if (place.stacked != 0) shape.insert(shape.begin(), place.stacked);
      places.push_back({place.name, std::move(shape), {}});
    }
    places[found->second].parts.push_back(id);
  }
  return places;
}

std::vector<std::size_t> new_gguf_rows(const Description& d, const WeightId& id) {
  if (id.role == WeightRole::kBlockInputTable && d.block_input_rows != 0) {
    std::vector<std::size_t> rows(d.vocabulary, 0);
    std::iota(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(d.block_input_rows),
              std::size_t{0});
    return rows;
  }
  const bool is_rotated = id.role == WeightRole::kQuery || id.role == WeightRole::kKey;
  const Pairing pairing = architecture_of_gguf(d.architecture).gguf_pairing;
  if (!is_rotated || d.positions != Positions::kRotary || d.pairing == pairing) return {};
  if (pairing != Pairing::kInterleaved) {
    fail(ErrorKind::kInternal, d.architecture + ": rows of neighbours, where files have halves");
  }
  std::vector<std::size_t> rows(shape_of(d, id)[0]);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::size_t in_head = row % d.head_width;
    const std::size_t half = in_head % 2 * (d.rotary_dims / 2) + in_head / 2;
    rows[row] = row - in_head + (in_head < d.rotary_dims ? half : in_head);
  }
  return rows;
}

std::vector<NewGgufTensor> new_gguf_divisors(const Description& d) {
  if (scales_by_one_number(d)) return {};
  if (!d.rotary.long_divisors.empty()) {
    return {float_tensor(gguf_key::kLongDivisors, d.rotary.long_divisors),
            float_tensor(gguf_key::kShortDivisors, d.rotary.divisors)};
  }
  if (d.rotary.divisors.empty()) return {};
  return {float_tensor(gguf_key::kDivisors, d.rotary.divisors)};
}

std::vector<NewGgufTensor> new_gguf_unread(const Description& d) {
  std::vector<NewGgufTensor> tensors;
  if (!architecture_of_gguf(d.architecture).has_streams) return tensors;
  const formats::GgufType& small = *formats::gguf_type("Q4_0");
  const auto add = [&](const WeightId& id) {
    const std::vector<std::size_t> shape = shape_of(d, id);
    const bool is_small = shape.size() == 2 && shape.back() % small.block == 0;
    const formats::GgufType& type = is_small ? small : formats::gguf_float32();
    const std::size_t elements =
        std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies());
    tensors.push_back({new_gguf_place(d, id).name, shape, &type,
                       source_of(own_bytes(std::vector<std::byte>(type.bytes_of(elements))))});
  };
  for (std::size_t block = d.blocks - d.sharing_blocks; block < d.blocks; ++block) {
    for (const WeightRole role : {WeightRole::kKey, WeightRole::kValue, WeightRole::kKeyNorm})
      add({.role = role, .block = block});
  }
  return tensors;
}

Description described_by_gguf(const Description& description) {
  const Architecture& architecture = architecture_of_gguf(description.architecture);
  Description d = description;
  d.norm_offset = 0;
  d.has_log_decays = false;
  if (d.positions == Positions::kRotary) d.pairing = architecture.gguf_pairing;
  for (double* number :
       {&d.norm_epsilon, &d.score_cap, &d.logit_cap, &d.residual_factor, &d.share_factor}) {
    *number = rounded(*number);
  }
  if (architecture.has_factors) {
    d.embedding_factor = rounded(d.embedding_factor);
    d.score_scale = rounded(d.score_scale);
  }
  d.logit_factor =
      architecture.has_factors ? 1 / rounded(1 / d.logit_factor) : rounded(d.logit_factor);
  const double yarn = d.rotary.yarn.factor == 0 ? 1 : yarn_rotary_factor(d);
  const double growth = score_growth(d);
  d.rotary_factor = rounded(d.rotary_factor / yarn) * yarn;
  if (growth != 0) {
    const double one = d.rotary_factor * (1 + growth * log_of_yarn(d));
    d.score_scale = one * one / std::sqrt(static_cast<double>(d.head_width));
  }
  round_all(d.rotary);
  round_all(d.window_rotary);
  d.scales_first_stream = d.streams != 1;
  d.block_input_rows = 0;
  for (double& cutoff : d.gate_cutoffs) {
    if (cutoff != Description::kNoCutoff) cutoff = rounded(cutoff);
  }
  return d;
}

formats::GgufKeys new_gguf_keys(const Description& d, const std::string& name) {
  formats::GgufKeys keys;
  keys.set(gguf_key::kArchitecture, std::string_view(d.architecture));
  keys.set(gguf_key::kType, std::string_view("model"));
  keys.set(gguf_key::kName, std::string_view(name));
  KeyWriter writer(keys, d.architecture);
  write_sizes(d, writer);
  write_attention(d, writer);
  write_positions(d, writer);
  write_experts(d, writer);
  check_tensors(d);
  check_says_all(d, keys);
  return keys;
}

std::string new_gguf_warning(const Description& d) {
  const Architecture& architecture = architecture_of_gguf(d.architecture);
  if (architecture.has_streams && !is_published_gemma3n(d)) {
    return "llama.cpp knows gemma3n with 4 streams, a rank of 64, inputs of blocks of 256, keys in "
           "20 blocks and 10 sparse ones alone: it does not compute what this model does";
  }
  if (d.window == 0 || architecture.window_period != 0) return "";
  const std::string window = std::to_string(d.window);
  return "llama.cpp has no windows in the attention of " + d.architecture +
         ": it computes what this model does up to " + window + " tokens";
}

}  // namespace halftone::lm
