// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/run/content_hash.h"

#include <cstdint>
#include <span>

#include "halftone/base/hash.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/ir/text.h"
#include "halftone/numerics/vector_basis.h"
#include "halftone/train/teacher/score_cache.h"

namespace halftone::train {
namespace {

template <typename T>
void add_numbers(Hash& hash, std::span<T> numbers) {
  hash.add(std::as_bytes(numbers));
}

void add_encoding(Hash& hash, const numerics::MatrixEncoding* encoding) {
  if (encoding == nullptr) return;
  for (const numerics::StoredNumbers* numbers : {&encoding->scales, &encoding->offsets}) {
    for (std::size_t i = 0; i < numbers->size(); ++i) {
      const float number = (*numbers)[i];
      add_numbers(hash, std::span(&number, 1));
    }
  }
}

void add_constant(Hash& hash, const ir::Constant& constant) {
  if (const auto* tensor = std::get_if<ir::Tensor>(&constant)) {
    hash.add(tensor->bytes());
    return;
  }
  if (const auto* blocks = std::get_if<ir::BlockTensor>(&constant)) {
    hash.add(blocks->encoding->name);
    hash.add(std::as_bytes(std::span(&blocks->encoding->factor, 1)));
    if (blocks->encoding->basis != nullptr) add_numbers(hash, blocks->encoding->basis->matrix());
    hash.add(blocks->bytes.bytes);
    return;
  }
  const auto& encoded = std::get<ir::EncodedTensor>(constant);
  add_encoding(hash, encoded.encoding.get());
  const BitMatrix& planes = encoded.codes.planes;
  for (std::size_t row = 0; row < planes.rows(); ++row) add_numbers(hash, planes.row(row));
}

}  // namespace

std::string to_text(const Hash& hash) {
  std::string text(16, '0');
  for (std::size_t i = 0; i < text.size(); ++i) {
    text[i] = "0123456789abcdef"[hash.value() >> (60 - 4 * i) & 15];
  }
  return text;
}

std::string content_hash(const ir::Graph& graph) {
  Hash hash;
  hash.add(ir::to_text(graph));
  for (std::size_t i = 0; i < graph.num_values(); ++i) {
    const auto id = static_cast<ir::ValueId>(i);
    const ir::Constant* constant = graph.constant(id);
    if (constant != nullptr && graph.num_uses(id) > 0) add_constant(hash, *constant);
  }
  for (const ir::NodeId id : graph.topological_order()) {
    const auto* encoding = ir::activation_encoding(graph.node(id).op);
    if (encoding != nullptr) add_encoding(hash, encoding->get());
  }
  return to_text(hash);
}

std::string content_hash(const data::Dataset& data) {
  Hash hash;
  const std::uint64_t samples = fingerprint(data);
  add_numbers(hash, std::span(&samples, 1));
  for (std::size_t sample = 0; data.has_labels() && sample < data.size(); ++sample) {
    const std::int64_t label = data.label(sample);
    add_numbers(hash, std::span(&label, 1));
  }
  return to_text(hash);
}

}  // namespace halftone::train
