// SPDX-License-Identifier: Apache-2.0
// The module _halftone_spmd: lanes that call Python, and their collectives. Trees, axes and checks
// are in the typed Python above it.
//
// Lanes run without the GIL, which each call of Python takes and each collective releases: a lane
// that waits for others, or for its device, holds none.
#include "halftone/spmd.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halftone/spmd/errors.h"
#include "halftone/spmd/lane.h"
#include "halftone/spmd/leaves.h"
#include "python/src/bind.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;
using namespace spmd;  // NOLINT(google-build-using-namespace): all of it is bound here
using spmd::Array;
using spmd::detail::MapKind;
using spmd::internal::Lane;
using spmd::internal::Stopped;

using Input = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<nb::numpy, nb::ro>;
using Names = std::vector<std::string>;

/// The exception that leaves a lane of Python which must stop: no Exception, so that functions that
/// handle their own errors do not catch it.
PyObject*& stopped_type() {
  static PyObject* type = nullptr;
  return type;
}

void translate_stopped(const std::exception_ptr& exception, void* /*unused*/) {
  try {
    std::rethrow_exception(exception);
  } catch (const Stopped&) {
    PyErr_SetNone(stopped_type());
  }
}

template <Element T>
std::optional<Array> copy_if(const Input& input, const Shape& shape) {
  if (input.dtype() != nb::dtype<T>()) return std::nullopt;
  return Array::from<T>(shape, std::span(static_cast<const T*>(input.data()), input.size()));
}

/// @throws Error kUsage if elements are of another type
Array copy(const Input& input) {
  const Shape shape(input.shape_ptr(), input.shape_ptr() + input.ndim());
  std::optional<Array> array = copy_if<float>(input, shape);
  if (!array) array = copy_if<double>(input, shape);
  if (!array) array = copy_if<std::int32_t>(input, shape);
  if (!array) array = copy_if<std::int64_t>(input, shape);
  if (!array) fail(halftone::ErrorKind::kUsage, "expected float32, float64, int32 or int64");
  return *array;
}

/// The memory of an array, which lanes may share.
Output view(const Array& array) {
  const std::vector<std::size_t> shape(array.shape().begin(), array.shape().end());
  auto owner = std::make_unique<Array>(array);
  const nb::capsule holder(
      owner.get(), [](void* held) noexcept { std::unique_ptr<Array>(static_cast<Array*>(held)); });
  const Array* held = owner.release();
  const nb::dlpack::dtype type = spmd::internal::with_element(
      array.element(), [](auto zero) { return nb::dtype<decltype(zero)>(); });
  return Output(held->bytes().data(), shape.size(), shape.data(), holder, nullptr, type);
}

AxisNames axes_of(const Names& names) {
  AxisNames axes({});
  axes.names = names;
  return axes;
}

/// Runs a collective without the GIL.
template <typename Collective>
std::vector<Output> meet(const std::vector<Input>& leaves, const Collective& collective) {
  Flat flat;
  {
    const nb::gil_scoped_release no_gil;
    for (const Input& leaf : leaves) flat.leaves.push_back(copy(leaf));
    flat = collective(std::move(flat));
  }
  std::vector<Output> results;
  for (const Array& leaf : flat.leaves) results.push_back(view(leaf));
  return results;
}

using Reduce = Flat (*)(Flat, const AxisNames&, const Groups&);
template <Reduce kReduce>
std::vector<Output> reduce(const std::vector<Input>& leaves, const Names& axes,
                           const Groups& groups) {
  return meet(leaves, [&](Flat flat) { return kReduce(std::move(flat), axes_of(axes), groups); });
}

std::vector<Output> gather_all(const std::vector<Input>& leaves, const Names& axes,
                               const Groups& groups, std::size_t axis, bool tiled) {
  return meet(leaves, [&](Flat flat) {
    return spmd::detail::all_gather(std::move(flat), axes_of(axes), {axis, tiled, groups});
  });
}

std::vector<Output> scatter_sum(const std::vector<Input>& leaves, const Names& axes,
                                const Groups& groups, std::size_t axis, bool tiled) {
  return meet(leaves, [&](Flat flat) {
    return spmd::detail::psum_scatter(std::move(flat), axes_of(axes), {axis, tiled, groups});
  });
}

std::vector<Output> exchange_all(const std::vector<Input>& leaves, const Names& axes,
                                 const Groups& groups,
                                 std::pair<std::size_t, std::size_t> split_and_concat, bool tiled) {
  const auto [split, concat] = split_and_concat;
  const AllToAllOptions options{split, concat, tiled, groups};
  return meet(leaves, [&](Flat flat) {
    return spmd::detail::all_to_all(std::move(flat), axes_of(axes), options);
  });
}

std::vector<Output> permute(const std::vector<Input>& leaves, const Names& axes,
                            const Permutation& permutation) {
  return meet(leaves, [&](Flat flat) {
    return spmd::detail::ppermute(std::move(flat), axes_of(axes), permutation);
  });
}

/// The devices of a map that names none: those of the lane around it, else new ones.
Devices default_devices(MapKind kind, std::size_t num_lanes) {
  const Lane* lane = Lane::current();
  if (kind == MapKind::kVmap || (lane != nullptr && !lane->devices.empty())) return {};
  return kind == MapKind::kPmap ? Devices::emulate(num_lanes) : Devices::for_threads();
}

/// Calls body(i) for each lane of a map.
void run(MapKind kind, const std::string& axis_name, std::size_t num_lanes,
         const std::optional<Devices>& devices, const nb::callable& body) {
  MapOptions options{.axis_name = axis_name, .axis_size = num_lanes};
  options.devices = devices ? *devices : default_devices(kind, num_lanes);
  const auto lane = [&body](std::size_t index) {
    const nb::gil_scoped_acquire gil;
    try {
      body(index);
    } catch (const nb::python_error& error) {
      if (error.matches(stopped_type())) throw Stopped();
      throw;
    }
  };
  const nb::gil_scoped_release no_gil;
  spmd::detail::make_plan(kind, options, {}).execute(lane);
}

void bind_maps(nb::module_& module) {
  nb::class_<Devices>(module, "Devices")
      .def_static("emulate", &Devices::emulate, nb::arg("count"))
      .def_static("for_threads", &Devices::for_threads)
      .def("__len__", &Devices::size);
  nb::enum_<MapKind>(module, "MapKind")
      .value("VMAP", MapKind::kVmap)
      .value("PMAP", MapKind::kPmap)
      .value("SPREAD", MapKind::kSpread);
  module.def("run", run, nb::arg("kind"), nb::arg("axis_name"), nb::arg("num_lanes"),
             nb::arg("devices").none(), nb::arg("body"));
  module.def("axis_index", [](const Names& axes) { return axis_index(axes_of(axes)); });
  module.def("axis_size", [](const Names& axes) { return axis_size(axes_of(axes)); });
}

void bind_collectives(nb::module_& module) {
  const nb::arg leaves("leaves");
  const nb::arg axes("axes");
  const nb::arg groups("groups");
  module.def("psum", reduce<spmd::detail::psum>, leaves, axes, groups);
  module.def("pmean", reduce<spmd::detail::pmean>, leaves, axes, groups);
  module.def("pmax", reduce<spmd::detail::pmax>, leaves, axes, groups);
  module.def("pmin", reduce<spmd::detail::pmin>, leaves, axes, groups);
  module.def("all_gather", gather_all, leaves, axes, groups, nb::arg("axis"), nb::arg("tiled"));
  module.def("psum_scatter", scatter_sum, leaves, axes, groups, nb::arg("axis"), nb::arg("tiled"));
  module.def("all_to_all", exchange_all, leaves, axes, groups, nb::arg("split_and_concat"),
             nb::arg("tiled"));
  module.def("ppermute", permute, leaves, axes, nb::arg("permutation"));
}

void bind_stopped(nb::module_& module) {
  stopped_type() =
      PyErr_NewException("halftone._halftone_spmd.Stopped", PyExc_BaseException, nullptr);
  module.attr("Stopped") = nb::borrow(stopped_type());
  nb::register_exception_translator(translate_stopped, nullptr);
}

}  // namespace
}  // namespace halftone::python

NB_MODULE(_halftone_spmd, module) {
  halftone::python::bind_errors();
  halftone::python::bind_stopped(module);
  halftone::python::bind_maps(module);
  halftone::python::bind_collectives(module);
}
