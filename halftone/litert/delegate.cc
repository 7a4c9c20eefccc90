// SPDX-License-Identifier: Apache-2.0
// The delegate as LiteRT asks for it, and the functions by which it finds it.
#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "halftone/api/hosted_plan.h"
#include "halftone/base/error.h"
#include "halftone/formats/circle/custom_options.h"
#include "halftone/litert/host.h"
#include "halftone/litert/subset_network.h"

namespace halftone::litert {
namespace {

using namespace formats::circle;  // NOLINT(google-build-using-namespace): names of operators

constexpr std::array kOperators = {kCustomName,          kCustomGatherName,       kNetworkName,
                                   kCustomRecurrentName, kCustomFakeQuantizeName, kCustomConvName};
constexpr std::string_view kPrefix = "Halftone";
constexpr std::string_view kThreadsKey = "threads";

/// LiteRT hands the pointer to its base back.
struct Delegate : TfLiteDelegate {
  explicit Delegate(int the_threads);

  int threads;  ///< 0: those of the interpreter
};

/// A kernel of LiteRT: a network, or why there is none, which its preparation reports.
struct Kernel {
  std::unique_ptr<SubsetNetwork> network;
  std::string error;
};

std::string message_of(const std::exception& error) {
  return std::string("halftone: ") + error.what();
}

/// Runs the body; an exception becomes a status and a message, for none may pass through C.
template <typename Body>
TfLiteStatus guarded(TfLiteContext* context, const Body& body) noexcept {
  const Host host(*context);
  try {
    body(host);
    return kTfLiteOk;
  } catch (const std::exception& error) {
    host.report(message_of(error));
    return kTfLiteError;
  }
}

void* make_kernel(TfLiteContext* context, const char* buffer, std::size_t /*length*/) {
  const auto& params = *reinterpret_cast<const TfLiteDelegateParams*>(buffer);
  const auto& delegate = *static_cast<const Delegate*>(params.delegate);
  auto kernel = std::make_unique<Kernel>();
  try {
    kernel->network = std::make_unique<SubsetNetwork>(Host(*context), params, delegate.threads);
  } catch (const std::exception& error) {
    kernel->error = message_of(error);
  }
  return kernel.release();
}

TfLiteStatus prepare_kernel(TfLiteContext* context, TfLiteNode* node) {
  const auto& kernel = *static_cast<const Kernel*>(node->user_data);
  if (kernel.network == nullptr) {
    Host(*context).report(kernel.error);
    return kTfLiteError;
  }
  return guarded(context, [&](const Host& host) { kernel.network->prepare(host); });
}

TfLiteStatus run_kernel(TfLiteContext* context, TfLiteNode* node) {
  const auto& kernel = *static_cast<const Kernel*>(node->user_data);
  return guarded(context, [&](const Host& host) { kernel.network->run(host); });
}

void free_kernel(TfLiteContext* /*context*/, void* kernel) {
  const std::unique_ptr<Kernel> owned(static_cast<Kernel*>(kernel));
}

/// @throws Error kUnsupported for an operator of a later Halftone
bool is_ours(const std::string& name) {
  if (std::ranges::count(kOperators, name) != 0) return true;
  if (!name.starts_with(kPrefix)) return false;
  fail(ErrorKind::kUnsupported,
       "operator '" + name + "': this version has no such operator; a later one may have it");
}

TfLiteStatus take_operators(TfLiteContext* context, TfLiteDelegate* delegate) {
  return guarded(context, [&](const Host& host) {
    std::vector<int> nodes;
    for (const int index : host.execution_plan()) {
      if (is_ours(host.node(index).custom_name)) nodes.push_back(index);
    }
    TfLiteRegistration kernel{};
    kernel.init = make_kernel;
    kernel.free = free_kernel;
    kernel.prepare = prepare_kernel;
    kernel.invoke = run_kernel;
    kernel.custom_name = "Halftone";
    kernel.version = 1;
    if (!nodes.empty()) host.replace(nodes, kernel, *delegate);
  });
}

Delegate::Delegate(int the_threads) : TfLiteDelegate{}, threads(the_threads) {
  prepare = take_operators;
  flags = kTfLiteAllowDynamicTensors;
}

std::unique_ptr<Delegate> make_delegate(char** keys, char** values, std::size_t count) {
  int threads = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (keys[i] != kThreadsKey) {
      fail(ErrorKind::kUsage, std::string("option '") + keys[i] + "': expected 'threads'");
    }
    threads = hosted_threads(kThreadsKey, values[i]);
  }
  return std::make_unique<Delegate>(threads);
}

}  // namespace
}  // namespace halftone::litert

extern "C" {

/// What load_delegate() of LiteRT and TensorFlow Lite's external delegate look for.
/// @param report_error  gets the message if there is no delegate; may be null
/// @return null for an option other than "threads", or for threads that are no positive number
__attribute__((visibility("default"))) halftone::litert::TfLiteDelegate*
tflite_plugin_create_delegate(char** keys, char** values, std::size_t count,
                              void (*report_error)(const char*)) noexcept {
  try {
    return halftone::litert::make_delegate(keys, values, count).release();
  } catch (const std::exception& error) {
    if (report_error != nullptr) report_error(halftone::litert::message_of(error).c_str());
    return nullptr;
  }
}

/// @param delegate  of the function above, or null; no interpreter may have it any more
__attribute__((visibility("default"))) void tflite_plugin_destroy_delegate(
    halftone::litert::TfLiteDelegate* delegate) noexcept {
  using halftone::litert::Delegate;
  const std::unique_ptr<Delegate> owned(static_cast<Delegate*>(delegate));
}
}
