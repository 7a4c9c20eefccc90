// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/execute/session.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "halftone/api/run.h"
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

/// A session that refuses a second thread while one runs it.
class PythonSession {
 public:
  explicit PythonSession(const PlanHolder& plan) : session_(plan.plan) {}

  void run(const nb::tuple& inputs, const nb::tuple& outputs) {
    if (is_busy_.test_and_set(std::memory_order_acquire)) {
      fail(ErrorKind::kInternal,
           "session: runs on another thread; use one session per thread, or call the model, which "
           "does");
    }
    const std::unique_ptr<std::atomic_flag, void (*)(std::atomic_flag*)> busy(
        &is_busy_, [](std::atomic_flag* flag) { flag->clear(std::memory_order_release); });
    run_alone(arrays(inputs, Access::kRead), arrays(outputs, Access::kWrite));
  }

 private:
  static std::vector<Array> arrays(const nb::tuple& objects, Access access) {
    std::vector<Array> result;
    result.reserve(objects.size());
    for (const nb::handle object : objects) result.emplace_back(object, access);
    return result;
  }

  void run_alone(const std::vector<Array>& inputs, const std::vector<Array>& outputs) {
    const ir::Graph& graph = session_.plan().graph();
    check(graph, graph.inputs(), inputs);
    check(graph, graph.outputs(), outputs);
    const nb::gil_scoped_release no_gil;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::ranges::copy(inputs[i].bytes(), session_.input(i).begin());
    }
    session_.run();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const ir::Tensor& result = session_.output_tensor(i);
      std::ranges::copy(result.bytes(), outputs[i].writable_bytes().begin());
    }
  }

  /// The last line of defence: what the arrays are, Python has checked with better words.
  static void check(const ir::Graph& graph, std::span<const ir::ValueId> ids,
                    const std::vector<Array>& arrays) {
    if (ids.size() != arrays.size()) {
      fail(ErrorKind::kShape, "arrays of a run: expected " + std::to_string(ids.size()) +
                                  ", found " + std::to_string(arrays.size()));
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const ir::Value& value = graph.value(ids[i]);
      const std::size_t bytes =
          value.type.shape.element_count() * size_bytes(value.type.encoding.element);
      if (arrays[i].bytes().size() == bytes) continue;
      fail(ErrorKind::kShape, "'" + value.name + "': expected " + value.type.to_string() + " of " +
                                  std::to_string(bytes) + " bytes, found " +
                                  std::to_string(arrays[i].bytes().size()));
    }
  }

  runtime::Session session_;
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
                        bool int8_activations, bool fixed_order) {
  const nb::gil_scoped_release no_gil;
  RunOptions options;
  options.threads = threads;
  options.int8_activations = int8_activations;
  if (fixed_order) options.float_order = runtime::FloatOrder::kFixed;
  return {with_context(network.name, [&] { return make_plan(network, batch, options); })};
}

}  // namespace

void bind_session(nb::module_& module) {
  // NumPy's own from_dlpack() calls memory of other libraries read-only.
  module.def("writable_view", writable_view, nb::arg("array"));
  nb::class_<PlanHolder>(module, "Plan")
      .def_static("make", plan_network, nb::arg("network"), nb::arg("batch"), nb::arg("threads"),
                  nb::arg("int8_activations"), nb::arg("fixed_order"))
      .def_prop_ro(
          "inputs",
          [](const PlanHolder& p) { return plan_ports(*p.plan, p.plan->graph().inputs()); })
      .def_prop_ro("outputs", [](const PlanHolder& p) {
        return plan_ports(*p.plan, p.plan->graph().outputs());
      });
  nb::class_<PythonSession>(module, "Session")
      .def(nb::init<const PlanHolder&>(), nb::arg("plan"))
      .def("run", &PythonSession::run, nb::arg("inputs"), nb::arg("outputs"));
}

}  // namespace halftone::python
