// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/encode/encode.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "halftone/base/bits.h"
#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

/// Encodes rows in parallel.
struct Encoder {
  RowEncoder encode;
  ir::MatrixExtent extent;
  std::size_t shares = 1;  ///< number of parts of the rows

  void run_share(std::size_t share, const std::byte* x, std::byte* y) const {
    const std::size_t first = extent.rows * share / shares;
    const std::size_t count = extent.rows * (share + 1) / shares - first;
    encode(float_matrix(x, extent).rows_from(first, count), y + first * encode.row_bytes());
  }

  void run(const std::byte* x, std::byte* y) const {
    if (shares == 1) return run_share(0, x, y);
    const auto body = [&](std::size_t share) { run_share(share, x, y); };
    parallel_for(shares, std::ref(body));  // by reference: allocates nothing
  }
};

Verdict judge_encode(const NodeContext& context) {
  const int bits = context.op<ir::Encode>().encoding->bits;
  return accept("to " + std::to_string(bits) + (bits == 1 ? " bit" : " bits"));
}

Kernel create_encode(const NodeContext& context) {
  const auto& op = context.op<ir::Encode>();
  const ir::MatrixExtent extent = row_extent(context.input(0).shape);
  const auto encoder = std::make_shared<Encoder>(Encoder{
      RowEncoder(op.encoding->levels(0), op.activation, context.output_layout(), extent.cols),
      extent});
  if (extent.rows * extent.cols >= kParallelNumbers) {
    encoder->shares =
        std::clamp<std::size_t>(extent.rows, 1, static_cast<std::size_t>(context.threads));
  }
  Kernel kernel;
  kernel.bind = [encoder](const Buffers& buffers) -> Call {
    return [encoder, x = buffers.inputs[0], y = buffers.output] { encoder->run(x, y); };
  };
  return kernel;
}

}  // namespace

kernels::EncodeTable encode_table(const numerics::Levels& levels,
                                  const ir::Activation& activation) {
  kernels::EncodeTable table(levels);
  if (activation.kind == ir::ActivationKind::kIdentity) return table;
  const auto function = never_decreasing(activation);
  if (!function || !table.move_before(function)) {
    fail(ErrorKind::kUnsupported, "Encode: the codes of " + ir::to_string(activation) +
                                      " cannot be derived from its argument");
  }
  return table;
}

bool can_encode_argument(const ir::Activation& activation, const numerics::Levels& levels) {
  if (activation.kind == ir::ActivationKind::kIdentity) return true;
  const auto function = never_decreasing(activation);
  return function && kernels::EncodeTable(levels).move_before(function);
}

RowEncoder::RowEncoder(const numerics::Levels& levels, const ir::Activation& activation,
                       CodeLayout layout, std::size_t cols)
    : table_(encode_table(levels, activation)), row_bytes_(cols) {
  if (layout == CodeLayout::kInt8) {
    integers_.emplace(table_);
  } else {
    row_bytes_ = table_.bits() * words_for_bits(cols) * sizeof(std::uint64_t);
  }
}

void RowEncoder::operator()(MatrixView<const float> x, std::byte* y) const {
  if (integers_) {
    auto* const q = reinterpret_cast<std::int8_t*>(y);
    kernels::encode_int8(x, *integers_, {q, x.rows(), x.cols(), x.cols()});
  } else {
    auto* const words = reinterpret_cast<std::uint64_t*>(y);
    kernels::encode(x, table_, {words, x.rows() * row_bytes_ / sizeof(*words)});
  }
}

constinit const Implementation kEncodePlanes{.name = "bit_planes",
                                             .judge = judge_encode,
                                             .create = create_encode,
                                             .writes = CodeLayout::kPlanes};
constinit const Implementation kEncodeInt8{
    .name = "int8", .judge = judge_encode, .create = create_encode, .writes = CodeLayout::kInt8};

}  // namespace halftone::runtime
