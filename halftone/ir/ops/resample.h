// SPDX-License-Identifier: Apache-2.0
// Operators that interpolate between elements.
#pragma once

#include <cstdint>
#include <vector>

#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

enum class Interpolation : std::uint8_t { kNearest, kLinear, kCubic };
std::string_view to_string(Interpolation mode);

/// Position in the input of output i, in float32, where n = extent of the input, m = count, s =
/// scale.
/// Source: ONNX's Resize as ONNX Runtime computes it, which the models are trained and deployed
///     with. ONNX's reference evaluator uses n s for m, which may have a fraction.
enum class Coordinates : std::uint8_t {
  kHalfPixel,            ///< (i + 1/2) / s - 1/2
  kHalfPixelSymmetric,   ///< the same, shifted so that both centres coincide
  kPytorchHalfPixel,     ///< the same as kHalfPixel, but 0 where m = 1
  kAlignCorners,         ///< i (n - 1) / (m - 1)
  kAsymmetric,           ///< i / s
  kHalfPixelForNearest,  ///< (i + 1/2) / s
  kCropAndResize,  ///< (n - 1) (begin + i (end - begin) / (m - 1)); outside: the extrapolation
};

/// How the nearest neighbour is chosen.
enum class NearestMode : std::uint8_t { kPreferFloor, kPreferCeil, kFloor, kCeil };

/// One axis resampled to `count` elements: interpolates at the positions that `coordinates`
/// defines, with the edge repeated outwards. Several axes take several operators. Float32; kNearest
/// takes any dense elements.
struct Resize {
  static constexpr std::string_view kName = "Resize";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  std::size_t axis = 0;
  std::size_t count = 0;
  float scale = 1;  ///< output per input, > 0
  Interpolation mode = Interpolation::kNearest;
  Coordinates coordinates = Coordinates::kHalfPixel;
  NearestMode rounding = NearestMode::kPreferFloor;
  float cubic = -0.75F;          ///< kCubic's coefficient a (Keys, 1981)
  bool exclude_outside = false;  ///< ignores elements outside and renormalizes the other weights
  bool antialias = false;        ///< for a scale below 1, widens the filter by its inverse
  float begin = 0;               ///< kCropAndResize: the part of the extent to sample
  float end = 1;
  float extrapolation = 0;
  /// Multiplies by n / m, or (n - 1) / (m - 1), in float32 instead of dividing, and ignores
  /// `scale`. Source: TensorFlow Lite's ResizeBilinear and ResizeNearestNeighbor.
  bool multiplies = false;
  bool operator==(const Resize&) const = default;
};

/// The taps of each output of a Resize: output i = sum_t weights[i width + t] x[indices[i width +
/// t]], or the extrapolation where outside[i].
struct ResizeTaps {
  std::size_t width = 1;
  std::vector<std::size_t> indices;
  std::vector<float> weights;
  std::vector<std::uint8_t> outside;
};
/// @pre extent > 0, infer_types() accepted the operator
ResizeTaps resize_taps(const Resize& op, std::size_t extent);
/// Whether two operators read the same elements with the same weights, up to the rounding of
/// positions in float32: no weight may differ by more than extent 2^-22.
/// @pre as resize_taps()
bool same_taps(const Resize& a, const Resize& b, std::size_t extent);
/// output i = sum_j matrix[i, j] x[j] + rest[i].
struct ResizeMatrix {
  Tensor matrix;  ///< [count, extent] f32
  Tensor rest;    ///< [count, 1] f32: the extrapolation where the output is outside, else 0
};
/// @pre as resize_taps()
ResizeMatrix resize_matrix(const Resize& op, std::size_t extent);

/// The values around an image: zeros, its edge, its mirror image.
enum class Surroundings : std::uint8_t { kZeros, kEdge, kReflection };

/// y[n, i, j, c] = x at the position grid[n, i, j] = (column, row), where -1 and 1 are the centres
/// of the outermost elements (align_corners) or their outer edges. x [N, H, W, C], grid [N, I, J,
/// 2], float32.
struct GridSample {
  static constexpr std::string_view kName = "GridSample";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 2;
  Interpolation mode = Interpolation::kLinear;
  Surroundings surroundings = Surroundings::kZeros;
  bool align_corners = false;
  bool operator==(const GridSample&) const = default;
};

ValueType infer_types(const Resize& op, InputTypes inputs);
ValueType infer_types(const GridSample& op, InputTypes inputs);
Tensor evaluate(const Resize& op, InputTensors inputs);
Tensor evaluate(const GridSample& op, InputTensors inputs);
std::string attributes(const Resize& op);
std::string attributes(const GridSample& op);

}  // namespace halftone::ir
