// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/extents.h"

#include <vector>

#include "halftone/base/error.h"

namespace halftone::formats::onnx {

ir::Dim product_of(std::span<const ir::Dim> dims) {
  std::vector<ir::Dim> numbers(dims.begin(), dims.end());
  const auto batches = std::erase(numbers, ir::kBatch);
  const auto product = static_cast<ir::Dim>(ir::Shape(numbers).element_count());
  if (batches == 0) return product;
  if (batches > 1 || product != 1) {
    fail(ErrorKind::kUnsupported,
         "merges the batch with other axes: " +
             ir::Shape(std::vector<ir::Dim>(dims.begin(), dims.end())).to_string());
  }
  return ir::kBatch;
}

}  // namespace halftone::formats::onnx
