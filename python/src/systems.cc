// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "halftone/api/devices.h"
#include "halftone/api/number_systems.h"
#include "halftone/base/error.h"
#include "halftone/report/report.h"
#include "python/src/array.h"
#include "python/src/bind.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

/// What the codes of an array of two axes mean, and the extents that its scales are for.
struct EncodingHolder {
  numerics::MatrixEncoding encoding;
  std::size_t rows = 0;
  std::size_t cols = 0;
};

template <typename T>
MatrixView<const T> matrix(const Array& array) {
  const std::vector<std::size_t> shape = array.shape();
  if (shape.size() != 2) {
    fail(ErrorKind::kShape, "expected two axes, found " + std::to_string(shape.size()));
  }
  return {array.as<T>(), shape[0], shape[1]};
}

template <typename T>
void copy_to(const std::vector<T>& numbers, const nb::object& out) {
  const Array array(out, Access::kWrite);
  const std::span<T> dst = array.writable<T>();
  if (dst.size() != numbers.size()) {
    fail(ErrorKind::kShape, "expected room for " + std::to_string(numbers.size()) +
                                " numbers, found " + std::to_string(dst.size()));
  }
  std::ranges::copy(numbers, dst.begin());
}

EncodingHolder fit(const nb::object& values, const ArrayFormat& format) {
  const Array array(values, Access::kRead);
  const MatrixView<const float> view = matrix<float>(array);
  const nb::gil_scoped_release no_gil;
  return {fit_encoding(view, format), view.rows(), view.cols()};
}

void encode(const EncodingHolder& holder, const nb::object& values, const nb::object& codes) {
  const Array array(values, Access::kRead);
  const MatrixView<const float> view = matrix<float>(array);
  const std::vector<std::uint16_t> result = [&] {
    const nb::gil_scoped_release no_gil;
    return encode_array(view, holder.encoding);
  }();
  copy_to(result, codes);
}

void decode(const EncodingHolder& holder, const nb::object& codes, const nb::object& values) {
  const Array array(codes, Access::kRead);
  const MatrixView<const std::uint16_t> view = matrix<std::uint16_t>(array);
  const std::vector<float> result = [&] {
    const nb::gil_scoped_release no_gil;
    return decode_array(view, holder.encoding);
  }();
  copy_to(result, values);
}

/// The numbers as they are stored, and how: type, count, bytes, and those of the factors.
using NumbersState = std::tuple<std::string, std::size_t, nb::bytes, std::string, std::size_t,
                                std::size_t, nb::bytes>;

nb::bytes raw_bytes(std::span<const std::byte> bytes) {
  return nb::bytes(bytes.data(), bytes.size());
}

NumbersState state_of(const numerics::StoredNumbers& numbers) {
  return {std::string(numerics::to_string(numbers.type())),
          numbers.size(),
          raw_bytes(numbers.bytes()),
          std::string(numerics::to_string(numbers.factor_type())),
          numbers.sharing().share,
          numbers.sharing().row,
          raw_bytes(numbers.factor_bytes())};
}

void copy_bytes(const nb::bytes& src, std::span<std::byte> dst) {
  if (src.size() != dst.size())
    fail(ErrorKind::kFormat, "state of an encoding: expected other bytes");
  std::ranges::copy(std::span(static_cast<const std::byte*>(src.data()), src.size()), dst.begin());
}

numerics::NumberType number_type(const std::string& name) {
  const auto type = numerics::number_type_from(name);
  if (!type) fail(ErrorKind::kFormat, "state of an encoding: no number type '" + name + "'");
  return *type;
}

numerics::StoredNumbers numbers_from(const NumbersState& state) {
  const auto& [type, count, bytes, factor_type, share, row, factors] = state;
  numerics::StoredNumbers numbers =
      factors.size() == 0 ? numerics::StoredNumbers(number_type(type), count)
                          : numerics::StoredNumbers(number_type(type), count,
                                                    number_type(factor_type), {share, row});
  copy_bytes(bytes, numbers.bytes());
  copy_bytes(factors, numbers.factor_bytes());
  return numbers;
}

/// What an encoding is made of, to be pickled: system, bits, whether there are offsets, granularity
/// and group size, rows and columns, scales and offsets.
using EncodingState = std::tuple<std::string, int, bool, std::string, std::size_t, std::size_t,
                                 std::size_t, NumbersState, NumbersState>;

EncodingState state_of(const EncodingHolder& holder) {
  const numerics::MatrixEncoding& encoding = holder.encoding;
  return {std::string(system_name(encoding)),
          encoding.bits,
          encoding.has_offset,
          std::string(numerics::to_string(encoding.granularity)),
          encoding.group_size,
          holder.rows,
          holder.cols,
          state_of(encoding.scales),
          state_of(encoding.offsets)};
}

void set_state(EncodingHolder& holder, const EncodingState& state) {
  const auto& [system, bits, has_offset, granularity, group_size, rows, cols, scales, offsets] =
      state;
  numerics::MatrixEncoding encoding;
  encoding.bits = bits;
  encoding.codebook = codebook_of(numerics::find_system(system), bits);
  encoding.has_offset = has_offset;
  for (const auto each : {numerics::Granularity::kChannel, numerics::Granularity::kGroup}) {
    if (numerics::to_string(each) == granularity) encoding.granularity = each;
  }
  encoding.group_size = group_size;
  encoding.scales = numbers_from(scales);
  encoding.offsets = numbers_from(offsets);
  encoding.check(rows, cols);
  new (&holder) EncodingHolder{std::move(encoding), rows, cols};
}

/// With one scale, or one for each row.
EncodingHolder uniform(const std::vector<float>& scales, const std::vector<std::int64_t>& zeros,
                       int bits) {
  return {uniform_encoding(scales, zeros, bits), scales.size(), 1};
}

EncodingHolder rule(const nb::object& values, const ArrayFormat& format) {
  const Array array(values, Access::kRead);
  const MatrixView<const float> view = matrix<float>(array);
  return {rule_encoding(view, format), view.rows(), view.cols()};
}

/// How encodings are made.
void bind_made(nb::class_<EncodingHolder>& encoding) {
  encoding
      .def_static(
          "fit",
          [](const nb::object& values, const std::string& system, int bits, bool offset,
             const std::string& granularity, std::size_t group_size) {
            return fit(values, {system, bits, offset, granularity, group_size});
          },
          nb::arg("values"), nb::arg("system"), nb::arg("bits"), nb::arg("offset"),
          nb::arg("granularity"), nb::arg("group_size"))
      .def_static(
          "rule",
          [](const nb::object& values, const std::string& system, int bits,
             const std::string& granularity, std::size_t group_size) {
            return rule(values, {system, bits, true, granularity, group_size});
          },
          nb::arg("values"), nb::arg("system"), nb::arg("bits"), nb::arg("granularity"),
          nb::arg("group_size"))
      .def_static("uniform", uniform, nb::arg("scales"), nb::arg("zero_points"), nb::arg("bits"))
      .def_static(
          "fixed_point",
          [](int exponent, int bits) {
            return EncodingHolder{fixed_point_encoding(exponent, bits), 1, 1};
          },
          nb::arg("exponent"), nb::arg("bits"))
      .def_static(
          "minifloat",
          [](int exponent_bits, int mantissa_bits, float scale) {
            return EncodingHolder{minifloat_encoding(exponent_bits, mantissa_bits, scale), 1, 1};
          },
          nb::arg("exponent_bits"), nb::arg("mantissa_bits"), nb::arg("scale"));
}

}  // namespace

void bind_systems(nb::module_& module) {
  nb::class_<EncodingHolder> encoding(module, "Encoding");
  bind_made(encoding);
  encoding.def("__getstate__", [](const EncodingHolder& holder) { return state_of(holder); })
      .def("__setstate__", set_state, nb::arg("state"))
      .def("encode", encode, nb::arg("values"), nb::arg("codes"))
      .def("decode", decode, nb::arg("codes"), nb::arg("values"))
      .def(
          "levels",
          [](const EncodingHolder& holder, std::size_t block, const nb::object& out) {
            copy_to(levels_of_block(holder.encoding, block), out);
          },
          nb::arg("block"), nb::arg("out"))
      .def_prop_ro("system",
                   [](const EncodingHolder& e) { return std::string(system_name(e.encoding)); })
      .def_prop_ro("bits", [](const EncodingHolder& e) { return e.encoding.bits; })
      .def_prop_ro("granularity",
                   [](const EncodingHolder& e) {
                     return std::string(numerics::to_string(e.encoding.granularity));
                   })
      .def_prop_ro("group_size", [](const EncodingHolder& e) { return e.encoding.group_size; })
      .def_prop_ro("num_blocks", [](const EncodingHolder& e) { return e.encoding.num_blocks(); })
      .def_prop_ro("stored_bits", [](const EncodingHolder& e) { return e.encoding.stored_bits(); });
  module.def("list_devices", [] {
    const auto devices = list_devices();
    return Texts{report::to_text(devices), report::to_json(devices)};
  });
  module.def("list_number_systems", [] {
    const auto systems = list_number_systems();
    return Texts{report::to_text(systems), report::to_json(systems)};
  });
  module.def(
      "number_system_levels",
      [](const std::string& name, int bits) {
        const NumberSystemLevels found = number_system_levels(name, bits);
        return Texts{report::to_text(found), report::to_json(found)};
      },
      nb::arg("name"), nb::arg("bits"));
}

}  // namespace halftone::python
