// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/operation_model.h"

#include <algorithm>

#include "halftone/accel/systolic.h"
#include "halftone/base/error.h"

namespace halftone::accel {
namespace {

double bytes_read(const Operation& operation, TensorRole role) {
  double sum = 0;
  for (const Transfer& each : operation.reads) {
    if (each.role == role) sum += each.bytes;
  }
  return sum;
}

/// The share of a unit's operations; its functions cost several.
double element_seconds(const ComputeUnit& unit, const Operation& operation) {
  const double operations =
      operation.operations + operation.functions * unit.operations_per_function;
  return operations / (static_cast<double>(unit.count) * unit.operations_per_cycle * unit.clock_hz *
                       unit.efficiency);
}

/// Inner steps of the busiest unit.
std::size_t rounds_of(const ComputeUnit& unit, const Product& product, std::size_t tiles) {
  const std::size_t steps = unit.rounded_inner(product) / unit.tile_inner;
  if (!unit.shares_inner(product.rows)) return divide_up(tiles, unit.count) * steps;
  // Programs for few rows divide the steps of all tiles evenly.
  if (unit.least_tile_rows != 0) return divide_up(tiles * steps, unit.count);
  // Few tiles leave units idle, unless several units share the inner extent of one.
  const std::size_t parts = std::clamp<std::size_t>(unit.count / tiles, 1, steps);
  return divide_up(tiles * parts, unit.count) * divide_up(steps, parts);
}

/// Cells with several lanes multiply several neighbours of the inner extent in a cycle; cells that
/// need several cycles for wide factors slow everything down.
double systolic_seconds(const ComputeUnit& unit, const Product& product) {
  const double per_cycle = unit.rate(product.w, product.x)->per_cycle;
  const auto lanes = std::max<std::size_t>(1, static_cast<std::size_t>(per_cycle));
  const SystolicArray array{unit.rows, unit.columns, unit.dataflow};
  const MatrixExtents extents{product.rows, product.cols, divide_up(product.inner, lanes)};
  const std::size_t folds = product.count * systolic_folds(array, extents);
  const std::uint64_t cycles = divide_up(folds, unit.count) * systolic_fold_cycles(array, extents);
  const double slowdown = std::max(1.0, static_cast<double>(lanes) / per_cycle);
  return static_cast<double>(cycles) * slowdown / (unit.clock_hz * unit.efficiency);
}

}  // namespace

const ComputeUnit* product_unit(const Accelerator& accelerator, const Product& product,
                                bool is_rounded) {
  const ComputeUnit* best = nullptr;
  double least = 0;
  for (const ComputeUnit& unit : accelerator.units) {
    if (unit.rate(product.w, product.x) == nullptr) continue;
    const double seconds = product_seconds(unit, product, is_rounded);
    if (best == nullptr || seconds < least) {
      best = &unit;
      least = seconds;
    }
  }
  return best;
}

const ComputeUnit* element_unit(const Accelerator& accelerator) {
  const ComputeUnit* best = nullptr;
  double best_rate = 0;
  for (const ComputeUnit& unit : accelerator.units) {
    const double rate = static_cast<double>(unit.count) * unit.operations_per_cycle * unit.clock_hz;
    if (rate > best_rate) {
      best = &unit;
      best_rate = rate;
    }
  }
  return best;
}

double product_rate(const ComputeUnit& unit, const Product& product) {
  return static_cast<double>(unit.count) * unit.products_per_cycle(product.w, product.x) *
         unit.clock_hz * unit.efficiency;
}

double product_seconds(const ComputeUnit& unit, const Product& product, bool is_rounded) {
  const double rate = product_rate(unit, product);
  if (!is_rounded) return product.products() / rate;
  if (unit.kind == UnitKind::kSystolic) return systolic_seconds(unit, product);
  const std::size_t height = unit.tile_height(product.rows);
  const std::size_t tiles =
      product.count * divide_up(product.rows, height) * divide_up(product.cols, unit.tile_columns);
  const std::size_t rounds = rounds_of(unit, product, tiles);
  const double products = static_cast<double>(rounds * unit.count) *
                          static_cast<double>(height * unit.tile_columns) *
                          static_cast<double>(unit.tile_inner);
  return products / rate;
}

OperationModel::OperationModel(const Accelerator& accelerator, const Workload& workload,
                               Method model)
    : OperationModel(accelerator, workload.operations.size(), workload.weight_bytes(), model) {}

OperationModel::OperationModel(const Accelerator& accelerator, std::size_t num_operations,
                               double weight_bytes, Method model)
    : accelerator_(accelerator),
      model_(model),
      num_operations_(num_operations),
      weight_bytes_(weight_bytes),
      weights_home_(find_weights_home()) {}

std::size_t OperationModel::find_weights_home() const {
  // One operation alone is measured with operands from outside.
  if (num_operations_ < 2) return 0;
  std::size_t home = 0;
  for (std::size_t i = 1; i < accelerator_.memories.size(); ++i) {
    const Memory& memory = accelerator_.memories[i];
    const bool has_room = memory.may_hold(TensorRole::kWeights) && weight_bytes_ <= memory.bytes;
    if (memory.count == 1 && has_room) home = i;
  }
  return home;
}

Homes OperationModel::homes_of(const Operation& operation, std::size_t index) const {
  double bytes = 0;
  for (const auto* list : {&operation.reads, &operation.writes}) {
    for (const Transfer& each : *list) {
      if (each.role == TensorRole::kInputs || each.role == TensorRole::kOutputs)
        bytes += each.bytes;
    }
  }
  Homes homes;
  homes.weights = weights_home_;
  for (std::size_t i = 1; i < accelerator_.memories.size(); ++i) {
    const Memory& memory = accelerator_.memories[i];
    const double taken = weights_home_ == i ? weight_bytes_ : 0;
    const bool may = memory.may_hold(TensorRole::kInputs) && memory.may_hold(TensorRole::kOutputs);
    if (memory.count == 1 && may && bytes + taken <= memory.bytes) homes.inputs = i;
  }
  homes.outputs = homes.inputs;
  if (index == 0) homes.inputs = 0;
  if (index + 1 == num_operations_) homes.outputs = 0;
  return homes;
}

std::string OperationModel::refusal(const Operation& operation) const {
  const Product& product = operation.product;
  if (operation.has_product() && product_unit(accelerator_, product, false) == nullptr) {
    return "no unit multiplies weights of " + to_string(product.w) + " with inputs of " +
           to_string(product.x);
  }
  if (operation.operations + operation.functions > 0 && !operation.has_product() &&
      element_unit(accelerator_) == nullptr && !accelerator_.rule(operation).s_per_operation) {
    return "no unit has operations_per_cycle";
  }
  return "";
}

double OperationModel::memory_seconds(OperationEstimate& result) const {
  double slowest = 0;
  for (LevelTraffic& each : result.traffic) {
    const Memory& memory = accelerator_.memories[each.memory];
    const double bytes = each.bytes_read + each.bytes_written;
    each.seconds = bytes > 0 ? memory.latency_s + bytes / memory.bandwidth() : 0;
    if (each.seconds > slowest) {
      slowest = each.seconds;
      result.bound = memory.name;
    }
    result.energy_j += 1e-12 * bytes * memory.pj_per_byte;
  }
  return slowest;
}

Traffic OperationModel::traffic_of(const Operation& operation, const Homes& homes,
                                   const ComputeUnit* unit) const {
  if (model_ == Method::kRoofline || unit == nullptr) {
    return compulsory_traffic(operation, accelerator_, homes, accelerator_.rule(operation).passes);
  }
  const std::string where = "'" + operation.name + "' on " + accelerator_.name;
  return with_context(where, [&] { return tiled_traffic(operation, accelerator_, *unit, homes); });
}

double OperationModel::compute_seconds(const Operation& operation, const ComputeUnit* unit) const {
  const OperatorRule rule = accelerator_.rule(operation);
  const ComputeUnit* elements = element_unit(accelerator_);
  double products = 0;
  if (unit != nullptr) {
    products = product_seconds(*unit, operation.product, model_ != Method::kRoofline);
  }
  double others = elements == nullptr ? 0 : element_seconds(*elements, operation);
  if (rule.s_per_operation) {
    others = *rule.s_per_operation * (operation.operations + operation.functions);
  }
  const double both = unit == elements ? products + others : std::max(products, others);
  return both / rule.efficiency +
         rule.s_per_input_byte * bytes_read(operation, TensorRole::kInputs) +
         rule.s_per_weight_byte * bytes_read(operation, TensorRole::kWeights) +
         rule.s_per_output * operation.outputs;
}

double OperationModel::simulated_seconds(const OperationEstimate& result, double start_s,
                                         std::vector<Bar>* timeline) const {
  constexpr std::size_t kMaxTiles = 256;
  const LevelTraffic& outer = result.traffic.front();
  const Memory& memory = accelerator_.memories.front();
  TilePipeline pipeline;
  pipeline.tiles = std::clamp<std::size_t>(result.tiles, 1, kMaxTiles);
  const auto tiles = static_cast<double>(pipeline.tiles);
  pipeline.load_s = outer.bytes_read / memory.bandwidth() / tiles;
  pipeline.store_s = outer.bytes_written / memory.bandwidth() / tiles;
  pipeline.compute_s = result.compute_s / tiles;
  pipeline.buffers = memory.double_buffered ? 2 : 1;
  pipeline.shared_port = true;
  const TileTasks all = tile_tasks(pipeline);
  const std::vector<TaskRun> runs = simulate(all.system, all.tasks);
  const double begin = start_s + result.overhead_s + memory.latency_s;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].end_s == runs[i].start_s) continue;
    const bool computes = all.tasks[i].resource == 1;
    timeline->push_back({computes ? result.unit : memory.name, result.name, begin + runs[i].start_s,
                         begin + runs[i].end_s});
  }
  return memory.latency_s + finish(runs);
}

void OperationModel::add_energy(const Operation& operation, const ComputeUnit* unit,
                                OperationEstimate& result) const {
  if (unit != nullptr) {
    result.energy_j +=
        1e-12 * result.products * unit->product_pj(operation.product.w, operation.product.x);
    const double peak = product_rate(*unit, operation.product) / unit->efficiency;
    result.utilization = result.products / (result.seconds * peak);
  }
  if (const ComputeUnit* elements = element_unit(accelerator_)) {
    const double operations =
        operation.operations + operation.functions * elements->operations_per_function;
    result.energy_j += 1e-12 * elements->pj_per_operation * operations;
  }
  const double outer = result.traffic.front().bytes_read + result.traffic.front().bytes_written;
  result.intensity = outer > 0 ? result.products / outer : 0;
}

OperationEstimate OperationModel::estimate(const Operation& operation, std::size_t index,
                                           double start_s, std::vector<Bar>* timeline) const {
  const ComputeUnit* unit = operation.has_product() ? product_unit(accelerator_, operation.product,
                                                                   model_ != Method::kRoofline)
                                                    : nullptr;
  OperationEstimate result{.name = operation.name, .op = operation.op};
  const Product& product = operation.product;
  result.products = product.products();
  if (result.products > 0) {
    result.matrix = {product.count, product.rows,         product.inner,
                     product.cols,  to_string(product.x), to_string(product.w)};
  }
  result.overhead_s = accelerator_.rule(operation).overhead_s;
  result.compute_s = compute_seconds(operation, unit);
  result.unit = unit_name(operation, unit);
  const Traffic traffic = traffic_of(operation, homes_of(operation, index), unit);
  for (std::size_t i = 0; i < traffic.memories.size(); ++i) {
    result.traffic.push_back({i, traffic.memories[i].read, traffic.memories[i].written, 0});
  }
  result.tiles = traffic.tiles;
  const double memory_s = memory_seconds(result);
  const bool overlaps = accelerator_.memories.front().double_buffered;
  double busy = overlaps ? std::max(result.compute_s, memory_s) : result.compute_s + memory_s;
  if (result.compute_s >= memory_s) result.bound = "compute";
  if (model_ == Method::kEvents) {
    busy = std::max(busy, simulated_seconds(result, start_s, timeline));
  } else {
    timeline->push_back({result.unit, result.name, start_s, start_s + result.overhead_s + busy});
  }
  if (result.overhead_s > busy) result.bound = "overhead";
  result.seconds = result.overhead_s + busy;
  add_energy(operation, unit, result);
  return result;
}

std::string OperationModel::unit_name(const Operation& operation, const ComputeUnit* unit) const {
  if (unit != nullptr) return unit->name;
  const ComputeUnit* elements = element_unit(accelerator_);
  const bool computes = operation.operations + operation.functions > 0;
  return computes && elements != nullptr ? elements->name : "-";
}

}  // namespace halftone::accel
