// SPDX-License-Identifier: Apache-2.0
// Small chips and operations for tests.
#pragma once

#include <cstddef>
#include <string>

#include "halftone/accel/accelerator.h"
#include "halftone/accel/workload.h"

namespace halftone::accel::test {

/// y[rows, cols] of factors with `bits` bits, 32: float32.
inline Operation layer(std::size_t rows, std::size_t inner, std::size_t cols, int bits = 8) {
  const Number number{bits, bits == 32};
  Operation result{.name = "layer", .op = "FullyConnected"};
  result.product = {1, rows, inner, cols, number, number, 32, 1};
  result.outputs = static_cast<double>(rows * cols);
  const auto bytes = [&](std::size_t count) { return static_cast<double>(count) * bits / 8; };
  result.reads = {{TensorRole::kInputs, bytes(rows * inner)},
                  {TensorRole::kWeights, bytes(inner * cols)}};
  result.writes = {{TensorRole::kOutputs, 4 * result.outputs}};
  return result;
}

/// An operator on elements of float32.
inline Operation elements(const std::string& op, double count, double operations = 1,
                          double functions = 0) {
  Operation result{.name = op, .op = op};
  result.operations = operations * count;
  result.functions = functions * count;
  result.outputs = count;
  result.reads = {{TensorRole::kInputs, 4 * count}};
  result.writes = {{TensorRole::kOutputs, 4 * count}};
  return result;
}

/// One unit of 100 products a nanosecond and 10 operations a nanosecond; a memory of 1 GB with 8
/// bytes a nanosecond.
inline Accelerator chip() {
  Accelerator result;
  result.name = "chip";
  ComputeUnit unit;
  unit.name = "core";
  unit.clock_hz = 1e9;
  unit.rates = {{8, 8, false, true, 100}, {32, 32, true, true, 20}};
  unit.operations_per_cycle = 10;
  unit.operations_per_function = 5;
  unit.pj_per_product = 2;
  unit.pj_per_operation = 3;
  result.units = {unit};
  Memory memory;
  memory.name = "DRAM";
  memory.bytes = 1e9;
  memory.bytes_per_second = 8e9;
  memory.pj_per_byte = 7;
  result.memories = {memory};
  return result;
}

}  // namespace halftone::accel::test
