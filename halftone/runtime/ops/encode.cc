// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/encode.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "halftone/base/bits.h"
#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/kernels/encode_int8.h"
#include "halftone/runtime/activation.h"
#include "halftone/runtime/ops/elementwise.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

/// Numbers from which on a second thread is worth waking: some 50 us of work.
constexpr std::size_t kParallelNumbers = std::size_t{1} << 17;

kernels::EncodeTable make_table(const ir::Encode& op) {
  kernels::EncodeTable table(op.encoding->bases.front());
  if (op.activation.kind == ir::ActivationKind::kIdentity) return table;
  const auto function = never_decreasing(op.activation);
  if (!function || !table.move_before(function)) {
    fail(ErrorKind::kUnsupported, "Encode: the codes of " + ir::to_string(op.activation) +
                                      " cannot be told from its argument");
  }
  return table;
}

/// Rows encoded in parallel, by Write: see below.
template <typename Write>
struct Encoder {
  kernels::EncodeTable table;
  Write write;
  ir::MatrixExtent extent;
  std::size_t shares = 1;  ///< parts of the rows

  void run_share(std::size_t share, const std::byte* x, std::byte* y) const {
    const std::size_t first = extent.rows * share / shares;
    const std::size_t count = extent.rows * (share + 1) / shares - first;
    write(float_matrix(x, extent).rows_from(first, count), table, y + first * write.row_bytes);
  }

  void run(const std::byte* x, std::byte* y) const {
    if (shares == 1) return run_share(0, x, y);
    const auto body = [&](std::size_t share) { run_share(share, x, y); };
    parallel_for(shares, std::ref(body));  // a reference, so that nothing is allocated
  }
};

struct WritePlanes {
  std::size_t row_bytes;
  void operator()(MatrixView<const float> x, const kernels::EncodeTable& table,
                  std::byte* y) const {
    auto* words = reinterpret_cast<std::uint64_t*>(y);
    kernels::encode(x, table, {words, x.rows() * row_bytes / sizeof(*words)});
  }
};

struct WriteInt8 {
  std::size_t row_bytes;
  kernels::Int8Levels levels;
  void operator()(MatrixView<const float> x, const kernels::EncodeTable& table,
                  std::byte* y) const {
    kernels::encode_int8(x, table, levels,
                         {reinterpret_cast<std::int8_t*>(y), x.rows(), x.cols(), x.cols()});
  }
};

template <typename Write>
Kernel create(const NodeContext& context, kernels::EncodeTable table, Write write) {
  const ir::MatrixExtent extent = row_extent(context.input(0).shape);
  const auto encoder =
      std::make_shared<Encoder<Write>>(Encoder<Write>{std::move(table), std::move(write), extent});
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

std::string bits_text(const NodeContext& context) {
  const int bits = context.op<ir::Encode>().encoding->bits;
  return "to " + std::to_string(bits) + (bits == 1 ? " bit" : " bits");
}

}  // namespace

Verdict judge_encode_planes(const NodeContext& context) {
  if (context.output_layout() == CodeLayout::kInt8) return refuse("its readers multiply integers");
  return accept(bits_text(context));
}

Kernel create_encode_planes(const NodeContext& context) {
  kernels::EncodeTable table = make_table(context.op<ir::Encode>());
  const std::size_t words = words_for_bits(row_extent(context.input(0).shape).cols);
  const std::size_t row_bytes = table.bits() * words * sizeof(std::uint64_t);
  return create(context, std::move(table), WritePlanes{row_bytes});
}

Verdict judge_encode_int8(const NodeContext& context) {
  if (context.output_layout() == CodeLayout::kPlanes) return refuse("its readers read bits");
  return accept(bits_text(context));
}

Kernel create_encode_int8(const NodeContext& context) {
  kernels::EncodeTable table = make_table(context.op<ir::Encode>());
  const kernels::Int8Levels levels(table.basis());
  const std::size_t row_bytes = row_extent(context.input(0).shape).cols;
  return create(context, std::move(table), WriteInt8{row_bytes, levels});
}

}  // namespace halftone::runtime
