// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/execute.h"

#include <algorithm>
#include <utility>

#include "halftone/accel/mapping/execution.h"
#include "halftone/accel/operation_model.h"
#include "halftone/accel/tiles.h"
#include "halftone/base/error.h"
#include "halftone/base/random.h"
#include "halftone/spmd/collectives.hpp"
#include "halftone/spmd/map.hpp"

namespace halftone::accel {
namespace {

using mapping::MacStep;
using mapping::Numbers;
using mapping::Word;

/// A matrix of pseudo-random integers.
struct Matrix {
  std::size_t rows;
  std::size_t cols;
  Numbers values;

  Matrix(std::size_t num_rows, std::size_t num_cols, int bits, Random& random)
      : rows(num_rows), cols(num_cols), values(num_rows * num_cols) {
    const std::uint64_t levels = std::uint64_t{1} << std::min(bits, 8);
    for (std::int64_t& value : values) {
      // Odd numbers about zero, as sums of +-1 have them.
      value = 2 * static_cast<std::int64_t>(random.below(levels)) -
              static_cast<std::int64_t>(levels) + 1;
    }
  }

  /// A tile, with zeros past the ends.
  [[nodiscard]] Numbers tile(const Word& at, std::size_t height, std::size_t width) const {
    Numbers result(height * width);
    for (std::size_t i = 0; i < height; ++i) {
      for (std::size_t j = 0; j < width; ++j) {
        const std::size_t row = at[0] * height + i;
        const std::size_t col = at[1] * width + j;
        if (row < rows && col < cols) result[i * width + j] = values[row * cols + col];
      }
    }
    return result;
  }
};

/// sum[rows, cols] += x[rows, inner] w[inner, cols].
void multiply_tile(const UnitTile& tile, const MacStep& step) {
  const Numbers& x = *step.factors[0];
  const Numbers& w = *step.factors[1];
  step.sum->resize(tile.rows * tile.cols);
  for (std::size_t i = 0; i < tile.rows; ++i) {
    for (std::size_t k = 0; k < tile.inner; ++k) {
      const std::int64_t factor = x[i * tile.inner + k];
      for (std::size_t j = 0; j < tile.cols; ++j) {
        (*step.sum)[i * tile.cols + j] += factor * w[k * tile.cols + j];
      }
    }
  }
}

/// Multiplies on devices: unit u on device u modulo their number.
mapping::Multiply multiply_on(const spmd::Devices& devices, const UnitTile& tile) {
  return [devices, tile](const std::vector<MacStep>& steps) {
    const std::size_t lanes = std::min(devices.size(), steps.size());
    if (lanes <= 1) {
      for (const MacStep& step : steps) multiply_tile(tile, step);
      return;
    }
    const spmd::MapOptions options{
        .axis_name = "unit", .axis_size = lanes, .devices = devices.part(0, lanes)};
    spmd::pmap(
        [&] {
          for (std::size_t i = spmd::axis_index("unit"); i < steps.size(); i += lanes) {
            multiply_tile(tile, steps[i]);
          }
        },
        options)();
  };
}

/// Whether the words that moved are those of the closed form, for every memory and operand.
bool counts_agree(const mapping::FoundMapping& found, const mapping::TiledExecution& execution) {
  for (std::size_t l = 0; l < found.evaluation.levels.size(); ++l) {
    const mapping::LevelAccesses& level = found.evaluation.levels[l];
    for (std::size_t space = 0; space < level.spaces.size(); ++space) {
      mapping::Counters sum;
      for (const mapping::Counters& each : execution.counters(l, space)) {
        sum.reads += each.reads;
        sum.fills += each.fills;
        sum.updates += each.updates;
      }
      const bool agree = sum.reads == level.total_reads(space) &&
                         sum.fills == level.total_fills(space) &&
                         sum.updates == level.total_updates(space);
      if (!agree) return false;
    }
  }
  return true;
}

bool result_agrees(const mapping::TiledExecution& execution, const UnitTile& tile, const Matrix& x,
                   const Matrix& w) {
  for (const auto& [word, numbers] : execution.result()) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::size_t row = word[0] * tile.rows + i / tile.cols;
      const std::size_t col = word[1] * tile.cols + i % tile.cols;
      std::int64_t sum = 0;
      for (std::size_t k = 0; row < x.rows && col < w.cols && k < x.cols; ++k) {
        sum += x.values[row * x.cols + k] * w.values[k * w.cols + col];
      }
      if (numbers[i] != sum) return false;
    }
  }
  return true;
}

void run(const Operation& operation, const ComputeUnit& unit, const TiledProduct& tiled,
         const ExecuteOptions& options, Executed& result) {
  const Product& product = operation.product;
  const UnitTile tile = unit_tile(unit, product);
  Random random(options.seed);
  const Matrix x(product.rows, product.inner, product.x.bits, random);
  const Matrix w(product.inner, product.cols, product.w.bits, random);
  const auto fill = [&](std::size_t space, const Word& word) {
    return space == 0 ? x.tile(word, tile.rows, tile.inner) : w.tile(word, tile.inner, tile.cols);
  };
  const mapping::TiledExecution execution(tiled.found.problem, tiled.found.mapping, fill,
                                          multiply_on(options.devices, tile));
  result.counts_agree = counts_agree(tiled.found, execution);
  result.result_agrees = result_agrees(execution, tile, x, w);
  for (std::size_t space = 0; space < tiled.word_bytes[0].size(); ++space) {
    for (const mapping::Counters& each : execution.counters(0, space)) {
      result.moved_bytes +=
          tiled.word_bytes[0][space] * static_cast<double>(each.reads + each.updates);
    }
  }
}

Executed execute_one(const Operation& operation, const Accelerator& accelerator,
                     const ExecuteOptions& options) {
  const Product& product = operation.product;
  const ComputeUnit* unit = product_unit(accelerator, product, true);
  if (unit == nullptr) {
    fail(ErrorKind::kUnsupported, "'" + operation.name + "': no unit of " + accelerator.name +
                                      " multiplies weights of " + to_string(product.w) +
                                      " with inputs of " + to_string(product.x));
  }
  Executed result;
  result.name = operation.name;
  const TiledProduct tiled = with_context("'" + operation.name + "' on " + accelerator.name, [&] {
    return tile_product(operation, accelerator, *unit, {});
  });
  const mapping::MappingCosts& evaluation = tiled.found.evaluation;
  result.units = evaluation.utilized_macs;
  result.steps = evaluation.compute_cycles * evaluation.utilized_macs;
  for (std::size_t space = 0; space < tiled.word_bytes[0].size(); ++space) {
    const mapping::LevelAccesses& outer = evaluation.levels[0];
    result.estimated_bytes +=
        tiled.word_bytes[0][space] *
        static_cast<double>(outer.total_reads(space) + outer.total_updates(space));
  }
  if (result.steps > options.max_steps) {
    result.refusal =
        std::to_string(result.steps) + " tiles, more than " + std::to_string(options.max_steps);
    return result;
  }
  run(operation, *unit, tiled, options, result);
  return result;
}

}  // namespace

std::vector<Executed> execute(const Workload& workload, const Accelerator& accelerator,
                              const ExecuteOptions& options) {
  std::vector<Executed> results;
  std::vector<const Operation*> seen;
  for (const Operation& operation : workload.operations) {
    if (!operation.has_product()) continue;
    const auto same = std::ranges::find_if(
        seen, [&](const Operation* other) { return other->product == operation.product; });
    if (same != seen.end()) {
      ++results[static_cast<std::size_t>(same - seen.begin())].equal;
      continue;
    }
    seen.push_back(&operation);
    results.push_back(execute_one(operation, accelerator, options));
  }
  return results;
}

}  // namespace halftone::accel
