// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/extents.h"

#include <algorithm>
#include <vector>

#include "halftone/base/error.h"

namespace halftone::formats::onnx {

ir::Dim product_of(std::span<const ir::Dim> dims) {
  const ir::Shape shape(std::vector<ir::Dim>(dims.begin(), dims.end()));
  const auto batches = std::ranges::count_if(dims, ir::is_batch);
  if (batches > 1) {
    fail(ErrorKind::kUnsupported, "merges two batch axes: " + shape.to_string());
  }
  const auto product = static_cast<ir::Dim>(shape.with_batch(1).element_count());
  return batches == 0 ? product : -product;
}

}  // namespace halftone::formats::onnx
