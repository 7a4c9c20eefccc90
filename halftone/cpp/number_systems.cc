// SPDX-License-Identifier: Apache-2.0
#include "halftone/number_systems.hpp"

#include <algorithm>
#include <utility>

#include "halftone/api/number_systems.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {

struct Encoding::State {
  numerics::MatrixEncoding encoding;
  Extents shape;  ///< of the array that it was fitted to
};

namespace {

/// @throws halftone::Error kUsage if the elements have another type
template <typename T>
MatrixView<const T> matrix_of(const Tensor& tensor) {
  const std::span<const T> values = tensor.values<T>();
  const std::size_t rows = tensor.shape().empty() ? 1 : tensor.shape().front();
  return {values, rows, rows == 0 ? 0 : values.size() / rows};
}

void check_shape(const Extents& expected, const Extents& found) {
  if (expected == found) return;
  fail(halftone::ErrorKind::kShape,
       "encoding: expected an array of the shape that it was fitted to, found another");
}

}  // namespace

std::vector<NumberSystem> number_systems() {
  const std::vector<NumberSystemInfo> systems = list_number_systems();
  return {systems.begin(), systems.end()};
}

std::vector<float> levels_of(std::string_view system, int bits) {
  return at_border([&] { return number_system_levels(system, bits).levels; });
}

Encoding::Encoding(std::shared_ptr<const State> state) : state_(std::move(state)) {}

int Encoding::bits() const { return state_->encoding.bits; }

std::string Encoding::text() const {
  return ir::Encoding{ElementType::kFloat32,
                      std::make_shared<const numerics::MatrixEncoding>(state_->encoding)}
      .to_string();
}

Tensor Encoding::encode(const Tensor& values) const {
  return at_border([&] {
    check_shape(state_->shape, values.shape());
    return Tensor(values.shape(), encode_array(matrix_of<float>(values), state_->encoding));
  });
}

Tensor Encoding::decode(const Tensor& codes) const {
  return at_border([&] {
    check_shape(state_->shape, codes.shape());
    return Tensor(codes.shape(), decode_array(matrix_of<std::uint16_t>(codes), state_->encoding));
  });
}

Encoding fit(const Tensor& values, const ArrayFormat& format) {
  return at_border([&] {
    return Encoding(std::make_shared<const Encoding::State>(
        Encoding::State{fit_encoding(matrix_of<float>(values), format), values.shape()}));
  });
}

}  // namespace halftone::v0
