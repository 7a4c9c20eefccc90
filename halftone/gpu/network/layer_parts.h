// SPDX-License-Identifier: Apache-2.0
// What layers on a device have in common. Private to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "halftone/gpu/network/step_kernel.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/numerics/levels.h"

namespace halftone::gpu {

/// The geometry of the layer of a step; that of a FullyConnected is of images of one pixel.
/// @pre a Conv of one to three axes, or a FullyConnected
kernels::ConvShape layer_shape(const runtime::NodeContext& context);

/// The numbers of a shape for text/window.cl.
std::vector<std::uint32_t> shape_numbers(const kernels::ConvShape& shape);

/// The padding pattern of each pixel of an image.
std::vector<std::uint32_t> pixel_patterns(const kernels::ConvShape& shape);

/// Bytes in the order of text/window_bytes.cl: [inputs / unit, outputs, unit].
/// @param code_of  code_of(output, input)
template <typename T, typename CodeOf>
std::vector<T> arranged(const kernels::ConvShape& shape, std::size_t unit, const CodeOf& code_of) {
  std::vector<T> bytes(shape.outputs * shape.inputs());
  for (std::size_t o = 0; o < shape.outputs; ++o) {
    for (std::size_t i = 0; i < shape.inputs(); ++i) {
      bytes[(i / unit * shape.outputs + o) * unit + i % unit] = static_cast<T>(code_of(o, i));
    }
  }
  return bytes;
}

/// Inputs that kernels may read at once: 4 or 1. @param section  inputs that share a basis
std::size_t unit_inputs(const kernels::ConvShape& shape, std::size_t section);

/// Rows of numbers as codes.
class RowCodes {
 public:
  /// @param activation  the codes are those of activation(x): runtime::can_encode_argument()
  RowCodes(StepMaker& maker, const numerics::Levels& levels, const ir::Activation& activation);
  [[nodiscard]] Launch encode(const Buffer& x, const Buffer& y) const;

  /// Whether there is a kernel for levels.
  static bool can_encode(const numerics::Levels& levels);

 private:
  Kernel* kernel_ = nullptr;
  const Buffer* thresholds_ = nullptr;
  const Buffer* codes_ = nullptr;
  bool is_planes_ = true;
  std::uint32_t count_ = 0;
  std::uint32_t cols_ = 0;
  std::uint32_t words_ = 0;
  std::uint32_t bits_ = 0;
  std::uint32_t num_thresholds_ = 0;
};

/// What follows the float sums of a layer: a residual and limits in its kernel, a function, codes.
class LayerEnd {
 public:
  /// Why a device cannot compute it; empty if it can. @param has_limits  as below
  static std::string refusal(const runtime::NodeContext& context, bool has_limits);
  /// @param has_limits  whether the kernel takes limits: those of ConvFinish, which know no -0
  LayerEnd(StepMaker& maker, bool has_limits);

  [[nodiscard]] std::uint32_t flags() const { return flags_; }  ///< HAS_RESIDUAL, HAS_LIMITS
  [[nodiscard]] float low() const { return low_; }
  [[nodiscard]] float high() const { return high_; }
  /// Of a step, or any memory.
  [[nodiscard]] const Buffer& residual(const StepMemory& memory) const;
  /// Where the sums go.
  [[nodiscard]] const Buffer& sums(const StepMemory& memory) const;
  /// The launches behind that of the layer.
  void follow(const StepMemory& memory, std::vector<Launch>& launches) const;

 private:
  Programs& programs_;
  std::uint32_t flags_ = 0;
  float low_ = 0;
  float high_ = 0;
  std::size_t count_ = 0;
  ir::Activation activation_;  ///< of a launch of its own
  std::optional<RowCodes> codes_;
  std::size_t scratch_ = 0;  ///< of the sums, if there are codes
};

}  // namespace halftone::gpu
