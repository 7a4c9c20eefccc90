// SPDX-License-Identifier: Apache-2.0
// Writes files of language models for tests, and small models.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "halftone/formats/gguf/testing.h"
#include "halftone/formats/safetensors/safetensors_writer.h"
#include "halftone/lm/model/architectures.h"
#include "halftone/lm/model/tensor_names.h"
#include "halftone/lm/model/weights.h"

namespace halftone::lm {

/// A tensor of float32.
struct NamedTensor {
  std::string name;
  std::vector<std::size_t> shape;  ///< the outermost extent first
  std::vector<float> values;
};

/// A tensor with the elements first, first + 1, ...
inline NamedTensor counting(const std::string& name, const std::vector<std::size_t>& shape,
                            float first = 0) {
  std::size_t size = 1;
  for (const std::size_t extent : shape) size *= extent;
  NamedTensor tensor{name, shape, std::vector<float>(size)};
  std::iota(tensor.values.begin(), tensor.values.end(), first);
  return tensor;
}

/// The bytes of the elements.
inline ByteSource source_of(const NamedTensor& tensor) {
  const auto bytes = std::as_bytes(std::span(tensor.values));
  return halftone::source_of(own_bytes({bytes.begin(), bytes.end()}));
}

/// Keys and tensors of a GGUF file.
class GgufModel {
 public:
  explicit GgufModel(const std::string& architecture) : prefix_(architecture + ".") {
    keys_.set("general.architecture", architecture);
  }
  /// Sets a key of the architecture: a text, a number or a list of numbers.
  template <typename T>
  GgufModel& set(const std::string& key, const T& value) {
    keys_.set(prefix_ + key, value);
    return *this;
  }
  /// Sets a key of another part of the file.
  template <typename T>
  GgufModel& other(const std::string& key, const T& value) {
    keys_.set(key, value);
    return *this;
  }
  GgufModel& whole(const std::string& key, std::uint32_t value) { return set(key, value); }
  GgufModel& number(const std::string& key, float value) { return set(key, value); }
  /// A tensor of zero bytes in another type.
  GgufModel& zeros(const std::string& name, const std::vector<std::size_t>& shape,
                   const formats::GgufType& type) {
    std::size_t size = 1;
    for (const std::size_t extent : shape) size *= extent;
    tensors_.push_back(
        {name, shape, &type,
         halftone::source_of(own_bytes(std::vector<std::byte>(type.bytes_of(size))))});
    return *this;
  }
  /// A tensor as it is stored.
  GgufModel& stored(const std::string& name, const std::vector<std::size_t>& shape,
                    const formats::GgufType& type, std::vector<std::byte> bytes) {
    tensors_.push_back({name, shape, &type, halftone::source_of(own_bytes(std::move(bytes)))});
    return *this;
  }
  GgufModel& tensor(const NamedTensor& tensor) {
    tensors_.push_back({tensor.name, tensor.shape, formats::gguf_type(0), source_of(tensor)});
    return *this;
  }

  [[nodiscard]] formats::GgufFile file() const { return formats::gguf_of(keys_, tensors_); }
  [[nodiscard]] std::vector<std::byte> bytes() const {
    return formats::gguf_bytes(keys_, tensors_);
  }

 private:
  std::string prefix_;
  formats::GgufKeys keys_;
  std::vector<formats::NewGgufTensor> tensors_;
};

/// Weights below 0.5, gains below 2.
class RandomWeights {
 public:
  std::vector<float> operator()(const WeightId& id, std::size_t size) {
    std::vector<float> values(size);
    for (float& value : values) {
      value = std::sin(static_cast<float>(++next_)) * (is_norm(id.role) ? 2.0F : 0.5F);
    }
    return values;
  }

 private:
  int next_ = 0;
};

struct SmallSizes {
  std::size_t width = 8;
  std::size_t inner = 12;
  std::size_t heads = 4;
  std::size_t kv_heads = 2;
  std::size_t head_width = 4;
  std::size_t vocabulary = 11;
  std::size_t experts = 0;  ///< half of them are active
  bool ties_embeddings = true;
};

/// Two blocks of an architecture.
inline Description small_description(const std::string& architecture_name,
                                     const SmallSizes& sizes = {}) {
  const Architecture& architecture = architecture_of_gguf(architecture_name);
  Description d = start_description(architecture);
  d.blocks = 2;
  d.width = sizes.width;
  d.vocabulary = sizes.vocabulary;
  d.context = 16;
  d.heads = sizes.heads;
  d.kv_heads = sizes.kv_heads;
  d.head_width = sizes.head_width;
  d.inner = sizes.inner;
  d.experts = sizes.experts;
  d.active_experts = sizes.experts / 2;
  d.ties_embeddings = sizes.ties_embeddings;
  if (architecture_name == "bitnet") d.rotary.base = 500000;  // that of its published model
  complete(d, architecture);
  return d;
}

/// Blocks of two kinds, of which the last two read keys of the first two, with inputs of their own.
inline Description per_block_description() {
  Description d = small_description("gemma4");
  d.blocks = 4;
  d.window = 2;
  d.windowed = {true, false, true, false};
  d.full_head_width = 8;
  d.full_kv_heads = 1;
  d.keys_are_values = true;
  d.sharing_blocks = 2;
  d.sharing_inner = 20;
  d.block_input_width = 3;
  d.has_block_factor = true;
  check(d);
  return d;
}

/// Blocks with streams and sparse gates, of which the last two read keys of the first two.
inline Description stream_description(const SmallSizes& sizes = {}) {
  Description d = small_description("gemma3n", sizes);
  d.blocks = 4;
  d.window = 2;
  d.windowed = {true, false, true, false};
  d.sharing_blocks = 2;
  d.block_input_width = 3;
  d.streams = 3;
  d.scales_first_stream = true;
  d.bypass_rank = 5;
  d.gate_cutoffs = {0.5, Description::kNoCutoff, -0.25, Description::kNoCutoff};
  d.inners = {sizes.inner, 2 * sizes.inner, sizes.inner, sizes.inner};
  check(d);
  return d;
}

/// A tensor for each that a description needs, as GGUF files have them, with numbers from -1 to 1.
inline std::vector<NamedTensor> small_tensors(const Description& d) {
  std::vector<NamedTensor> tensors;
  for (const WeightId& id : needed_weights(d)) {
    const TensorPlace place = places_of(d, Naming::kGguf, id)[0];
    auto shape = shape_of(d, id);
    if (place.stacked != 0) {
      if (id.expert != 0) continue;
      shape.insert(shape.begin(), place.stacked);
    }
    tensors.push_back(counting(place.name, shape));
    for (float& value : tensors.back().values) {
      value = std::sin(value + static_cast<float>(id.block));
    }
  }
  return tensors;
}

inline Weights weights_of(const Description& d, const std::vector<NamedTensor>& tensors) {
  GgufModel model(d.architecture);
  for (const NamedTensor& tensor : tensors) model.tensor(tensor);
  return {d, model.file()};
}
inline Weights small_weights(const Description& d) { return weights_of(d, small_tensors(d)); }

/// The bytes of a safetensors file.
inline std::vector<std::byte> safetensors_bytes(const std::vector<NamedTensor>& tensors) {
  std::vector<formats::NewSafetensorsTensor> written;
  for (const NamedTensor& tensor : tensors) {
    written.push_back(
        {tensor.name, formats::SafetensorsType::kF32, tensor.shape, source_of(tensor)});
  }
  return collect([&](const ByteSink& sink) { formats::write_safetensors(sink, {}, written); });
}

}  // namespace halftone::lm
