// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/encode.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "halftone/base/bits.h"
#include "halftone/base/parallel.h"
#include "halftone/runtime/ops/elementwise.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

/// Numbers from which on a second thread is worth waking: some 50 us of work.
constexpr std::size_t kParallelNumbers = std::size_t{1} << 17;

struct Encoder {
  kernels::EncodeTable table;
  ir::MatrixExtent extent;
  std::size_t shares = 1;  ///< parts of the rows, encoded in parallel

  void run_share(std::size_t share, const std::byte* x, std::byte* planes) const {
    const std::size_t first = extent.rows * share / shares;
    const std::size_t count = extent.rows * (share + 1) / shares - first;
    const std::size_t row_words = table.bits() * words_for_bits(extent.cols);
    kernels::encode(
        float_matrix(x, extent).rows_from(first, count), table,
        {reinterpret_cast<std::uint64_t*>(planes) + first * row_words, count * row_words});
  }

  void run(const std::byte* x, std::byte* planes) const {
    if (shares == 1) return run_share(0, x, planes);
    const auto body = [&](std::size_t share) { run_share(share, x, planes); };
    parallel_for(shares, std::ref(body));  // a reference, so that nothing is allocated
  }
};

}  // namespace

Verdict judge_encode(const NodeContext& context) {
  const auto& encoding = *context.op<ir::Encode>().encoding;
  return accept("to " + std::to_string(encoding.bits) + (encoding.bits == 1 ? " bit" : " bits"));
}

Kernel create_encode(const NodeContext& context) {
  const ir::MatrixExtent extent = row_extent(context.input(0).shape);
  const auto encoder = std::make_shared<Encoder>(
      Encoder{kernels::EncodeTable(context.op<ir::Encode>().encoding->bases.front()), extent});
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

}  // namespace halftone::runtime
