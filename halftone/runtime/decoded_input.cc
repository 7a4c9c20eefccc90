// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/decoded_input.h"

#include <utility>

#include "halftone/base/buffer.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {

std::string_view decoded_text(const NodeContext& context) {
  const bool x = !context.input(0).encoding.is_dense();
  const bool w = !context.input(1).encoding.is_dense();
  if (x && w) return "input and weights are decoded; ";
  if (x) return "the input is decoded; ";
  return w ? "the weights are decoded; " : "";
}

Kernel with_decoded_input(const NodeContext& context, Kernel kernel) {
  const ir::ValueType& type = context.input(0);
  if (type.encoding.is_dense()) return kernel;
  const std::size_t bytes = AlignedBuffer::rounded_up(type.shape.element_count() * sizeof(float));
  kernel.scratch_bytes += bytes;
  kernel.bind = [type, bytes, bind = std::move(kernel.bind)](const Buffers& buffers) -> Call {
    Buffers inner = buffers;
    inner.inputs[0] = buffers.scratch;
    inner.scratch = buffers.scratch + bytes;
    const std::byte* codes = buffers.inputs[0];
    auto* decoded = reinterpret_cast<float*>(buffers.scratch);
    return [type, codes, decoded, run = bind(inner)] {
      decode_value({type, {codes, value_bytes(type)}}, decoded);
      run();
    };
  };
  return kernel;
}

}  // namespace halftone::runtime
