// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/network.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "halftone/api/export_c.h"
#include "halftone/api/inspection.h"
#include "halftone/formats/model.h"
#include "halftone/report/export_c.h"
#include "halftone/report/report.h"
#include "python/src/array.h"
#include "python/src/bind.h"
#include "python/src/types.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

using Shapes = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;
using Constants = std::vector<std::pair<std::string, nb::object>>;

ir::Tensor tensor_of(const Array& array) {
  std::vector<ir::Dim> dims;
  for (const std::size_t extent : array.shape()) dims.push_back(static_cast<ir::Dim>(extent));
  ir::Tensor tensor(array.element(), ir::Shape(std::move(dims)));
  std::ranges::copy(array.bytes(), tensor.bytes().begin());
  return tensor;
}

formats::ImportOptions import_options(const Shapes& shapes, const Constants& constants,
                                      std::size_t max_iterations) {
  formats::ImportOptions options;
  options.max_iterations = max_iterations;
  for (const auto& [name, extents] : shapes) options.shapes.emplace(name, ir::Shape(extents));
  for (const auto& [name, value] : constants) {
    options.constants.emplace(name, tensor_of(Array(value, Access::kRead)));
  }
  return options;
}

Network load_path(const std::filesystem::path& path, const Shapes& shapes,
                  const Constants& constants, std::size_t max_iterations) {
  const formats::ImportOptions options = import_options(shapes, constants, max_iterations);
  const nb::gil_scoped_release no_gil;
  return load(path, options);
}

Network load_bytes(const nb::bytes& file, const std::string& name, const Shapes& shapes,
                   const Constants& constants, std::size_t max_iterations) {
  const formats::ImportOptions options = import_options(shapes, constants, max_iterations);
  const SharedBytes bytes = share(Array(file, Access::kRead));
  const nb::gil_scoped_release no_gil;
  return load(bytes, name, options);
}

std::vector<Port> ports(const ir::Graph& graph, std::span<const ir::ValueId> ids) {
  std::vector<Port> result;
  for (const ir::ValueId id : ids) {
    result.push_back(port_of(graph.value(id).name, graph.value(id).type));
  }
  return result;
}

struct InspectArguments {
  bool simplified = false;
  bool work = false;
  std::optional<std::size_t> batch;
};

Texts inspect_network(const Network& network, const std::string& format,
                      const InspectArguments& how) {
  const nb::gil_scoped_release no_gil;
  check_read(network);
  Inspection result = inspect(how.simplified ? prepared(network, Purpose::kFit) : network.graph,
                              format, network.file_bytes);
  if (how.work) result.work = work_of(network, how.batch);
  return {report::to_text(result), report::to_json(result)};
}

nb::bytes bytes_of(const Network& network, const std::string& format,
                   const formats::ExportOptions& form) {
  const SharedBytes bytes = [&] {
    const nb::gil_scoped_release no_gil;
    return to_bytes(network, format, form);
  }();
  return nb::bytes(bytes.bytes.data(), bytes.bytes.size());
}

void save_network(const Network& network, const std::filesystem::path& path,
                  const formats::ExportOptions& form) {
  const nb::gil_scoped_release no_gil;
  save(network, path, form);
}

Texts convert_network(const Network& network, const std::filesystem::path& output,
                      const formats::ExportOptions& form, bool decoded) {
  const nb::gil_scoped_release no_gil;
  const Inspection result = convert(network, output, {form, decoded});
  return {report::to_text(result), report::to_json(result)};
}

Texts export_c_network(const Network& network, const std::filesystem::path& folder,
                       const v0::ExportCOptions& how) {
  const nb::gil_scoped_release no_gil;
  const v0::CExport written = export_c_sources(network, folder, how);
  return {report::to_text(written, folder.string()), report::to_json(written)};
}

Texts export_wasm_network(const Network& network, const std::filesystem::path& folder,
                          const v0::ExportCOptions& how) {
  const nb::gil_scoped_release no_gil;
  const v0::CExport written = export_wasm_files(network, folder, how);
  return {report::to_text(written, folder.string()), report::to_json(written)};
}

void bind_exports(nb::module_& module, nb::class_<Network>& type) {
  nb::class_<v0::ExportCOptions>(module, "ExportCOptions")
      .def(
          "__init__",
          [](v0::ExportCOptions* how, const std::string& name, std::uint64_t ram,
             std::uint64_t vectors, const std::string& core, bool input_codes, bool pointers) {
            new (how) v0::ExportCOptions{name, ram, vectors, core, input_codes, pointers};
          },
          nb::arg("name"), nb::arg("ram"), nb::arg("vectors"), nb::arg("core"),
          nb::arg("input_codes"), nb::arg("pointers"));
  type.def("export_c", export_c_network, nb::arg("folder"), nb::arg("how"))
      .def("export_wasm", export_wasm_network, nb::arg("folder"), nb::arg("how"));
}

void bind_readers(nb::class_<Network>& type) {
  const std::size_t max_iterations = formats::ImportOptions().max_iterations;
  type.def_static("load", load_path, nb::arg("path"), nb::arg("shapes"), nb::arg("constants"),
                  nb::arg("max_iterations") = max_iterations)
      .def_static("from_bytes", load_bytes, nb::arg("file"), nb::arg("name"), nb::arg("shapes"),
                  nb::arg("constants"), nb::arg("max_iterations") = max_iterations);
}

}  // namespace

Port port_of(const std::string& name, const ir::ValueType& type) {
  const auto dims = type.shape.dims();
  return {name, numpy_name(type.encoding.element), {dims.begin(), dims.end()}};
}

void bind_network(nb::module_& module) {
  module.def(
      "format_of",
      [](const nb::bytes& file) {
        const Array array(file, Access::kRead);
        return std::string(formats::to_string(formats::model_format(array.bytes())));
      },
      nb::arg("file"));
  nb::class_<formats::ExportOptions>(module, "Form")
      .def(
          "__init__",
          [](formats::ExportOptions* form, bool standard, bool matmul_nbits, bool one_operator) {
            new (form) formats::ExportOptions{standard, matmul_nbits, one_operator};
          },
          nb::arg("standard"), nb::arg("matmul_nbits"), nb::arg("one_operator"));
  nb::class_<Network> type(module, "Network");
  bind_exports(module, type);
  bind_readers(type);
  type.def_ro("name", &Network::name)
      .def_ro("file_bytes", &Network::file_bytes)
      .def_prop_ro(
          "inputs",
          [](const Network& n) { return ports(n.graph, n.graph.untied(n.graph.inputs())); })
      .def_prop_ro(
          "outputs",
          [](const Network& n) { return ports(n.graph, n.graph.untied(n.graph.outputs())); })
      .def("save", save_network, nb::arg("path"), nb::arg("form"))
      .def("to_bytes", bytes_of, nb::arg("format"), nb::arg("form"))
      .def("convert", convert_network, nb::arg("output"), nb::arg("form"), nb::arg("decoded"))
      .def(
          "inspect",
          [](const Network& network, const std::string& format, bool simplified, bool work,
             std::optional<std::size_t> batch) {
            return inspect_network(network, format, {simplified, work, batch});
          },
          nb::arg("format"), nb::arg("simplified"), nb::arg("work"), nb::arg("batch").none());
}

}  // namespace halftone::python
