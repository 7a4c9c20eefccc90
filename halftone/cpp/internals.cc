// SPDX-License-Identifier: Apache-2.0
#include "halftone/cpp/internals.h"

#include <new>
#include <string>
#include <utility>

#include "halftone/api/network_device.h"
#include "halftone/ir/extent.h"

namespace halftone::v0 {
namespace {

static_assert(static_cast<int>(ErrorKind::kInternal) ==
              static_cast<int>(halftone::ErrorKind::kInternal));
static_assert(static_cast<int>(ErrorKind::kInterrupted) ==
              static_cast<int>(halftone::ErrorKind::kInterrupted));
static_assert(static_cast<int>(ErrorKind::kShape) == static_cast<int>(halftone::ErrorKind::kShape));

}  // namespace

std::exception_ptr CallerException::take() noexcept {
  const std::lock_guard lock(mutex_);
  return std::exchange(first_, nullptr);
}

void CallerException::keep(std::exception_ptr exception) noexcept {
  const std::lock_guard lock(mutex_);
  if (!first_) first_ = std::move(exception);
}

void forget(std::initializer_list<CallerException*> raised) noexcept {
  for (CallerException* each : raised) {
    if (each != nullptr) each->take();
  }
}

void throw_public(std::initializer_list<CallerException*> raised) {
  for (CallerException* each : raised) {
    if (each == nullptr) continue;
    if (const std::exception_ptr exception = each->take()) std::rethrow_exception(exception);
  }
  try {
    throw;
  } catch (const halftone::Error& error) {
    throw Error(static_cast<ErrorKind>(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kMemory, "memory: there is not enough; use smaller batches or samples");
  }
}

runtime::ExecutionOptions execution_options(const Execution& execution) {
  runtime::ExecutionOptions options;
  options.int8_activations = !execution.float_activations;
  if (execution.fixed_order) options.float_order = runtime::FloatOrder::kFixed;
  options.device = network_device(execution.device);
  return options;
}

void fail_interrupted(std::string_view activity) {
  fail(halftone::ErrorKind::kInterrupted,
       "interrupted: the progress function ended the work at '" + std::string(activity) + "'");
}

ProgressSink sink_of(const Progress& progress, CallerException& raised) {
  if (!progress) return {};
  return [&](double fraction, std::string_view activity) {
    if (raised.run([&] { return progress(fraction, activity); })) return;
    fail_interrupted(activity);
  };
}

Port port_of(const ir::Value& value) {
  Port port;
  port.name = value.name;
  port.type = static_cast<Type>(value.type.encoding.element);
  for (const ir::Dim extent : value.type.shape.dims()) {
    port.extents.push_back(ir::is_expression(extent) ? kOpen : extent);
  }
  return port;
}

}  // namespace halftone::v0
