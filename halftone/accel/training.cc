// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/training.h"

#include <utility>

namespace halftone::accel {
namespace {

double bytes_of(const std::vector<Transfer>& transfers, TensorRole role) {
  double sum = 0;
  for (const Transfer& each : transfers) {
    if (each.role == role) sum += each.bytes;
  }
  return sum;
}

bool reads_weights(const Operation& forward) {
  return bytes_of(forward.reads, TensorRole::kWeights) > 0;
}

/// The number of weights that a layer's product reads.
double num_weights(const Operation& forward) {
  const Product& product = forward.product;
  return static_cast<double>(product.count) * static_cast<double>(product.inner) *
         static_cast<double>(product.cols);
}

double num_inputs(const Operation& forward) {
  const Product& product = forward.product;
  return static_cast<double>(product.count) * static_cast<double>(product.rows) *
         static_cast<double>(product.inner) * product.x_reuse;
}

class Backward {
 public:
  explicit Backward(const TrainingSettings& settings) : settings_(settings) {}

  void append(const Operation& forward, std::vector<Operation>& operations) const {
    if (!forward.has_product()) {
      if (forward.needs_input_gradient) operations.push_back(elements(forward));
      return;
    }
    if (forward.needs_input_gradient) operations.push_back(gradient_of_inputs(forward));
    if (!forward.needs_input_gradient && !reads_weights(forward)) return;
    operations.push_back(gradient_of_weights(forward));
  }

  [[nodiscard]] Operation update(const Operation& forward) const {
    const double weights = num_weights(forward);
    Operation result{.name = forward.name + " update", .op = "Update"};
    result.is_backward = true;
    result.operations = 12 * weights;
    result.outputs = weights;
    const double states =
        weights * static_cast<double>(settings_.optimizer_states + 1) * settings_.master_bits / 8;
    const double stored = bytes_of(forward.reads, TensorRole::kWeights);
    result.reads = {{TensorRole::kGradients, gradient_bytes(weights)},
                    {TensorRole::kOptimizer, states}};
    result.writes = {{TensorRole::kOptimizer, states}, {TensorRole::kOptimizer, stored}};
    return result;
  }

  [[nodiscard]] double gradient_bytes(double elements) const {
    return elements * settings_.gradients.bits / 8;
  }

 private:
  [[nodiscard]] Operation elements(const Operation& forward) const {
    Operation result = forward;
    result.name += " backward";
    result.is_backward = true;
    const double gradients = gradient_bytes(forward.outputs);
    result.reads.push_back({TensorRole::kGradients, gradients});
    result.writes = {{TensorRole::kGradients, gradients}};
    return result;
  }

  /// dx[rows, inner] = dy[rows, cols] w^T[cols, inner].
  [[nodiscard]] Operation gradient_of_inputs(const Operation& forward) const {
    Operation result{.name = forward.name + " backward", .op = forward.op};
    const Product& product = forward.product;
    result.is_backward = true;
    result.product = product;
    result.product.inner = product.cols;
    result.product.cols = product.inner;
    result.product.taps = 1;  // of the outer extent now
    result.product.x = settings_.gradients;
    result.product.x_reuse = 1;
    result.product.y_bits = settings_.gradients.bits;
    result.outputs = num_inputs(forward);
    result.reads = {{TensorRole::kGradients, gradient_bytes(forward.outputs)}};
    for (const Transfer& each : forward.reads) {
      if (each.role != TensorRole::kInputs) result.reads.push_back(each);
    }
    result.writes = {{TensorRole::kGradients, gradient_bytes(result.outputs)}};
    result.joins_shares = forward.joins_shares;
    return result;
  }

  /// dw[inner, cols] = x^T[inner, rows] dy[rows, cols].
  [[nodiscard]] Operation gradient_of_weights(const Operation& forward) const {
    Operation result{.name = forward.name + " gradient", .op = forward.op};
    const Product& product = forward.product;
    result.is_backward = true;
    result.is_gradient_of_weights = reads_weights(forward);
    result.product = product;
    result.product.rows = product.inner;
    result.product.inner = product.rows;
    result.product.taps = 1;
    result.product.w = settings_.gradients;
    result.product.y_bits = settings_.gradients.bits;
    result.outputs = num_weights(forward);
    result.reads = {{TensorRole::kInputs, bytes_of(forward.reads, TensorRole::kInputs)},
                    {TensorRole::kGradients, gradient_bytes(forward.outputs)}};
    result.writes = {{TensorRole::kGradients, gradient_bytes(result.outputs)}};
    return result;
  }

  const TrainingSettings& settings_;
};

}  // namespace

Workload with_training(const Workload& forward, const TrainingSettings& settings) {
  Workload result = forward;
  result.name += ", training";
  const Backward backward(settings);
  for (std::size_t i = forward.operations.size(); i-- > 0;) {
    backward.append(forward.operations[i], result.operations);
  }
  for (const Operation& each : forward.operations) {
    // Kept for the way back.
    result.training_bytes += bytes_of(each.reads, TensorRole::kInputs);
    if (!each.has_product() || !reads_weights(each)) continue;
    const double weights = num_weights(each);
    result.training_bytes +=
        backward.gradient_bytes(weights) +
        weights * static_cast<double>(settings.optimizer_states + 1) * settings.master_bits / 8;
    result.operations.push_back(backward.update(each));
  }
  return result;
}

}  // namespace halftone::accel
