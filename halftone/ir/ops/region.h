// SPDX-License-Identifier: Apache-2.0
// Pooling of regions of images, channels last. Inputs: x [N, H, W, C] float32; regions [R, 4]
// float32, (x, y) of two opposite corners in elements / scale; the image of each region, int64 [R].
// Results [R, height, width, C].
#pragma once

#include <cstdint>

#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

/// y[r, i, j, c] = the mean of x at positions spread evenly over cell (i, j) of region r,
/// interpolated between four elements; the largest weighted neighbour with `largest`. Positions
/// beyond one element outside count as zeros.
/// Source: ONNX's RoiAlign as ONNX Runtime computes it; He et al., Mask R-CNN, 2017
///     (arXiv:1703.06870, Sec. 3).
struct RoiAlign {
  static constexpr std::string_view kName = "RoiAlign";
  static constexpr std::size_t kMinInputs = 3;
  static constexpr std::size_t kMaxInputs = 3;
  Dim height = 1;
  Dim width = 1;
  Dim samples = 0;  ///< per axis of a cell; 0: one per element, rounded up
  float scale = 1;
  bool half_pixel = true;  ///< moves positions by -1/2, and takes regions smaller than an element
  bool largest = false;
  bool operator==(const RoiAlign&) const = default;
};

/// y[r, i, j, c] = the maximum of the elements of cell (i, j) of region r, whose corners are
/// rounded to elements; 0 for a cell without elements. Source: ONNX's MaxRoiPool; Girshick, Fast
/// R-CNN, 2015 (arXiv:1504.08083, Sec. 2.1).
struct MaxRoiPool {
  static constexpr std::string_view kName = "MaxRoiPool";
  static constexpr std::size_t kMinInputs = 3;
  static constexpr std::size_t kMaxInputs = 3;
  Dim height = 1;
  Dim width = 1;
  float scale = 1;
  bool operator==(const MaxRoiPool&) const = default;
};

ValueType infer_types(const RoiAlign& op, InputTypes inputs);
ValueType infer_types(const MaxRoiPool& op, InputTypes inputs);
Tensor evaluate(const RoiAlign& op, InputTensors inputs);
Tensor evaluate(const MaxRoiPool& op, InputTensors inputs);
std::string attributes(const RoiAlign& op);
std::string attributes(const MaxRoiPool& op);

}  // namespace halftone::ir
