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
    return FactoredMatrix::can_hold(*blocks->encoding);
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
  FactoredMatrix matrix(blocks);
  if (const auto* basis = blocks.encoding->basis) add_basis(name, *basis);
  const auto factors = static_cast<std::int64_t>(matrix.num_factors());
  matrices_.emplace(name, Matrix{std::move(matrix), {at::zeros({factors})}});
}

void TunedNumbers::add_basis(const std::string& name, const numerics::VectorBasis& basis) {
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
  each.logarithms.add(each.matrix.gradient(gradient));
  if (each.matrix.encoding().basis == nullptr) return;
  Basis& basis = bases_.at(each.matrix.encoding().basis->rate());
  basis.change.add((basis_gradient(each.matrix.blocks(), gradient) * basis.unit).to(at::kFloat));
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
    const numerics::BlockEncoding& encoding = each.matrix.encoding();
    if (encoding.basis != nullptr) {
      const auto& current = bases_.at(encoding.basis->rate()).current;
      if (*current != *encoding.basis) {
        each.matrix.set_encoding(
            std::make_shared<const numerics::VectorEncoding>(current, encoding.factor));
      }
    }
    each.matrix.set(each.logarithms.value);
  }
}

std::size_t TunedNumbers::num_scales() const {
  std::size_t count = 0;
  for (const auto& [name, each] : matrices_) count += each.matrix.num_factors();
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
