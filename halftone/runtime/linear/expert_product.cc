// SPDX-License-Identifier: Apache-2.0
// Products with the experts that rows choose, each over all of its rows.
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/ir/ops/indexing.h"
#include "halftone/kernels/dense/float_matmul.h"
#include "halftone/kernels/groups/multiply_groups.h"
#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/implementation.h"
#include "halftone/runtime/linear/expert_pairs.h"
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

// The weights of experts are a class
//
//     struct Experts {
//       kBlockOutputs;                            // that are computed together
//       Experts(const ir::Constant& weights, int threads);
//       std::size_t size_bytes() const;
//       std::size_t row_bytes() const;            // of a row as multiply() reads it
//       void write_row(x, std::byte* row) const;  // x: [1, inputs]
//       void multiply(expert, std::byte* rows, BlockRange blocks, y) const;
//     };

struct ExpertsExtent {
  std::size_t experts = 0;
  std::size_t outputs = 0;
  std::size_t inputs = 0;
};

ExpertsExtent experts_extent(const ir::Shape& weights) {
  return {static_cast<std::size_t>(weights[0]), static_cast<std::size_t>(weights[1]),
          static_cast<std::size_t>(weights[2])};
}

/// The blocks of one expert.
ir::BlockTensor expert_blocks(const ir::BlockTensor& all, std::size_t expert) {
  const std::size_t bytes = all.row_bytes();
  return {{all.shape[1], all.shape[2]}, all.encoding, all.bytes.part(expert * bytes, bytes)};
}

/// Weights in blocks of codes. Rows are encoded.
struct GroupExperts {
  static constexpr std::size_t kBlockOutputs = kernels::kStripRows;
  std::vector<kernels::PackedGroups> experts;

  GroupExperts(const ir::Constant& weights, int threads) {
    const auto& all = std::get<ir::BlockTensor>(weights);
    for (std::size_t e = 0; e < experts_extent(all.shape).experts; ++e) {
      const ir::BlockTensor blocks = expert_blocks(all, e);
      experts.push_back(pack_groups(blocks, threads));
      blocks.bytes.release_pages();
    }
  }
  [[nodiscard]] std::size_t size_bytes() const {
    std::size_t sum = 0;
    for (const kernels::PackedGroups& each : experts) sum += each.size_bytes();
    return sum;
  }
  [[nodiscard]] std::size_t row_bytes() const {
    return kernels::EncodedRows::size_bytes(1, experts[0].extents());
  }
  void write_row(MatrixView<const float> x, std::byte* row) const {
    kernels::encode_group_rows(x, {0, 1}, {{row, row_bytes()}, 1, experts[0].extents()});
  }
  void multiply(std::size_t expert, std::byte* rows, kernels::BlockRange strips,
                MatrixView<float> y) const {
    const kernels::EncodedRows x({rows, y.rows() * row_bytes()}, y.rows(),
                                 experts[expert].extents());
    kernels::multiply_groups(experts[expert], x, strips, y);
  }
};

/// Weights as float32. Rows are copied.
struct FloatExperts {
  static constexpr std::size_t kBlockOutputs = kernels::FloatPanels::kOutputs;
  std::vector<kernels::FloatMatmulWeights> experts;

  FloatExperts(const ir::Constant& weights, int /*threads*/) {
    const auto [count, outputs, inputs] = experts_extent(ir::type_of(weights).shape);
    for (std::size_t e = 0; e < count; ++e) {
      ir::Tensor decoded;
      std::span<const float> matrix;
      if (const auto* all = std::get_if<ir::BlockTensor>(&weights)) {
        decoded = ir::to_float(expert_blocks(*all, e));
        matrix = std::as_const(decoded).as<float>();
      } else {
        const auto numbers = std::get<ir::Tensor>(weights).as<float>();
        matrix = numbers.subspan(e * outputs * inputs, outputs * inputs);
      }
      experts.emplace_back(MatrixView<const float>(matrix, outputs, inputs));
    }
  }
  [[nodiscard]] std::size_t size_bytes() const {
    std::size_t sum = 0;
    for (const kernels::FloatMatmulWeights& each : experts) sum += each.size_bytes();
    return sum;
  }
  [[nodiscard]] std::size_t row_bytes() const { return experts[0].inputs() * sizeof(float); }
  void write_row(MatrixView<const float> x, std::byte* row) const {
    std::memcpy(row, x.data_handle(), row_bytes());
  }
  void multiply(std::size_t expert, std::byte* rows, kernels::BlockRange panels,
                MatrixView<float> y) const {
    const std::size_t first = panels.begin * kBlockOutputs;
    const std::size_t last = std::min(panels.end * kBlockOutputs, y.cols());
    for (std::size_t r = 0; r < y.rows(); ++r) {
      std::ranges::fill(y.row(r).subspan(first, last - first), 0.0F);
    }
    kernels::float_matmul(float_matrix(rows, {y.rows(), experts[expert].inputs()}),
                          experts[expert].panels(), panels, y);
  }
};

/// Where an ExpertProduct keeps what it needs in a run.
struct ExpertScratch {
  std::size_t rows = 0;     ///< offset of the rows by place
  std::size_t outputs = 0;  ///< offset of the outputs by place
  std::size_t bytes = 0;

  ExpertScratch(std::size_t experts, std::size_t pairs, std::size_t row_bytes,
                std::size_t output_bytes) {
    rows = AlignedBuffer::rounded_up(ExpertPairs::size_bytes(experts, pairs));
    outputs = rows + AlignedBuffer::rounded_up(pairs * row_bytes);
    bytes = outputs + pairs * output_bytes;
  }
};

/// An ExpertProduct. Threads divide the rows to write them by place, then blocks of outputs.
template <typename Experts>
struct ExpertStep {
  std::shared_ptr<const Experts> weights;
  ir::Activation activation;
  ExpertsExtent extent;
  std::size_t pairs = 0;
  std::size_t share = 1;  ///< pairs of a row of x
  bool has_wide_indices = false;
  std::size_t threads = 1;

  [[nodiscard]] ExpertScratch scratch() const {
    return {extent.experts, pairs, weights->row_bytes(), extent.outputs * sizeof(float)};
  }

  void run(const Buffers& buffers) const {
    const ExpertPairs sorted(buffers.scratch, extent.experts, pairs);
    sorted.sort({buffers.inputs[2], has_wide_indices});
    const ExpertScratch layout = scratch();
    std::byte* rows = buffers.scratch + layout.rows;
    write_rows(float_matrix(buffers.inputs[0], {pairs / share, extent.inputs}), sorted, rows);
    const auto outputs = float_matrix(buffers.scratch + layout.outputs, {pairs, extent.outputs});
    const auto y = float_matrix(buffers.output, {pairs, extent.outputs});
    const std::size_t blocks =
        (extent.outputs + Experts::kBlockOutputs - 1) / Experts::kBlockOutputs;
    divide(threads, threads, [&](std::size_t part, kernels::BlockRange /*range*/) {
      sorted.for_share(part, threads, blocks, [&](std::size_t expert, kernels::BlockRange some) {
        const auto [first, last] = sorted.places_of(expert);
        // The products of a single row need no place of their own.
        const MatrixView<float> to = last - first == 1 ? y.rows_from(sorted.pair_at(first), 1)
                                                       : outputs.rows_from(first, last - first);
        weights->multiply(expert, rows + first * weights->row_bytes(), some, to);
        for (std::size_t i = 0; i < to.rows(); ++i) {
          finish(some, to.row(i), y.row(sorted.pair_at(first + i)));
        }
      });
    });
  }

 private:
  void write_rows(MatrixView<const float> x, const ExpertPairs& sorted, std::byte* rows) const {
    const std::size_t bytes = weights->row_bytes();
    divide(x.rows(), threads, [&](std::size_t /*part*/, kernels::BlockRange range) {
      for (std::size_t r = range.begin; r < range.end; ++r) {
        std::byte* row = rows + sorted.place_of(r * share) * bytes;
        weights->write_row(x.rows_from(r, 1), row);
        for (std::size_t j = 1; j < share; ++j) {
          std::memcpy(rows + sorted.place_of(r * share + j) * bytes, row, bytes);
        }
      }
    });
  }
  /// Applies the activation to blocks of a row.
  void finish(kernels::BlockRange blocks, std::span<const float> from, std::span<float> to) const {
    const std::size_t first = blocks.begin * Experts::kBlockOutputs;
    const std::size_t count = std::min(blocks.end * Experts::kBlockOutputs, to.size()) - first;
    apply_activation(activation, from.subspan(first, count), to.subspan(first, count));
  }
};

std::optional<Verdict> refuse_experts(const NodeContext& context) {
  if (context.constant(1) == nullptr) return refuse("the weights are not constant");
  if (context.output().shape.element_count() == 0 || context.input(1).shape.element_count() == 0) {
    return refuse("there is nothing to compute");
  }
  return std::nullopt;
}

Verdict judge_expert_groups(const NodeContext& context) {
  if (auto refusal = refuse_experts(context)) return *refusal;
  const numerics::BlockEncoding* blocks = context.input(1).encoding.blocks.get();
  if (blocks == nullptr) return refuse("the weights are not stored in blocks");
  return accept(std::string(blocks->name) + " in groups of " + std::to_string(blocks->group));
}

Verdict judge_expert_floats(const NodeContext& context) {
  if (auto refusal = refuse_experts(context)) return *refusal;
  return accept("sums in the order of the inputs");
}

template <typename Experts>
Kernel create_expert_product(const NodeContext& context) {
  auto step = std::make_shared<ExpertStep<Experts>>();
  step->weights =
      context.packed<Experts>(1, [&] { return Experts(*context.constant(1), context.threads); });
  step->activation = context.op<ir::ExpertProduct>().activation;
  step->extent = experts_extent(context.input(1).shape);
  const auto& [experts, outputs, inputs] = step->extent;
  step->pairs = context.input(2).shape.element_count();
  step->share = step->pairs / row_extent(context.input(0).shape).rows;
  step->has_wide_indices = are_wide(context.input(2));
  const bool is_large = step->pairs * inputs * outputs >= 4 * kParallelNumbers;
  step->threads = is_large ? static_cast<std::size_t>(context.threads) : 1;
  Kernel kernel;
  kernel.packed_bytes = step->weights->size_bytes();
  kernel.idle_bytes = kernel.packed_bytes / experts * (experts - std::min(step->pairs, experts));
  kernel.packed_inputs = {1};
  kernel.scratch_bytes = step->scratch().bytes;
  kernel.bind = [step = std::shared_ptr<const ExpertStep<Experts>>(std::move(step))](
                    const Buffers& buffers) -> Call {
    return [step, buffers] { step->run(buffers); };
  };
  return kernel;
}

}  // namespace

constinit const Implementation kExpertGroups{.name = "groups",
                                             .judge = judge_expert_groups,
                                             .create = create_expert_product<GroupExperts>,
                                             .arithmetic = KernelArithmetic::kGroups};
constinit const Implementation kExpertFloats =
    Implementation::fixed_float(judge_expert_floats, create_expert_product<FloatExperts>);

void ExpertPairs::sort(Indices chosen) const {
  std::ranges::fill(ends_, 0);
  for (std::size_t pair = 0; pair < places_.size(); ++pair) {
    ++ends_[ir::resolve_index(chosen[pair], experts()) + 2];
  }
  // Now where the pairs of each expert begin, which moves to where they end.
  std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
  for (std::size_t pair = 0; pair < places_.size(); ++pair) {
    const std::size_t place = ends_[ir::resolve_index(chosen[pair], experts()) + 1]++;
    places_[pair] = place;
    sorted_[place] = pair;
  }
}

}  // namespace halftone::runtime
