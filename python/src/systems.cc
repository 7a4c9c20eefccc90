// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <utility>

#include "halftone/api/devices.h"
#include "halftone/api/number_systems.h"
#include "halftone/base/error.h"
#include "halftone/report/report.h"
#include "python/src/array.h"
#include "python/src/bind.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

/// What the codes of an array of two axes mean.
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

/// The levels of the codes of a block.
void levels(const EncodingHolder& holder, std::size_t block, const nb::object& out) {
  if (block >= holder.encoding.num_blocks()) {
    fail(ErrorKind::kUsage, "block: expected less than " +
                                std::to_string(holder.encoding.num_blocks()) + ", found " +
                                std::to_string(block));
  }
  const numerics::Levels found = holder.encoding.levels(block);
  std::vector<float> values(found.num_codes());
  for (std::size_t code = 0; code < values.size(); ++code) {
    values[code] = found.value(static_cast<numerics::Code>(code));
  }
  copy_to(values, out);
}

}  // namespace

void bind_systems(nb::module_& module) {
  nb::class_<EncodingHolder>(module, "Encoding")
      .def_static(
          "fit",
          [](const nb::object& values, const std::string& system, int bits, bool offset,
             const std::string& granularity, std::size_t group_size) {
            return fit(values, {system, bits, offset, granularity, group_size});
          },
          nb::arg("values"), nb::arg("system"), nb::arg("bits"), nb::arg("offset"),
          nb::arg("granularity"), nb::arg("group_size"))
      .def("encode", encode, nb::arg("values"), nb::arg("codes"))
      .def("decode", decode, nb::arg("codes"), nb::arg("values"))
      .def("levels", levels, nb::arg("block"), nb::arg("out"))
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
