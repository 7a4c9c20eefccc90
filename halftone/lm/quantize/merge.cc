// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/merge.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/lm/quantize/plain_types.h"

namespace halftone::lm {
namespace {

const WeightType& type_of_merged(WeightRole role, const Weight& weight) {
  if (is_router(role)) return *plain_type("F32");
  const auto* plain = std::get_if<formats::SafetensorsType>(&weight.type);
  const std::string_view name = plain != nullptr
                                    ? formats::to_string(*plain)
                                    : std::get<numerics::SharedBlockEncoding>(weight.type)->name;
  const WeightType* type = plain_type(name);
  return type != nullptr ? *type : *plain_type("F16");
}

/// Adds b a to a matrix.
void add_change(const LowRankChange& change, std::size_t cols, std::vector<float>& matrix) {
  parallel_for(matrix.size() / cols, [&](std::size_t r) {
    std::vector<double> row(matrix.begin() + static_cast<std::ptrdiff_t>(r * cols),
                            matrix.begin() + static_cast<std::ptrdiff_t>((r + 1) * cols));
    for (std::size_t k = 0; k < change.rank; ++k) {
      const double factor = change.b[r * change.rank + k];
      for (std::size_t c = 0; c < cols; ++c) row[c] += factor * change.a[k * cols + c];
    }
    for (std::size_t c = 0; c < cols; ++c) matrix[r * cols + c] = static_cast<float>(row[c]);
  });
}

FittedMatrix merged(WeightRole role, const Weight& weight, const LowRankChange* change) {
  const WeightType& type = type_of_merged(role, weight);
  FittedMatrix matrix{&type, weight.outputs(), weight.inputs(), {}};
  std::vector<float> values = weight.decode();
  if (change != nullptr) add_change(*change, matrix.cols, values);
  matrix.encoded = {encoding_of(type, 1), own_bytes(plain_bytes(values, type))};
  for (const float value : decode(matrix)) {
    if (std::isfinite(value)) continue;
    fail(ErrorKind::kUnsupported, "a number beyond the range of " + type.name);
  }
  return matrix;
}

}  // namespace

FittedMatrices merge(const ModelParts& model, const Adapter& adapter,
                     const std::function<std::string(const WeightId&)>& tensor_of) {
  if (model.description.ties_embeddings && adapter.find({WeightRole::kHead}) != nullptr) {
    fail(
        ErrorKind::kUnsupported,
        "the adapter changes the head, which is the table of the embedding as well: a model has no "
        "place for that; run it with the adapter");
  }
  std::map<std::string, std::vector<WeightId>> tensors;
  std::set<std::string> changed;
  for (const WeightId& id : needed_weights(model.description)) {
    if (!is_changeable(model.description, id)) continue;
    const std::string tensor = tensor_of(id);
    tensors[tensor].push_back(id);
    if (adapter.find(id) != nullptr) changed.insert(tensor);
  }
  FittedMatrices matrices;
  for (const std::string& tensor : changed) {
    for (const WeightId& id : tensors.at(tensor)) {
      matrices.emplace(id, with_context(to_string(id), [&] {
                         return merged(id.role, model.weights.at(id), adapter.find(id));
                       }));
    }
  }
  return matrices;
}

}  // namespace halftone::lm
