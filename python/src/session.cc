// SPDX-License-Identifier: Apache-2.0
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "halftone/api/network_device.h"
#include "halftone/api/run.h"
#include "halftone/api/sized_sessions.h"
#include "halftone/base/error.h"
#include "python/src/array.h"
#include "python/src/bind.h"
#include "python/src/types.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

/// The kernels of a network for one batch.
struct PlanHolder {
  std::shared_ptr<const runtime::Plan> plan;
};

std::vector<Port> plan_ports(const runtime::Plan& plan, std::span<const ir::ValueId> ids) {
  std::vector<Port> ports;
  for (const ir::ValueId id : ids) {
    const ir::Value& value = plan.graph().value(id);
    ports.push_back(port_of(value.name, value.type));
  }
  return ports;
}

/// Of inputs and of outputs.
using Addresses = std::pair<std::vector<std::uintptr_t>, std::vector<std::uintptr_t>>;

/// A session that refuses a second thread while one runs it.
class PythonSession {
 public:
  /// @param plan  of the network; null: it has open extents
  PythonSession(const Network& network, const PlanHolder* plan, int threads,
                const runtime::ExecutionOptions& execution)
      : sessions_(network, {1, threads, execution}) {
    if (plan != nullptr) sessions_.add(plan->plan);
  }

  /// Plans for inputs of these shapes. @return  the inputs and outputs
  std::pair<std::vector<Port>, std::vector<Port>> resize(
      const std::vector<std::vector<std::int64_t>>& inputs) {
    const Use use = use_alone();
    const nb::gil_scoped_release no_gil;
    std::vector<ir::Shape> shapes;
    for (const auto& extents : inputs) shapes.emplace_back(extents);
    const runtime::Plan& plan = sessions_.at(shapes).plan();
    return {plan_ports(plan, plan.inputs()), plan_ports(plan, plan.outputs())};
  }

  void run(const nb::tuple& inputs, const nb::tuple& outputs) {
    const Use use = use_alone();
    run_alone(arrays(inputs, Access::kRead), arrays(outputs, Access::kWrite));
  }

  /// The shape of an output of the last run, whose size depends on data.
  std::vector<std::int64_t> output_shape(std::size_t index) {
    const Use use = use_alone();
    const auto dims = sessions_.last().output(index).type.shape.dims();
    return {dims.begin(), dims.end()};
  }

  /// Copies such an output.
  void read_output(std::size_t index, const nb::object& array) {
    const Use use = use_alone();
    const ir::Tensor found = sessions_.last().output_tensor(index);
    const std::span<std::byte> to = Array(array, Access::kWrite).writable_bytes();
    if (to.size() != found.bytes().size()) {
      fail(ErrorKind::kInternal, "an output of another size");
    }
    std::ranges::copy(found.bytes(), to.begin());
  }

  void reset() {
    const Use use = use_alone();
    sessions_.reset();
  }

  /// Where the last run has read its inputs and written its outputs.
  [[nodiscard]] Addresses addresses() {
    const runtime::Session& session = sessions_.last();
    const runtime::Plan& plan = session.plan();
    Addresses found;
    for (std::size_t i = 0; i < plan.inputs().size(); ++i) {
      found.first.push_back(reinterpret_cast<std::uintptr_t>(session.input_view(i).bytes.data()));
    }
    for (std::size_t i = 0; i < plan.outputs().size(); ++i) {
      found.second.push_back(reinterpret_cast<std::uintptr_t>(session.output(i).bytes.data()));
    }
    return found;
  }

 private:
  using Use = std::unique_ptr<std::atomic_flag, void (*)(std::atomic_flag*)>;
  Use use_alone() {
    if (is_busy_.test_and_set(std::memory_order_acquire)) {
      fail(ErrorKind::kInternal,
           "session: runs on another thread; use one session per thread, or call the model, which "
           "does");
    }
    return {&is_busy_, [](std::atomic_flag* flag) { flag->clear(std::memory_order_release); }};
  }

  static std::vector<Array> arrays(const nb::tuple& objects, Access access) {
    std::vector<Array> result;
    result.reserve(objects.size());
    for (const nb::handle object : objects) result.emplace_back(object, access);
    return result;
  }

  void run_alone(const std::vector<Array>& inputs, const std::vector<Array>& outputs) {
    std::vector<std::span<const std::byte>> sources;
    std::vector<std::span<std::byte>> results;
    for (const Array& array : inputs) sources.push_back(array.bytes());
    for (const Array& array : outputs) results.push_back(array.writable_bytes());
    const nb::gil_scoped_release no_gil;
    sessions_.last().run(sources, results);
  }

  SizedSessions sessions_;
  std::atomic_flag is_busy_;
};

/// An array of NumPy over the memory of an array of another library.
nb::ndarray<nb::numpy> writable_view(const nb::object& object) {
  const auto array = nb::cast<nb::ndarray<nb::device::cpu>>(object);
  std::vector<std::size_t> shape;
  std::vector<std::int64_t> strides;
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
    shape.push_back(array.shape(axis));
    strides.push_back(array.stride(axis));
  }
  return nb::ndarray<nb::numpy>(array.data(), shape.size(), shape.data(), object, strides.data(),
                                array.dtype());
}

PlanHolder plan_network(const Network& network, std::size_t batch, int threads,
                        const runtime::ExecutionOptions& execution) {
  const nb::gil_scoped_release no_gil;
  return {with_context(network.name, [&] {
    return make_plan(network, batch, {threads, execution});
  })};
}

}  // namespace

void bind_session(nb::module_& module) {
  module.def("is_open", is_open, nb::arg("network"));
  module.def(
      "extent_text", [](std::int64_t extent) { return ir::to_string(extent); }, nb::arg("extent"));
  // NumPy's own from_dlpack() calls memory of other libraries read-only.
  module.def("writable_view", writable_view, nb::arg("array"));
  nb::class_<runtime::ExecutionOptions>(module, "Execution")
      .def(
          "__init__",
          [](runtime::ExecutionOptions* options, bool int8_activations, bool fixed_order,
             const std::string& device) {
            new (options) runtime::ExecutionOptions();
            options->device = network_device(device);
            options->int8_activations = int8_activations;
            if (fixed_order) options->float_order = runtime::FloatOrder::kFixed;
          },
          nb::arg("int8_activations"), nb::arg("fixed_order"), nb::arg("device"));
  nb::class_<PlanHolder>(module, "Plan")
      .def_static("make", plan_network, nb::arg("network"), nb::arg("batch"), nb::arg("threads"),
                  nb::arg("execution"))
      .def_prop_ro("inputs",
                   [](const PlanHolder& p) { return plan_ports(*p.plan, p.plan->inputs()); })
      .def_prop_ro("outputs",
                   [](const PlanHolder& p) { return plan_ports(*p.plan, p.plan->outputs()); });
  nb::class_<PythonSession>(module, "Session")
      .def(nb::init<const Network&, const PlanHolder*, int, const runtime::ExecutionOptions&>(),
           nb::arg("network"), nb::arg("plan").none(), nb::arg("threads"), nb::arg("execution"))
      .def("resize", &PythonSession::resize, nb::arg("shapes"))
      .def("run", &PythonSession::run, nb::arg("inputs"), nb::arg("outputs"))
      .def("output_shape", &PythonSession::output_shape, nb::arg("index"))
      .def("read_output", &PythonSession::read_output, nb::arg("index"), nb::arg("array"))
      .def("reset", &PythonSession::reset)
      .def("addresses", &PythonSession::addresses);
}

}  // namespace halftone::python
