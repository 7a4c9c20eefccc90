// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/tune/tuned_numbers.h"

#include <ATen/ATen.h>

#include <utility>
#include <variant>

#include "halftone/base/error.h"
#include "halftone/train/graph/torch_tensor.h"

namespace halftone::train {
namespace {

/// The root mean square of numbers; 1 if all are 0.
double size_of(const at::Tensor& numbers) {
  const double size = numbers.to(at::kDouble).square().mean().sqrt().item<double>();
  return size > 0 ? size : 1;
}

at::Tensor entries_of(const numerics::VectorBasis& basis) {
  std::vector<float> entries(basis.matrix().begin(), basis.matrix().end());
  return at::tensor(entries).reshape({basis.numbers(), basis.signs()});
}

}  // namespace

void TunedNumbers::Parameter::add(const at::Tensor& more) {
  gradient = gradient.defined() ? gradient + more : more;
}

bool can_be_tuned(const ir::Constant& constant) {
  if (const auto* blocks = std::get_if<ir::BlockTensor>(&constant)) {
    return blocks->encoding->basis != nullptr;
  }
  const auto* tensor = std::get_if<ir::Tensor>(&constant);
  return tensor != nullptr && tensor->element() == ir::ElementType::kFloat32 &&
         tensor->shape().rank() == 1;
}

TunedNumbers::TunedNumbers(const NamedConstants& constants) {
  for (const auto& [name, constant] : constants) {
    if (const auto* blocks = std::get_if<ir::BlockTensor>(constant.get())) {
      add_matrix(name, *blocks);
    } else {
      add_vector(name, std::get<ir::Tensor>(*constant));
    }
  }
}

void TunedNumbers::add_matrix(const std::string& name, const ir::BlockTensor& blocks) {
  VectorMatrix matrix(blocks);
  const auto groups = static_cast<std::int64_t>(matrix.num_groups());
  const numerics::VectorBasis& basis = *blocks.encoding->basis;
  const auto [at, is_new] = bases_.try_emplace(basis.rate());
  if (is_new) {
    const at::Tensor start = entries_of(basis);
    at->second = {std::make_shared<const numerics::VectorBasis>(basis.numbers(), basis.matrix()),
                  start,
                  size_of(start),
                  {at::zeros_like(start)}};
  } else if (*at->second.current != basis) {
    fail(ErrorKind::kUnsupported,
         "tensor '" + name + "': another basis " + basis.rate() + " than that of other tensors");
  }
  at::Tensor least = matrix.least();
  at::Tensor largest = matrix.largest();
  matrices_.emplace(
      name, Matrix{std::move(matrix), {at::zeros({groups})}, std::move(least), std::move(largest)});
}

void TunedNumbers::add_vector(const std::string& name, const ir::Tensor& tensor) {
  const at::Tensor start = to_torch(tensor);
  vectors_.emplace(name, Vector{start, size_of(start), {at::zeros_like(start)}});
}

at::Tensor TunedNumbers::weights(const std::string& name) const {
  const auto matrix = matrices_.find(name);
  if (matrix != matrices_.end()) return matrix->second.matrix.weights();
  const Vector& vector = vectors_.at(name);
  return vector.start + vector.change.value * vector.unit;
}

NamedConstants TunedNumbers::constants() const {
  NamedConstants result;
  for (const auto& [name, each] : matrices_) {
    ir::BlockTensor blocks = each.matrix.blocks();
    blocks.bytes = own_bytes({blocks.bytes.bytes.begin(), blocks.bytes.bytes.end()});
    result.emplace(name, std::make_shared<const ir::Constant>(std::move(blocks)));
  }
  for (const auto& [name, each] : vectors_) {
    result.emplace(name, std::make_shared<const ir::Constant>(to_ir(weights(name))));
  }
  return result;
}

void TunedNumbers::add_gradient(const std::string& name, const at::Tensor& gradient) {
  const auto matrix = matrices_.find(name);
  if (matrix == matrices_.end()) {
    Vector& vector = vectors_.at(name);
    return vector.change.add(gradient * vector.unit);
  }
  Matrix& each = matrix->second;
  const VectorMatrix::Gradients gradients = each.matrix.gradients(gradient);
  each.logarithms.add(gradients.u);
  Basis& basis = bases_.at(each.matrix.basis().rate());
  basis.change.add((gradients.basis * basis.unit).to(at::kFloat));
}

template <typename Visit>
void TunedNumbers::visit(Visit&& visit) const {
  for (const auto& [name, each] : matrices_) visit("scales/" + name, each.logarithms);
  for (const auto& [name, each] : vectors_) visit("vector/" + name, each.change);
  for (const auto& [name, each] : bases_) visit("basis/" + name, each.change);
}

std::vector<at::Tensor> TunedNumbers::take_gradients() {
  std::vector<at::Tensor> result;
  visit(
      [&](const std::string& /*name*/, const Parameter& each) { result.push_back(each.gradient); });
  for (auto& [name, each] : matrices_) each.logarithms.gradient.reset();
  for (auto& [name, each] : vectors_) each.change.gradient.reset();
  for (auto& [name, each] : bases_) each.change.gradient.reset();
  return result;
}

std::vector<at::Tensor> TunedNumbers::parameters() const {
  std::vector<at::Tensor> result;
  visit([&](const std::string& /*name*/, const Parameter& each) { result.push_back(each.value); });
  return result;
}

NamedTensors TunedNumbers::state() const {
  NamedTensors result;
  visit([&](const std::string& name, const Parameter& each) {
    result.push_back({name, each.value});
  });
  return result;
}

void TunedNumbers::set_state(const NamedTensors& state) {
  assign(this->state(), state);
  update();
}

void TunedNumbers::update() {
  const at::NoGradGuard no_gradient;
  for (auto& [rate, each] : bases_) {
    each.current = nearest_basis(each.start + each.change.value * each.unit, *each.current);
  }
  for (auto& [name, each] : matrices_) {
    each.logarithms.value.copy_(
        at::minimum(at::maximum(each.logarithms.value, each.least), each.largest));
    each.matrix.set(each.logarithms.value, bases_.at(each.matrix.basis().rate()).current);
  }
}

std::size_t TunedNumbers::num_scales() const {
  std::size_t count = 0;
  for (const auto& [name, each] : matrices_) count += each.matrix.num_groups();
  return count;
}

std::size_t TunedNumbers::num_vector_elements() const {
  std::size_t count = 0;
  for (const auto& [name, each] : vectors_) count += static_cast<std::size_t>(each.start.numel());
  return count;
}

std::vector<std::string> TunedNumbers::bases() const {
  std::vector<std::string> rates;
  for (const auto& [rate, each] : bases_) rates.push_back(rate);
  return rates;
}

}  // namespace halftone::train
