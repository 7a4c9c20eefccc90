// SPDX-License-Identifier: Apache-2.0
// Routes of a server that runs a network.
#include <filesystem>
#include <string>
#include <utility>

#include "halftone/api/tensor_files.h"
#include "halftone/base/error.h"
#include "halftone/server/http_listener.h"
#include "halftone/server/http_server.h"
#include "halftone/server/network_service.h"
#include "halftone/server/tensor_json.h"

namespace halftone::server {
namespace {

constexpr const char* kBytes = "application/octet-stream";
constexpr const char* kNpy = "application/x-npy";

Json values_json(const ir::Graph& graph, std::span<const ir::ValueId> ids) {
  Json list = Json::array();
  for (const ir::ValueId id : ids) {
    const ir::Value& value = graph.value(id);
    Json shape = Json::array();
    for (const ir::Dim extent : value.type.shape.dims()) {
      shape.push_back(extent > 0 ? Json(extent) : Json("N"));
    }
    list.push_back({{"name", value.name},
                    {"type", std::string(to_string(value.type.encoding.element))},
                    {"shape", std::move(shape)}});
  }
  return list;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// As the header Accept asks for: a .npy file or the bytes of the one output, else JSON.
void answer(const std::vector<ir::Tensor>& outputs, const NetworkService& service, bool packs,
            HttpListener::HttpCall& call) {
  const std::string wanted = call.request.get_header_value("Accept");
  const bool is_npy = wanted.find(kNpy) != std::string::npos;
  const bool is_raw = wanted.find(kBytes) != std::string::npos;
  if (!is_npy && !is_raw) {
    return call.response.set_content(dump(json_of_tensors(outputs, service.graph(), packs)), kJson);
  }
  if (outputs.size() != 1) {
    throw RequestError(406, "the network has " + std::to_string(outputs.size()) +
                                " outputs: ask for application/json");
  }
  if (is_npy) return call.response.set_content(text_of(npy_of(outputs[0])), kNpy);
  call.response.set_content(text_of(outputs[0].bytes()), kBytes);
}

void run(NetworkService& service, HttpListener::HttpCall& call) {
  const std::string type = call.request.get_header_value("Content-Type");
  if (!type.starts_with(kJson)) {
    std::vector<ir::Tensor> inputs = type.starts_with(kNpy)
                                         ? tensor_of_npy(call.body, service.graph())
                                         : tensor_of_bytes(call.body, service.graph());
    return answer(service.run(std::move(inputs)), service, false, call);
  }
  const Json request = parse_body(call.body);
  const Json format = request.value("encoding_format", Json("float"));
  if (format != "float" && format != "base64") {
    throw RequestError(400, "encoding_format: expected float or base64", "encoding_format");
  }
  answer(service.run(tensors_of_json(request, service.graph())), service, format == "base64", call);
}

void add_routes(HttpListener& http, NetworkService& service) {
  http.post("/v1/run", [&](HttpListener::HttpCall& call) { run(service, call); },
            {kJson, kNpy, kBytes});
  http.get(
      "/health",
      [&](std::string_view /*none*/) {
        if (service.is_draining()) throw RequestError(503, "the server is about to end");
        const ir::Graph& graph = service.graph();
        return dump({{"status", "ok"},
                     {"network", service.name()},
                     {"inputs", values_json(graph, graph.untied(graph.inputs()))},
                     {"outputs", values_json(graph, graph.outputs())}});
      },
      kJson);
  http.get(
      "/metrics",
      [&](std::string_view /*none*/) {
        const RunCounts counts = service.counts();
        return service.metrics().text(counts.runs, counts.samples);
      },
      "text/plain; version=0.0.4; charset=utf-8");
}

}  // namespace

void serve(Network network, const ServerOptions& options, const std::function<bool()>& is_over) {
  const std::string name =
      options.name.empty() ? std::filesystem::path(network.name).stem().string() : options.name;
  NetworkService service(std::move(network), name);
  HttpListener http(options, service.metrics());
  add_routes(http, service);
  http.run(is_over, {{"network", name}}, [&] { service.drain(); });
}

}  // namespace halftone::server
