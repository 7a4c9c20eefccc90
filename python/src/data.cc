// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>

#include "halftone/api/data_source.h"
#include "halftone/base/error.h"
#include "python/src/array.h"
#include "python/src/bind.h"
#include "python/src/types.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

/// A name, or "" for arrays in order, and the samples.
using NamedArrays = std::vector<std::pair<std::string, nb::object>>;

data::Scalar scalar_of(ElementType element) {
  switch (element) {
    case ElementType::kFloat16:
      return data::Scalar::kFloat16;
    case ElementType::kFloat32:
      return data::Scalar::kFloat32;
    case ElementType::kFloat64:
      return data::Scalar::kFloat64;
    case ElementType::kInt8:
      return data::Scalar::kInt8;
    case ElementType::kInt16:
      return data::Scalar::kInt16;
    case ElementType::kInt32:
      return data::Scalar::kInt32;
    case ElementType::kInt64:
      return data::Scalar::kInt64;
    case ElementType::kUint8:
      return data::Scalar::kUInt8;
    case ElementType::kUint16:
      return data::Scalar::kUInt16;
    case ElementType::kUint32:
      return data::Scalar::kUInt32;
    case ElementType::kUint64:
      return data::Scalar::kUInt64;
    case ElementType::kBool:
      return data::Scalar::kBool;
    case ElementType::kBfloat16:
      break;
  }
  fail(ErrorKind::kUsage, "data: expected numbers of NumPy's, found " + numpy_name(element));
}

data::DatasetOptions options_of(std::optional<std::size_t> limit, double scale) {
  data::DatasetOptions options;
  options.limit = limit;
  options.scale = scale;
  return options;
}

Samples samples_in_memory(const std::string& name, const NamedArrays& arrays,
                          const std::optional<nb::object>& labels, std::optional<std::size_t> limit,
                          double scale) {
  std::vector<data::SampleArray> inputs;
  for (const auto& [input, object] : arrays) {
    Array array(object, Access::kRead);
    data::SampleArray samples{input, scalar_of(array.element()), array.shape(), {}};
    samples.bytes = share(std::move(array));
    inputs.push_back(std::move(samples));
  }
  std::vector<std::int64_t> classes;
  if (labels) {
    const Array array(*labels, Access::kRead);
    const auto numbers = array.as<std::int64_t>();
    classes.assign(numbers.begin(), numbers.end());
  }
  return Samples(data::dataset_from_arrays(name, std::move(inputs), std::move(classes),
                                           options_of(limit, scale)));
}

Samples joined_samples(const std::string& name, const std::vector<const Samples*>& pieces,
                       std::optional<std::size_t> limit) {
  std::vector<data::Dataset> datasets;
  for (const Samples* piece : pieces) datasets.push_back(piece->dataset);
  return Samples(data::Dataset::joined(name, datasets, limit));
}

Samples open_samples(const std::vector<std::string>& paths, const std::string& split,
                     std::optional<std::size_t> limit, double scale) {
  const nb::gil_scoped_release no_gil;
  DataSource source{paths, options_of(limit, scale)};
  source.options.split = split;
  return Samples(source.open());
}

}  // namespace

void bind_data(nb::module_& module) {
  nb::class_<Samples>(module, "Samples")
      .def_static("open", open_samples, nb::arg("paths"), nb::arg("split"), nb::arg("limit").none(),
                  nb::arg("scale"))
      .def_static("in_memory", samples_in_memory, nb::arg("name"), nb::arg("arrays"),
                  nb::arg("labels").none(), nb::arg("limit").none(), nb::arg("scale"))
      .def_static("joined", joined_samples, nb::arg("name"), nb::arg("pieces"),
                  nb::arg("limit").none())
      .def("__len__", [](const Samples& samples) { return samples.dataset.size(); })
      .def_prop_ro("has_labels",
                   [](const Samples& samples) { return samples.dataset.has_labels(); });
}

}  // namespace halftone::python
