// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/dilated.h"

#include <optional>
#include <utility>
#include <vector>

namespace halftone::formats::circle {
namespace {

/// The only operator that reads each tensor; nothing if there are several, or none.
std::vector<std::optional<std::size_t>> only_readers(const FileModel& file) {
  std::vector<std::optional<std::size_t>> readers(file.num_tensors());
  std::vector<std::size_t> counts(file.num_tensors(), 0);
  for (std::size_t op = 0; op < file.num_operators(); ++op) {
    for (const auto tensor : file.inputs(op)) {
      if (!tensor) continue;
      readers[*tensor] = op;
      ++counts[*tensor];
    }
  }
  for (const std::size_t tensor : file.graph_outputs()) counts[tensor] += 2;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 1) readers[i].reset();
  }
  return readers;
}

bool is_reshape(OperatorCode code) {
  return code == OperatorCode::kReshape || code == OperatorCode::kExpandDims ||
         code == OperatorCode::kSqueeze;
}

/// Whether a convolution has neither padding, strides nor dilations.
template <typename Options>
bool is_plain(const Options* options) {
  return options != nullptr && options->padding() == schema::Padding::VALID &&
         options->stride_h() == 1 && options->stride_w() == 1 &&
         options->dilation_h_factor() == 1 && options->dilation_w_factor() == 1;
}

bool is_plain_convolution(const FileModel& file, std::size_t op) {
  const schema::Operator& table = file.table(op);
  if (file.code(op) == OperatorCode::kConv2d) {
    return is_plain(table.builtin_options_as<schema::Conv2DOptions>());
  }
  return file.code(op) == OperatorCode::kDepthwiseConv2d &&
         is_plain(table.builtin_options_as<schema::DepthwiseConv2DOptions>());
}

}  // namespace

DilatedLayers find_dilated(const FileModel& file) {
  DilatedLayers found;
  std::vector<std::optional<std::size_t>> readers;
  for (std::size_t first = 0; first < file.num_operators(); ++first) {
    if (file.code(first) != OperatorCode::kSpaceToBatchNd) continue;
    if (readers.empty()) readers = only_readers(file);
    std::set<std::size_t> parts = {first};
    std::optional<std::size_t> convolution;
    std::size_t op = first;
    while (file.outputs(op).size() == 1) {
      const auto next = readers[file.outputs(op)[0]];
      // Only the first input is data. An operator that comes twice is part of a cycle.
      if (!next || file.inputs(*next)[0] != file.outputs(op)[0] || parts.contains(*next)) break;
      op = *next;
      if (file.code(op) == OperatorCode::kBatchToSpaceNd) {
        if (!convolution) break;
        found.layers.emplace(op, DilatedLayer{first, *convolution});
        found.parts.merge(parts);
        break;
      }
      if (!convolution && is_plain_convolution(file, op)) {
        convolution = op;
      } else if (!is_reshape(file.code(op))) {
        break;
      }
      parts.insert(op);
    }
  }
  return found;
}

}  // namespace halftone::formats::circle
