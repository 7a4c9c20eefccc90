// SPDX-License-Identifier: Apache-2.0
// What a new GGUF file of a model has: keys that describe it, and which tensors hold its weights.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "halftone/formats/gguf/gguf_writer.h"
#include "halftone/lm/model/description.h"
#include "halftone/lm/model/tensor_names.h"

namespace halftone::lm {

/// A tensor of a new file.
struct NewGgufPlace {
  std::string name;
  std::vector<std::size_t> shape;  ///< the outermost extent first
  /// Whose rows it has, one after the other: one matrix or vector, or those of q, k and v, of gate
  /// and up, of all experts.
  std::vector<WeightId> parts;
};

/// The tensors for all weights of a description, as llama.cpp's convert_hf_to_gguf.py names and
/// merges them.
std::vector<NewGgufPlace> new_gguf_places(const Description& description);

/// The rows of a weight in the order in which a file of this architecture has them: element i is
/// the row of the model that comes i-th. Files of llama have neighbours in place of halves, see
/// Description::pairing; tables of blocks' inputs have a row for each token. Empty: as they are.
std::vector<std::size_t> new_gguf_rows(const Description& description, const WeightId& id);

/// The factors of rotary positions, as tensors of float32; none for most models.
std::vector<formats::NewGgufTensor> new_gguf_divisors(const Description& description);

/// Tensors of zeros that llama.cpp wants and nothing reads: keys and values of the blocks of Gemma
/// 3n that read those of others.
std::vector<formats::NewGgufTensor> new_gguf_unread(const Description& description);

/// What describe_gguf() says of a file with these keys and tensors: the description with numbers
/// rounded to float32, gains that are whole and rows in the order of new_gguf_rows().
Description described_by_gguf(const Description& description);

/// The keys that describe a model: general.architecture, general.type, general.name, and those of
/// the architecture.
/// @param name  of the model
/// @throws Error kUnsupported if files of this architecture have no key for what the model
/// computes:
///         says what
formats::GgufKeys new_gguf_keys(const Description& description, const std::string& name);

/// What llama.cpp leaves out of a file that says it; empty for most models.
std::string new_gguf_warning(const Description& description);

}  // namespace halftone::lm
