// SPDX-License-Identifier: Apache-2.0
#include "halftone/number_systems.hpp"

#include <optional>
#include <utility>

#include "halftone/api/number_systems.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {

struct Encoding::State {
  numerics::MatrixEncoding encoding;
  std::optional<Extents> shape{};  ///< of the array that it was fitted to; nullopt: any
};

namespace {

/// @throws halftone::Error kUsage if the elements have another type
template <typename T>
MatrixView<const T> matrix_of(const Tensor& tensor) {
  const std::span<const T> values = tensor.values<T>();
  const std::size_t rows = tensor.shape().empty() ? 1 : tensor.shape().front();
  return {values, rows, rows == 0 ? 0 : values.size() / rows};
}

void check_shape(const std::optional<Extents>& expected, const Extents& found) {
  if (!expected || *expected == found) return;
  fail(halftone::ErrorKind::kShape,
       "encoding: expected an array of the shape that it was fitted to, found another");
}

}  // namespace

std::vector<NumberSystem> number_systems() { return list_number_systems(); }

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

std::size_t Encoding::num_blocks() const { return state_->encoding.num_blocks(); }

std::vector<float> Encoding::levels(std::size_t block) const {
  return at_border([&] { return levels_of_block(state_->encoding, block); });
}

Encoding Internals::encoding(numerics::MatrixEncoding encoding, std::optional<Extents> shape) {
  return Encoding(std::make_shared<const Encoding::State>(
      Encoding::State{std::move(encoding), std::move(shape)}));
}

Encoding fit(const Tensor& values, const ArrayFormat& format) {
  return at_border([&] {
    return Internals::encoding(fit_encoding(matrix_of<float>(values), format), values.shape());
  });
}

Encoding rule_encoding(const Tensor& values, const ArrayFormat& format) {
  return at_border([&] {
    return Internals::encoding(halftone::rule_encoding(matrix_of<float>(values), format),
                               values.shape());
  });
}

Encoding uniform_encoding(const std::vector<float>& scales,
                          const std::vector<std::int64_t>& zero_points, int bits) {
  return at_border(
      [&] { return Internals::encoding(halftone::uniform_encoding(scales, zero_points, bits)); });
}

Encoding fixed_point_encoding(int exponent, int bits) {
  return at_border(
      [&] { return Internals::encoding(halftone::fixed_point_encoding(exponent, bits)); });
}

Encoding minifloat_encoding(int exponent_bits, int mantissa_bits, float scale) {
  return at_border([&] {
    return Internals::encoding(halftone::minifloat_encoding(exponent_bits, mantissa_bits, scale));
  });
}

}  // namespace halftone::v0
