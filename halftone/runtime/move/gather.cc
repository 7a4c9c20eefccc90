// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <variant>

#include "halftone/base/parallel.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/runtime/move/layout.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

/// Rows copied from a dense table.
struct RowCopies {
  ir::AxisView view;      ///< of the table, along the gathered axis
  std::size_t count = 0;  ///< of the indices
  std::size_t bytes = 0;  ///< of a row

  void run(const std::byte* table, Indices indices, std::byte* output) const {
    for (std::size_t o = 0; o < view.outer; ++o) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t row = ir::resolve_index(indices[i], view.extent);
        std::memcpy(output + (o * count + i) * bytes, table + (o * view.extent + row) * bytes,
                    bytes);
      }
    }
  }
};

/// A table that stays encoded: each run decodes the rows that it looks up.
struct CodedTable {
  std::shared_ptr<const ir::Constant> constant;  ///< shared with the graph, which may release it
  std::size_t count = 0;                         ///< of the indices
  std::size_t shares = 1;                        ///< number of parts of the indices

  void run_share(std::size_t share, Indices indices, float* y) const {
    const auto& [shape, encoding, codes] = std::get<ir::EncodedTensor>(*constant);
    const std::size_t end = count * (share + 1) / shares;
    for (std::size_t i = count * share / shares; i < end; ++i) {
      const std::size_t row = ir::resolve_index(indices[i], codes.rows);
      kernels::decode(codes, *encoding, row, {y + i * codes.cols, 1, codes.cols, codes.cols});
    }
  }

  void run(Indices indices, float* y) const {
    if (shares == 1) return run_share(0, indices, y);
    const auto body = [&](std::size_t share) { run_share(share, indices, y); };
    parallel_for(shares, std::ref(body));  // by reference: allocates nothing
  }
};

/// A table in blocks: each run decodes the rows that it looks up.
struct BlockTable {
  std::shared_ptr<const ir::Constant> constant;  ///< shared with the graph, which may release it
  std::size_t count = 0;                         ///< of the indices

  void run(Indices indices, float* y) const {
    const auto& table = std::get<ir::BlockTensor>(*constant);
    const auto [rows, cols] = ir::matrix_extent(table.shape);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = ir::resolve_index(indices[i], rows);
      numerics::decode_blocks(*table.encoding, table.row(row), {y + i * cols, cols});
    }
  }
};

Verdict judge_gather(const NodeContext& context) {
  if (!context.input(0).encoding.is_dense()) return refuse("the table is encoded");
  return accept("copies of rows");
}

Kernel create_gather(const NodeContext& context) {
  const ir::AxisView view = ir::axis_view(context.input(0).shape, context.op<ir::Gather>().axis);
  const RowCopies copies{view, context.input(1).shape.element_count(),
                         view.inner * ir::size_bytes(context.output().encoding.element)};
  const bool wide = are_wide(context.input(1));
  Kernel kernel;
  kernel.bind = [copies, wide](const Buffers& buffers) -> Call {
    const Indices indices{buffers.inputs[1], wide};
    return [copies, indices, table = buffers.inputs[0], y = buffers.output] {
      copies.run(table, indices, y);
    };
  };
  return kernel;
}

Verdict judge_gather_codes(const NodeContext& context) {
  if (context.input(0).encoding.codes == nullptr) return refuse("the table has no codes");
  if (context.constant(0) == nullptr) return refuse("the table is not constant");
  return accept(std::to_string(context.input(0).encoding.codes->bits) +
                "-bit table, the rows gathered are decoded");
}

Kernel create_gather_codes(const NodeContext& context) {
  auto table = std::make_shared<CodedTable>();
  table->constant = context.graph.value(context.node.inputs[0]).constant;
  table->count = context.input(1).shape.element_count();
  if (context.output().shape.element_count() >= kParallelNumbers) {
    table->shares =
        std::clamp<std::size_t>(table->count, 1, static_cast<std::size_t>(context.threads));
  }
  const bool wide = are_wide(context.input(1));
  Kernel kernel;
  kernel.bind = [table = std::shared_ptr<const CodedTable>(std::move(table)),
                 wide](const Buffers& buffers) -> Call {
    return
        [table, wide, indices = buffers.inputs[1], y = reinterpret_cast<float*>(buffers.output)] {
          table->run({indices, wide}, y);
        };
  };
  return kernel;
}

Verdict judge_gather_blocks(const NodeContext& context) {
  const numerics::BlockEncoding* blocks = context.input(0).encoding.blocks.get();
  if (blocks == nullptr) return refuse("the table is not stored in blocks");
  if (context.constant(0) == nullptr) return refuse("the table is not constant");
  return accept("a table of " + std::string(blocks->name) + ", the rows gathered are decoded");
}

Kernel create_gather_blocks(const NodeContext& context) {
  const BlockTable table{context.graph.value(context.node.inputs[0]).constant,
                         context.input(1).shape.element_count()};
  const bool wide = are_wide(context.input(1));
  Kernel kernel;
  kernel.packed_inputs = {0};  // nothing is packed: the kernel reads the constant itself
  kernel.bind = [table, wide](const Buffers& buffers) -> Call {
    return
        [table, wide, indices = buffers.inputs[1], y = reinterpret_cast<float*>(buffers.output)] {
          table.run({indices, wide}, y);
        };
  };
  return kernel;
}

}  // namespace

constinit const Implementation kGatherRows{
    .name = "row_copy", .judge = judge_gather, .create = create_gather};
constinit const Implementation kGatherCodes{
    .name = "decoded_rows", .judge = judge_gather_codes, .create = create_gather_codes};

constinit const Implementation kGatherBlocks{
    .name = "gather_blocks", .judge = judge_gather_blocks, .create = create_gather_blocks};

}  // namespace halftone::runtime
