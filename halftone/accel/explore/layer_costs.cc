// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/explore/layer_costs.h"

#include <algorithm>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::accel {
namespace {

/// Where first and last operations stand among those that an OperationModel is told of.
constexpr std::size_t kPlaces = 3;

std::size_t place_of(LayerWork::Entry entry) {
  if (entry.is_first) return 0;
  return entry.is_last ? kPlaces - 1 : 1;
}

double number_key(const Number& number) { return number.bits * (number.is_float ? -1 : 1); }

/// All that estimates depend on, but the name.
std::pair<std::string, std::vector<double>> kind_key(const Operation& operation) {
  const Product& product = operation.product;
  std::vector<double> key = {static_cast<double>(product.count),
                             static_cast<double>(product.rows),
                             static_cast<double>(product.inner),
                             static_cast<double>(product.cols),
                             number_key(product.x),
                             number_key(product.w),
                             static_cast<double>(product.y_bits),
                             product.x_reuse,
                             static_cast<double>(product.taps),
                             operation.operations,
                             operation.functions,
                             operation.outputs,
                             static_cast<double>(operation.reads.size())};
  for (const auto* list : {&operation.reads, &operation.writes}) {
    for (const Transfer& each : *list) {
      key.push_back(static_cast<double>(each.role));
      key.push_back(each.bytes);
    }
  }
  return {operation.op, std::move(key)};
}

double bytes_of(const Operation& operation, bool is_weights) {
  double sum = 0;
  for (const auto* list : {&operation.reads, &operation.writes}) {
    for (const Transfer& each : *list) {
      if ((each.role == TensorRole::kWeights) == is_weights) sum += each.bytes;
    }
  }
  return sum;
}

/// The layer that an operation belongs to by its name.
std::optional<std::size_t> layer_named(std::string_view name, std::span<const std::string> layers) {
  std::optional<std::size_t> found;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string& layer = layers[i];
    const bool is_own =
        name.starts_with(layer) && (name.size() == layer.size() || name[layer.size()] == '/');
    if (!is_own || (found && layer.size() <= longest)) continue;
    found = i;
    longest = layer.size();
  }
  return found;
}

}  // namespace

LayerWork::LayerWork(std::span<const Workload> by_pair, std::span<const std::string> layers)
    : num_layers_(layers.size()), parts_(by_pair.size() * layers.size()) {
  for (std::size_t pair = 0; pair < by_pair.size(); ++pair) {
    const std::vector<Operation>& operations = by_pair[pair].operations;
    has_one_operation_ = operations.size() == 1;
    std::size_t layer = 0;
    std::vector<bool> has_product(num_layers_);
    for (std::size_t i = 0; i < operations.size(); ++i) {
      layer = layer_named(operations[i].name, layers).value_or(layer);
      if (operations[i].name == layers[layer]) has_product[layer] = true;
      add(operations[i], {0, i == 0, i + 1 == operations.size()},
          parts_[pair * num_layers_ + layer]);
    }
    const auto missing = std::ranges::find(has_product, false);
    if (missing == has_product.end()) continue;
    fail(ErrorKind::kInternal, "layer '" +
                                   layers[static_cast<std::size_t>(missing - has_product.begin())] +
                                   "' has no operation in the network as it runs");
  }
}

void LayerWork::add(const Operation& operation, Entry place, Part& part) {
  const auto [found, is_new] = index_of_.try_emplace(kind_key(operation), kinds_.size());
  if (is_new) kinds_.push_back(operation);
  place.kind = found->second;
  part.operations.push_back(place);
  part.weight_bytes += bytes_of(operation, true);
  part.activation_bytes = std::max(part.activation_bytes, bytes_of(operation, false));
}

LayerCosts::LayerCosts(const Accelerator& accelerator, const LayerWork& work, Method model)
    : accelerator_(accelerator), work_(work), model_(model) {}

OperationModel LayerCosts::model_with(double weight_bytes) const {
  return {accelerator_, work_.has_one_operation() ? 1 : kPlaces, weight_bytes, model_};
}

std::optional<Cost> LayerCosts::operation_cost(const OperationModel& model,
                                               LayerWork::Entry entry) {
  const Operation& operation = work_.kinds()[entry.kind];
  const std::size_t place = place_of(entry);
  const Homes homes = model.homes_of(operation, place);
  const std::array<std::size_t, 4> key = {entry.kind, homes.weights, homes.inputs, homes.outputs};
  const auto [found, is_new] = known_.try_emplace(key);
  Known& known = found->second;
  if (is_new) {
    known.refusal = model.refusal(operation);
    try {
      std::vector<Bar> timeline;
      if (known.refusal.empty()) {
        const OperationEstimate estimate = model.estimate(operation, place, 0, &timeline);
        known.cost = Cost{estimate.seconds, estimate.energy_j};
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kShape) throw;  // no mapping fits
      known.refusal = error.what();
    }
  }
  if (!known.cost) refusal_ = known.refusal;
  return known.cost;
}

std::optional<Cost> LayerCosts::layer_cost(const OperationModel& model, std::size_t layer,
                                           std::size_t pair) {
  Cost sum;
  for (const LayerWork::Entry& entry : work_.operations(layer, pair)) {
    const std::optional<Cost> each = operation_cost(model, entry);
    if (!each) return std::nullopt;
    sum.seconds += each->seconds;
    sum.energy_j += each->energy_j;
  }
  sum.energy_j += (accelerator_.idle_w + accelerator_.active_w) * sum.seconds;
  return sum;
}

std::optional<Cost> LayerCosts::cost(std::size_t layer, std::size_t pair, double weight_bytes) {
  return layer_cost(model_with(weight_bytes), layer, pair);
}

double LayerCosts::weight_bytes(std::span<const std::uint16_t> pairs) const {
  double sum = 0;
  for (std::size_t layer = 0; layer < pairs.size(); ++layer) {
    sum += work_.weight_bytes(layer, pairs[layer]);
  }
  return sum;
}

bool LayerCosts::has_room(std::span<const std::uint16_t> pairs) const {
  double largest = 0;
  for (std::size_t layer = 0; layer < pairs.size(); ++layer) {
    largest = std::max(largest, work_.activation_bytes(layer, pairs[layer]));
  }
  return weight_bytes(pairs) + largest <= accelerator_.memories.front().bytes;
}

std::optional<Cost> LayerCosts::total(std::span<const std::uint16_t> pairs) {
  const OperationModel model = model_with(weight_bytes(pairs));
  Cost sum;
  for (std::size_t layer = 0; layer < pairs.size(); ++layer) {
    const std::optional<Cost> each = layer_cost(model, layer, pairs[layer]);
    if (!each) return std::nullopt;
    sum.seconds += each->seconds;
    sum.energy_j += each->energy_j;
  }
  return sum;
}

}  // namespace halftone::accel
