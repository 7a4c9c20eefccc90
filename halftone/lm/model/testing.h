// SPDX-License-Identifier: Apache-2.0
// Writes files of language models for tests, and small models.
#pragma once

#include <cmath>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "halftone/formats/gguf/gguf_file.h"
#include "halftone/formats/gguf/testing.h"
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

/// Keys and tensors of a GGUF file.
class GgufModel {
 public:
  explicit GgufModel(const std::string& architecture) : prefix_(architecture + ".") {
    keys_.text_key("general.architecture", architecture);
  }
  GgufModel& whole(const std::string& key, std::uint32_t value) {
    keys_.int_key(prefix_ + key, value);
    return counted();
  }
  GgufModel& number(const std::string& key, float value) {
    keys_.text(prefix_ + key).number<std::uint32_t>(6).number(value);
    return counted();
  }
  GgufModel& flag(const std::string& key, bool value) {
    keys_.text(prefix_ + key).number<std::uint32_t>(7).number<std::uint8_t>(value ? 1 : 0);
    return counted();
  }
  GgufModel& text(const std::string& key, const std::string& value) {
    keys_.text_key(prefix_ + key, value);
    return counted();
  }
  /// @param type  of the elements: 5 for integers, 7 for booleans
  template <typename T>
  GgufModel& list(const std::string& key, std::uint32_t type, const std::vector<T>& values) {
    keys_.text(prefix_ + key).number<std::uint32_t>(9).number(type);
    keys_.number<std::uint64_t>(values.size());
    for (const T value : values) keys_.number(value);
    return counted();
  }
  GgufModel& tensor(NamedTensor tensor) {
    tensors_.push_back(std::move(tensor));
    return *this;
  }

  [[nodiscard]] formats::GgufFile file() const {
    return formats::GgufFile::parse(own_bytes(bytes()));
  }
  [[nodiscard]] std::vector<std::byte> bytes() const {
    formats::GgufBytes bytes;
    bytes.head(tensors_.size(), num_keys_).raw(keys_.bytes());
    std::uint64_t offset = 0;
    for (const NamedTensor& tensor : tensors_) {
      bytes.tensor(tensor.name, {tensor.shape.rbegin(), tensor.shape.rend()}, 0, offset);
      offset += (tensor.values.size() * sizeof(float) + 31) / 32 * 32;
    }
    bytes.align(32);
    for (const NamedTensor& tensor : tensors_) {
      for (const float value : tensor.values) bytes.number(value);
      bytes.align(32);
    }
    return bytes.bytes();
  }

 private:
  GgufModel& counted() {
    ++num_keys_;
    return *this;
  }

  std::string prefix_;
  formats::GgufBytes keys_;
  std::uint64_t num_keys_ = 1;
  std::vector<NamedTensor> tensors_;
};

/// Two blocks of an architecture.
inline Description small_description(const std::string& architecture_name) {
  const Architecture& architecture = architecture_of_gguf(architecture_name);
  Description d = start_description(architecture);
  d.blocks = 2;
  d.width = 8;
  d.vocabulary = 11;
  d.context = 16;
  d.heads = 4;
  d.kv_heads = 2;
  d.head_width = 4;
  d.inner = 12;
  d.ties_embeddings = true;
  complete(d, architecture);
  return d;
}

/// A tensor for each that a description needs, as GGUF files have them, with numbers from -1 to 1.
inline std::vector<NamedTensor> small_tensors(const Description& d) {
  std::vector<NamedTensor> tensors;
  for (const WeightId& id : needed_weights(d)) {
    const Place place = places_of(d, Naming::kGguf, id)[0];
    auto shape = shape_of(d, id);
    if (place.has_experts) {
      if (id.expert != 0) continue;
      shape.insert(shape.begin(), d.experts);
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
  std::string head = "{";
  std::size_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    std::string shape;
    for (const std::size_t extent : tensor.shape) {
      shape += (shape.empty() ? "" : ",") + std::to_string(extent);
    }
    const std::size_t end = offset + tensor.values.size() * sizeof(float);
    head += (head.size() > 1 ? ",\"" : "\"") + tensor.name + R"(":{"dtype":"F32","shape":[)" +
            shape + R"(],"data_offsets":[)" + std::to_string(offset) + "," + std::to_string(end) +
            "]}";
    offset = end;
  }
  head += "}";
  formats::GgufBytes bytes;
  bytes.text(head);
  for (const NamedTensor& tensor : tensors) {
    for (const float value : tensor.values) bytes.number(value);
  }
  return bytes.bytes();
}

}  // namespace halftone::lm
