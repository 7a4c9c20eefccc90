// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/weights.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/lm/model/architectures.h"
#include "halftone/lm/model/gguf_key_names.h"
#include "halftone/lm/model/storage.h"

namespace halftone::lm {
namespace {

using Extents = std::vector<std::size_t>;

constexpr std::size_t kMaxNamed = 4;  // tensors in a message

std::string shape_text(const Extents& shape) {
  std::string text = "[";
  for (const std::size_t extent : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return text + "]";
}

bool is_whole_blocks(const StorageType& type, std::size_t elements) {
  const auto* blocks = std::get_if<numerics::SharedBlockEncoding>(&type);
  return blocks == nullptr || elements % (*blocks)->block == 0;
}

/// @throws Error kUnsupported for blocks that nothing here decodes
void check_type(const std::string& name, const StorageType& type) {
  const auto* blocks = std::get_if<numerics::SharedBlockEncoding>(&type);
  if (blocks == nullptr || (*blocks)->can_decode()) return;
  fail(ErrorKind::kUnsupported,
       "tensor '" + printable(name) + "': expected a type that Halftone decodes, found " +
           std::string((*blocks)->name) + "; quantize the model to another, such as Q4_K");
}

/// A tensor of any container.
struct StoredTensor {
  Extents shape;
  StorageType type;
  SharedBytes bytes;
  bool is_used = false;
  SharedBytes scales{};  ///< of MXFP4 blocks that are kept apart from them
};

/// The tensors of a file, and what their names mean.
struct Container {
  Naming naming = Naming::kGguf;
  std::string prefix{};       ///< of names, except the head's
  std::string head_prefix{};  ///< of the head's
  std::map<std::string, StoredTensor, std::less<>> tensors{};
  std::vector<std::string> order{};
  void add(std::string name, StoredTensor tensor) {
    order.push_back(name);
    tensors.emplace(std::move(name), std::move(tensor));
  }
};

Container container_of(const formats::GgufFile& file) {
  Container container;
  for (const auto& tensor : file.tensors()) {
    container.add(tensor.name, {tensor.shape, numerics::without_owner(*tensor.type), tensor.bytes});
  }
  // The description has these.
  for (const char* name :
       {gguf_key::kDivisors, gguf_key::kLongDivisors, gguf_key::kShortDivisors}) {
    const auto found = container.tensors.find(name);
    if (found != container.tensors.end()) found->second.is_used = true;
  }
  return container;
}

Container container_of(const ModelFile& file) {
  Container container;
  for (ModelFile::Entry& entry : file.tensors()) {
    StorageType type = entry.type;
    if (entry.encoding != nullptr) type = std::move(entry.encoding);
    container.add(std::move(entry.name),
                  {std::move(entry.shape), std::move(type), std::move(entry.bytes)});
  }
  return container;
}

Container container_of(const Llama2cFile& file) {
  Container container;
  for (const Llama2cTensor& tensor : file.tensors) {
    container.add(tensor.name, {tensor.shape, formats::SafetensorsType::kF32, tensor.bytes});
  }
  return container;
}

constexpr std::string_view kBlocksEnd = "_blocks";

/// NAME_blocks [experts, outputs, blocks, 16] and NAME_scales [experts, outputs, blocks] as NAME.
void join_scales(Container& container) {
  const numerics::SharedBlockEncoding mxfp4 = numerics::without_owner(*formats::gguf_type("MXFP4"));
  std::vector<std::string> order;
  for (const std::string& name : container.order) {
    if (!name.ends_with(kBlocksEnd)) {
      order.push_back(name);
      continue;
    }
    const std::string joined = name.substr(0, name.size() - kBlocksEnd.size());
    const auto blocks = container.tensors.find(name);
    const auto scales = container.tensors.find(joined + "_scales");
    Extents shape = blocks->second.shape;
    const bool is_pair = scales != container.tensors.end() && shape.size() == 4 &&
                         shape[3] == kMxfp4Bytes &&
                         blocks->second.type == StorageType(formats::SafetensorsType::kU8) &&
                         scales->second.type == StorageType(formats::SafetensorsType::kU8) &&
                         scales->second.shape == Extents{shape[0], shape[1], shape[2]};
    order.push_back(name);
    if (!is_pair) continue;
    order.back() = joined;
    const Extents whole = {shape[0], shape[1], shape[2] * mxfp4->block};
    container.tensors.insert_or_assign(
        joined, StoredTensor{whole, mxfp4, blocks->second.bytes, false, scales->second.bytes});
    container.tensors.erase(joined + "_scales");
    container.tensors.erase(name);
  }
  std::erase_if(order, [&](const std::string& name) { return !container.tensors.contains(name); });
  container.order = std::move(order);
}

Container container_of(const formats::SafetensorsFile& file, bool is_gpt2) {
  Container container;
  container.naming = is_gpt2 ? Naming::kHfGpt2 : Naming::kHf;
  for (const auto& tensor : file.tensors()) {
    container.add(tensor.name, {tensor.shape, tensor.type, tensor.bytes});
  }
  join_scales(container);
  const std::vector<std::string> tables =
      is_gpt2 ? std::vector<std::string>{"wte.weight"}
              : std::vector<std::string>{"embed_tokens.weight", "embeddings.weight"};
  // The second is the head's.
  constexpr std::pair<const char*, const char*> kPrefixes[] = {
      {"model.", ""},
      {"transformer.", ""},
      {"backbone.", ""},
      {"", ""},
      {"language_model.model.", "language_model."},
      {"model.language_model.", ""}};
  for (const auto& [prefix, head_prefix] : kPrefixes) {
    const auto has = [&, start = std::string(prefix)](const std::string& table) {
      return container.tensors.contains(start + table);
    };
    if (std::ranges::none_of(tables, has)) continue;
    container.prefix = prefix;
    container.head_prefix = head_prefix;
    return container;
  }
  container.prefix = is_gpt2 ? "transformer." : "model.";
  return container;
}

/// Finds the tensors of a description in a container.
class WeightFinder {
 public:
  WeightFinder(const Description& description, Container& container)
      : description_(description), container_(container) {}

  std::map<WeightId, Weight> find_all() {
    std::map<WeightId, Weight> weights;
    for (const WeightId& id : needed_weights(description_)) {
      if (auto found = find(id)) weights.emplace(id, std::move(*found));
    }
    if (problems_ == 0) return weights;
    if (problems_ > kMaxNamed) {
      message_ += "; and " + std::to_string(problems_ - kMaxNamed) + " more";
    }
    fail(ErrorKind::kFormat, message_);
  }

 private:
  std::optional<Weight> find(const WeightId& id) {
    const std::vector<TensorPlace> places = places_of(description_, container_.naming, id);
    const Extents shape = shape_of(description_, id);
    std::string problem;
    for (TensorPlace place : places) {
      const std::string name = prefix_of(id) + place.name;
      const auto found = container_.tensors.find(name);
      if (found == container_.tensors.end()) continue;
      // Blocks go along the inputs.
      if (has_scales(found->second)) place.is_transposed = false;
      const Extents stored = stored_shape(place, shape);
      if (is_same(found->second.shape, stored, id.role)) {
        found->second.is_used = true;
        return part_of(name, found->second, place, id);
      }
      if (!problem.empty()) continue;
      problem = "tensor '" + name + "': expected shape " + shape_text(stored) + ", found " +
                shape_text(found->second.shape);
    }
    if (problem.empty() && id.role == WeightRole::kKeyValue) {
      if (auto joined = joined_key_values(id)) return joined;
    }
    if (problem.empty()) {
      const std::string name =
          places.empty() ? "" : "tensor '" + prefix_of(id) + places[0].name + "': ";
      problem = name + to_string(id) + ": is missing";
    }
    add_problem(problem);
    return std::nullopt;
  }

  /// Newer GGUF files have keys, transposed, and values in two tensors: [heads, latent, key] and
  /// [heads, value, latent]. They are decoded into one matrix, of each head the keys first.
  std::optional<Weight> joined_key_values(const WeightId& id) {
    const Description& d = description_;
    const std::string block = "blk." + std::to_string(id.block) + ".";
    const std::size_t key_width = d.head_width - d.rotary_dims;
    const auto keys = decoded(block + "attn_k_b.weight", {d.heads, d.latent_width, key_width});
    const auto values =
        decoded(block + "attn_v_b.weight", {d.heads, d.value_width, d.latent_width});
    if (keys.empty() || values.empty()) return std::nullopt;
    const std::size_t latent = d.latent_width;
    std::vector<float> joined;
    joined.reserve(keys.size() + values.size());
    for (std::size_t head = 0; head < d.heads; ++head) {
      const float* key = keys.data() + head * latent * key_width;
      for (std::size_t row = 0; row < key_width; ++row) {
        for (std::size_t i = 0; i < latent; ++i) joined.push_back(key[i * key_width + row]);
      }
      const float* value = values.data() + head * d.value_width * latent;
      joined.insert(joined.end(), value, value + d.value_width * latent);
    }
    const auto bytes = std::as_bytes(std::span(joined));
    const std::string name = block + "attn_kv_b.weight";
    return Weight{.name = name,
                  .tensor = name,
                  .shape = shape_of(d, id),
                  .type = formats::SafetensorsType::kF32,
                  .bytes = own_bytes({bytes.begin(), bytes.end()})};
  }
  /// The elements of a tensor; empty if there is none of this shape.
  std::vector<float> decoded(const std::string& name, const Extents& shape) {
    const auto found = container_.tensors.find(name);
    if (found == container_.tensors.end() || found->second.shape != shape) return {};
    check_type(name, found->second.type);
    found->second.is_used = true;
    std::vector<float> values(shape[0] * shape[1] * shape[2]);
    decode_elements(found->second.type, found->second.bytes, values);
    return values;
  }

  static bool has_scales(const StoredTensor& tensor) { return !tensor.scales.bytes.empty(); }
  [[nodiscard]] const std::string& prefix_of(const WeightId& id) const {
    return id.role == WeightRole::kHead ? container_.head_prefix : container_.prefix;
  }
  /// The shape that the tensor of a place has in the file.
  static Extents stored_shape(const TensorPlace& place, Extents shape) {
    shape[0] = place.outputs;
    if (place.is_transposed) std::swap(shape[0], shape[1]);
    if (place.stacked != 0) shape.insert(shape.begin(), place.stacked);
    return shape;
  }
  /// Files may leave out the first axis of a matrix with one row. Those of Hugging Face have
  /// kernels of short convolutions as [channels, 1, taps], GGUF files vectors of recurrences as
  /// matrices.
  static bool is_same(const Extents& found, const Extents& expected, WeightRole role) {
    if (found == expected) return true;
    if (role >= WeightRole::kMixerInput && role <= WeightRole::kMixerOutput) {
      const auto size = [](const Extents& of) {
        return std::accumulate(of.begin(), of.end(), std::size_t{1}, std::multiplies());
      };
      const bool is_vector = expected.size() == 1 && found.size() == 2;
      const bool is_kernel = found.size() == 3 && found[0] == expected[0] && found[1] == 1;
      return (is_vector || is_kernel) && size(found) == size(expected);
    }
    return expected.size() == 2 && expected[0] == 1 && found.size() == 1 && found[0] == expected[1];
  }

  Weight part_of(const std::string& name, const StoredTensor& tensor, const TensorPlace& place,
                 const WeightId& id) {
    check_type(name, tensor.type);
    Weight weight{.name = name,
                  .tensor = name,
                  .shape = shape_of(description_, id),
                  .type = tensor.type,
                  .bytes = tensor.bytes};
    const std::size_t outputs = weight.shape[0];
    const std::size_t end = place.begin + outputs;
    if (place.stacked != 0) weight.name += "[" + std::to_string(id.expert) + "]";
    if (place.step != 1) {
      weight.name += "[" + std::to_string(place.begin) + "::" + std::to_string(place.step) + "]";
    } else if (outputs != place.outputs) {
      weight.name += "[" + std::to_string(place.begin) + ":" + std::to_string(end) + "]";
    }
    weight.factor = factor_of(name);
    weight.is_transposed = place.is_transposed;
    if (place.is_transposed || place.step != 1 || has_scales(tensor)) {
      take_whole(tensor, place, id.expert, weight);
      return weight;
    }
    const std::size_t inputs = weight.shape.size() == 1 ? 1 : weight.shape[1];
    const std::size_t first = (place.stacked != 0 ? id.expert * place.outputs : 0) + place.begin;
    if (!is_whole_blocks(weight.type, first * inputs) ||
        !is_whole_blocks(weight.type, outputs * inputs)) {
      fail(ErrorKind::kUnsupported,
           "tensor '" + printable(weight.name) + "': the part begins or ends inside a block");
    }
    weight.first_row = first;
    weight.bytes = tensor.bytes.part(bytes_of(weight.type, first * inputs),
                                     bytes_of(weight.type, outputs * inputs));
    return weight;
  }

  /// A view of all outputs of an expert, of which the weight has some.
  static void take_whole(const StoredTensor& tensor, const TensorPlace& place, std::size_t expert,
                         Weight& weight) {
    weight.begin = place.begin;
    weight.step = place.step;
    weight.stored_outputs = place.outputs;
    if (place.stacked == 0) return;
    const std::size_t inputs = weight.shape.size() == 1 ? 1 : weight.shape[1];
    const std::size_t size = inputs * place.outputs;
    weight.first_row = expert * (place.is_transposed ? inputs : place.outputs);
    if (has_scales(tensor)) {
      const std::size_t blocks = size / (kMxfp4Bytes * 2);
      weight.bytes = tensor.bytes.part(expert * blocks * kMxfp4Bytes, blocks * kMxfp4Bytes);
      weight.scales = tensor.scales.part(expert * blocks, blocks);
      return;
    }
    const std::size_t bytes = bytes_of(tensor.type, size);
    weight.bytes = tensor.bytes.part(expert * bytes, bytes);
  }

  /// BitNet's files keep a factor beside a matrix: NAME.scale beside NAME.weight.
  float factor_of(const std::string& name) {
    constexpr std::string_view kSuffix = ".weight";
    if (container_.naming != Naming::kGguf || !name.ends_with(kSuffix)) return 1;
    const auto found =
        container_.tensors.find(name.substr(0, name.size() - kSuffix.size()) + ".scale");
    if (found == container_.tensors.end() || found->second.shape != Extents{1}) return 1;
    found->second.is_used = true;
    float factor = 1;
    decode_elements(found->second.type, found->second.bytes, {&factor, 1});
    return factor;
  }

  void add_problem(const std::string& problem) {
    if (problems_++ < kMaxNamed) message_ += (message_.empty() ? "" : "; ") + problem;
  }

  const Description& description_;
  Container& container_;
  std::string message_;
  std::size_t problems_ = 0;
};

/// Tensors that files have for programs of their own: masks and frequencies of positions.
bool is_harmless(std::string_view name) {
  constexpr std::string_view kEnds[] = {"rotary_emb.inv_freq", "attn_rot_embd.weight", ".attn.bias",
                                        ".attn.masked_bias"};
  return std::ranges::any_of(kEnds, [&](std::string_view end) { return name.ends_with(end); });
}

/// Keys and values in blocks that read those of others, which older files have.
bool is_of_unread_keys(const Description& d, std::string_view name, std::size_t block) {
  constexpr std::string_view kParts[] = {".attn_k", ".attn_v", ".self_attn.k_", ".self_attn.v_"};
  return block < d.blocks && d.shares_keys(block) &&
         std::ranges::any_of(kParts, [&](std::string_view part) {
           return name.find(part) != std::string_view::npos;
         });
}

/// The block in whose tensors a name is; nothing for other names.
std::optional<std::size_t> block_of(const Container& container, std::string_view name) {
  constexpr std::string_view kWords[] = {"blk.", "layers.", "h."};
  if (!name.starts_with(container.prefix)) return std::nullopt;
  name.remove_prefix(container.prefix.size());
  for (const std::string_view word : kWords) {
    std::size_t block = 0;
    if (!name.starts_with(word)) continue;
    const auto [end, error] =
        std::from_chars(name.data() + word.size(), name.data() + name.size(), block);
    if (error == std::errc()) return block;
  }
  return std::nullopt;
}

/// A tensor that would change what the blocks compute if they read it.
[[noreturn]] void fail_unused(const Description& d, const Container& container,
                              const std::string& name, std::size_t block) {
  const std::string tensor = "tensor '" + printable(name) + "': ";
  if (block < d.blocks) {
    fail(ErrorKind::kUnsupported,
         tensor + "the blocks of " + d.architecture + " that are described here do not read it");
  }
  const char* key = container.naming == Naming::kGguf ? gguf_key::kBlocks
                    : container.naming == Naming::kHf ? "num_hidden_layers"
                                                      : "n_layer";
  fail(ErrorKind::kUnsupported, tensor + "is of block " + std::to_string(block) + ", but '" + key +
                                    "' says " + std::to_string(d.blocks) + " blocks");
}

std::map<WeightId, Weight> find_weights(const Description& description, Container container,
                                        std::vector<std::string>& unused) {
  auto weights = WeightFinder(description, container).find_all();
  for (const std::string& name : container.order) {
    if (container.tensors.at(name).is_used) continue;
    const auto block = block_of(container, name);
    const bool is_known = block && *block >= description.blocks &&
                          *block - description.blocks < description.unused_blocks;
    if (block && is_of_unread_keys(description, name, *block)) continue;
    if (block && !is_known && !is_harmless(name)) fail_unused(description, container, name, *block);
    unused.push_back(name);
  }
  return weights;
}

/// The experts of a block, in their order.
using ExpertList = std::vector<const Weight*>;

bool is_stored_alike(const ExpertList& experts) {
  return std::ranges::all_of(experts, [&](const Weight* each) {
    return each->type == experts[0]->type && each->factor == experts[0]->factor &&
           !each->is_transposed && (each->step == 1 || !each->scales.bytes.empty());
  });
}

/// The bytes of all experts.
SharedBytes joined_bytes(const ExpertList& experts) {
  const SharedBytes& first = experts[0]->bytes;
  const std::size_t size = first.bytes.size();
  const std::size_t all = size * experts.size();
  std::size_t e = 0;
  const bool follow_each_other = std::ranges::all_of(experts, [&](const Weight* each) {
    return each->bytes.owner == first.owner &&
           each->bytes.bytes.data() == first.bytes.data() + size * e++;
  });
  if (follow_each_other) {
    return {first.owner,
            {first.bytes.data(), all},
            experts.back()->bytes.readable_behind,
            first.is_file};
  }
  constexpr std::size_t kBehind = 64;  // that kernels may read
  std::vector<std::byte> copy;
  copy.reserve(all + kBehind);
  for (const Weight* each : experts) {
    copy.insert(copy.end(), each->bytes.bytes.begin(), each->bytes.bytes.end());
  }
  copy.resize(all + kBehind);
  return own_bytes(std::move(copy)).part(0, all);
}

/// The blocks of all experts with their scales.
SharedBytes packed_bytes(const ExpertList& experts) {
  std::vector<std::byte> all;
  for (const Weight* each : experts) {
    const SharedBytes more = each->packed();
    all.insert(all.end(), more.bytes.begin(), more.bytes.end());
  }
  constexpr std::size_t kBehind = 64;  // that kernels may read
  const std::size_t size = all.size();
  all.resize(size + kBehind);
  return own_bytes(std::move(all)).part(0, size);
}

/// The elements of all experts as float32.
SharedBytes decoded_bytes(const ExpertList& experts) {
  std::vector<float> values;
  for (const Weight* each : experts) {
    const std::vector<float> more = each->decode();
    values.insert(values.end(), more.begin(), more.end());
  }
  const auto bytes = std::as_bytes(std::span(values));
  return own_bytes({bytes.begin(), bytes.end()});
}

/// The name that two experts share, with * where their numbers are.
std::string name_of_both(std::string first, std::string_view second) {
  const auto at = std::ranges::mismatch(first, second).in1;
  if (at != first.end()) *at = '*';
  return first;
}

}  // namespace

Weights::Weights(const Description& description, const formats::GgufFile& file)
    : weights_(find_weights(description, container_of(file), unused_)) {}

Weights::Weights(const Description& description, const formats::SafetensorsFile& file)
    : weights_(find_weights(
          description,
          container_of(file, architecture_of_gguf(description.architecture).hf_transposes),
          unused_)) {}

Weights::Weights(const Description& description, const Llama2cFile& file)
    : weights_(find_weights(description, container_of(file), unused_)) {}

Weights::Weights(const Description& description, const ModelFile& file)
    : weights_(find_weights(description, container_of(file), unused_)) {}

const Weight& Weights::at(const WeightId& id) const {
  auto found = weights_.find(id);
  // The head of a tied model is its table.
  if (found == weights_.end() && id == WeightId{.role = WeightRole::kHead}) {
    found = weights_.find({.role = WeightRole::kTokenEmbedding});
  }
  if (found == weights_.end()) fail(ErrorKind::kInternal, to_string(id) + ": is not needed");
  return found->second;
}

Weight Weights::experts(WeightRole role, std::size_t block, Part part) const {
  ExpertList all = {&at({.role = role, .block = block, .part = part})};
  const auto next = [&] { return weights_.find({role, block, part, all.size()}); };
  for (auto found = next(); found != weights_.end(); found = next()) {
    all.push_back(&found->second);
  }
  Weight joined = *all[0];
  joined.shape.insert(joined.shape.begin(), all.size());
  if (all.size() > 1) joined.name = name_of_both(joined.name, all[1]->name);
  const bool has_scales = !joined.scales.bytes.empty();
  joined.scales = {};
  joined.begin = 0;
  joined.step = 1;
  if (is_stored_alike(all)) {
    joined.bytes = has_scales ? packed_bytes(all) : joined_bytes(all);
    return joined;
  }
  joined.type = formats::SafetensorsType::kF32;
  joined.is_transposed = false;
  joined.factor = 1;
  joined.bytes = decoded_bytes(all);
  return joined;
}

}  // namespace halftone::lm
