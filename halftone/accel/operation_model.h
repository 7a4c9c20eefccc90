// SPDX-License-Identifier: Apache-2.0
// One operation on described hardware: units, memories, bounds.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "halftone/accel/estimate.h"
#include "halftone/accel/tiles.h"

namespace halftone::accel {

/// The models behind estimate(), for the operations of one workload.
class OperationModel {
 public:
  /// Both must outlive this.
  OperationModel(const Accelerator& accelerator, const Workload& workload, Method model);
  /// For operations of a workload of which only this is known.
  OperationModel(const Accelerator& accelerator, std::size_t num_operations, double weight_bytes,
                 Method model);

  [[nodiscard]] const Accelerator& accelerator() const { return accelerator_; }
  /// Why no unit computes an operation; empty if one does.
  [[nodiscard]] std::string refusal(const Operation& operation) const;
  /// The memories that the operands of an operation are in. @param index  as in estimate()
  [[nodiscard]] Homes homes_of(const Operation& operation, std::size_t index) const;
  /// @param index     of the operation in the workload
  /// @param start_s   when it starts
  /// @param timeline  gets its bars
  /// @pre refusal() is empty
  OperationEstimate estimate(const Operation& operation, std::size_t index, double start_s,
                             std::vector<Bar>* timeline) const;

 private:
  [[nodiscard]] std::size_t find_weights_home() const;
  [[nodiscard]] Traffic traffic_of(const Operation& operation, const Homes& homes,
                                   const ComputeUnit* unit) const;
  [[nodiscard]] double compute_seconds(const Operation& operation, const ComputeUnit* unit) const;
  /// The time of each memory, the slowest of which becomes the bound.
  [[nodiscard]] double memory_seconds(OperationEstimate& result) const;
  /// Tiles of equal size through the outermost memory and the units.
  [[nodiscard]] double simulated_seconds(const OperationEstimate& result, double start_s,
                                         std::vector<Bar>* timeline) const;

  [[nodiscard]] std::string unit_name(const Operation& operation, const ComputeUnit* unit) const;
  void add_energy(const Operation& operation, const ComputeUnit* unit,
                  OperationEstimate& result) const;

  const Accelerator& accelerator_;
  Method model_;
  std::size_t num_operations_;
  double weight_bytes_;
  std::size_t weights_home_;
};

/// The unit that takes least for a product; null if none takes its factors.
/// @param is_rounded  as in product_seconds()
const ComputeUnit* product_unit(const Accelerator& accelerator, const Product& product,
                                bool is_rounded);
/// The unit with the most operations a second; null if none has any.
const ComputeUnit* element_unit(const Accelerator& accelerator);
/// Products a second of all units of a kind, as far as programs reach it.
double product_rate(const ComputeUnit& unit, const Product& product);
/// The time of a product whose operands never wait.
/// @param is_rounded  whether extents are rounded up to what units compute at once; where there are
///                    fewer tiles than units, several units share the inner extent of one
double product_seconds(const ComputeUnit& unit, const Product& product, bool is_rounded);

}  // namespace halftone::accel
