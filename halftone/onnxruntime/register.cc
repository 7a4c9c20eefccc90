// SPDX-License-Identifier: Apache-2.0
// The operators as ONNX Runtime asks for them, and the function by which it finds them.
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "halftone/api/hosted_plan.h"
#include "halftone/base/error.h"
#include "halftone/formats/onnx/own_operators.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/onnxruntime/host.h"
#include "halftone/onnxruntime/node_network.h"

namespace halftone::onnxruntime {
namespace {

/// The entry of the session's configuration with the threads of a layer, 1 or more; without it, a
/// layer uses those of the process.
constexpr const char* kThreadsKey = "halftone.threads";

/// An operator with what its kernels need. ONNX Runtime hands the pointer to its base back.
struct Operator : OrtCustomOp {
  Operator(const Host& the_host, formats::onnx::OwnOperator the_definition, int the_threads);

  Host host;
  formats::onnx::OwnOperator definition;
  int threads;
};

const Operator& self(const OrtCustomOp* op) { return static_cast<const Operator&>(*op); }

/// A kernel of ONNX Runtime: the network of a node, and the operator that made it.
struct Kernel {
  Kernel(const Operator& the_op, const OrtKernelInfo& node)
      : op(the_op), network(op.host, node, op.definition, op.threads) {}

  const Operator& op;
  NodeNetwork network;
};

/// Runs the body; an exception becomes a status, for none may pass through C.
template <typename Body>
OrtStatus* guarded(const Host& host, const Body& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const std::exception& error) {
    return host.status(OrtErrorCode::kFail, std::string("halftone: ") + error.what());
  }
}

OrtStatus* make_kernel(const OrtCustomOp* op, const OrtApi* /*api*/, const OrtKernelInfo* node,
                       void** kernel) {
  const Operator& which = self(op);
  return guarded(which.host, [&] { *kernel = std::make_unique<Kernel>(which, *node).release(); });
}

OrtStatus* run_kernel(void* kernel, OrtKernelContext* context) {
  auto& state = *static_cast<Kernel*>(kernel);
  return guarded(state.op.host, [&] { state.network.run(*context); });
}

Operator::Operator(const Host& the_host, formats::onnx::OwnOperator the_definition, int the_threads)
    : host(the_host), definition(std::move(the_definition)), threads(the_threads) {
  get_name = [](const OrtCustomOp* op) { return self(op).definition.name.data(); };
  get_execution_provider = [](const OrtCustomOp*) -> const char* { return nullptr; };
  get_input_count = [](const OrtCustomOp* op) {
    return self(op).definition.is_network ? std::size_t{1} : self(op).definition.inputs;
  };
  get_input_type = [](const OrtCustomOp*, std::size_t) { return kAnyType; };
  get_output_count = [](const OrtCustomOp*) { return std::size_t{1}; };
  get_output_type = [](const OrtCustomOp* op, std::size_t) {
    return self(op).definition.is_network ? kAnyType : kFloat;
  };
  get_input_presence = [](const OrtCustomOp* op, std::size_t index) {
    if (self(op).definition.is_network) return OrtPresence::kAnyNumber;
    return index == 0 ? OrtPresence::kRequired : OrtPresence::kOptional;
  };
  get_output_presence = [](const OrtCustomOp* op, std::size_t) {
    return self(op).definition.is_network ? OrtPresence::kAnyNumber : OrtPresence::kRequired;
  };
  get_input_memory = [](const OrtCustomOp*, std::size_t) { return 0; };
  get_variadic_input_min = [](const OrtCustomOp*) { return 1; };
  get_variadic_input_same = [](const OrtCustomOp*) { return 0; };
  get_variadic_output_min = [](const OrtCustomOp*) { return 1; };
  get_variadic_output_same = [](const OrtCustomOp*) { return 0; };
  create_kernel_or_fail = make_kernel;
  compute_or_fail = run_kernel;
  destroy_kernel = [](void* kernel) {
    const std::unique_ptr<Kernel> owned(static_cast<Kernel*>(kernel));
  };
}

/// The threads of the session's configuration; 0 if it has no such entry.
/// @throws Error kUsage unless it is a positive number
int threads_of(const Host& host, const OrtSessionOptions& options) {
  int has = 0;
  host.call<HasSessionConfigEntry>(&options, kThreadsKey, &has);
  if (has == 0) return 0;
  return hosted_threads(kThreadsKey, host.text<GetSessionConfigEntry>(&options, kThreadsKey));
}

void add_operators(const Host& host, OrtSessionOptions& options) {
  // ONNX Runtime keeps pointers to operators for as long as there are sessions.
  static std::mutex mutex;
  static std::list<Operator> operators;
  const int threads = threads_of(host, options);
  OrtCustomOpDomain* domain = nullptr;
  host.call<CreateCustomOpDomain>(formats::onnx::kHalftoneDomain.data(), &domain);
  const std::scoped_lock lock(mutex);
  for (formats::onnx::OwnOperator& definition : formats::onnx::own_operators()) {
    const Operator& op = operators.emplace_back(host, std::move(definition), threads);
    host.call<AddToDomain>(domain, static_cast<const OrtCustomOp*>(&op));
  }
  host.call<AddDomain>(&options, domain);
}

}  // namespace
}  // namespace halftone::onnxruntime

extern "C" {

/// What `SessionOptions.register_custom_ops_library()` and RegisterCustomOpsLibrary_V2() look for.
/// @return null, or a status with the error: ONNX Runtime's, or an entry "halftone.threads" that is
///         no positive number. An ONNX Runtime before 1.16 cannot be told so: null, and sessions
///         miss the operators.
__attribute__((visibility("default"))) halftone::onnxruntime::OrtStatus* RegisterCustomOps(
    halftone::onnxruntime::OrtSessionOptions* options,
    const halftone::onnxruntime::OrtApiBase* base) noexcept {
  using namespace halftone::onnxruntime;  // NOLINT(google-build-using-namespace): a function of C
  const OrtApi* api = base->get_api(kOrtVersion);
  if (api == nullptr) {
    // The functions used here are those of the first version too.
    const OrtApi* first = base->get_api(1);
    if (first == nullptr) return nullptr;
    return Host(*first).status(
        OrtErrorCode::kFail,
        std::string("halftone: expected ONNX Runtime 1.16 or later, found ") + base->get_version());
  }
  const Host host(*api);
  return guarded(host, [&] { add_operators(host, *options); });
}
}
