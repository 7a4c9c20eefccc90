// SPDX-License-Identifier: Apache-2.0
// The C API on networks in memory that nobody made: load, describe, plan, run. Any status is a
// normal outcome but HALFTONE_INTERNAL.
#include <halftone/halftone.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;  // of an input, output or session

bool succeeds(halftone_status status) {
  if (status == HALFTONE_INTERNAL) {
    std::fprintf(stderr, "internal error: %s\n", halftone_error_message());
    __builtin_trap();
  }
  return status == HALFTONE_OK;
}

/// Memory for the inputs or outputs of a plan; empty if one is too large.
std::vector<std::vector<std::byte>> memory_of(std::size_t count, const auto& describe) {
  std::vector<std::vector<std::byte>> memory;
  for (std::size_t i = 0; i < count; ++i) {
    halftone_tensor_info info{};
    if (!succeeds(describe(i, &info)) || info.bytes > kMaxBytes) return {};
    memory.emplace_back(info.bytes);
  }
  return memory;
}

void run(const halftone_plan* plan) {
  if (halftone_plan_session_bytes(plan) > kMaxBytes) return;
  const auto inputs =
      memory_of(halftone_plan_num_inputs(plan), [&](std::size_t i, halftone_tensor_info* info) {
        return halftone_plan_input(plan, i, info);
      });
  auto outputs =
      memory_of(halftone_plan_num_outputs(plan), [&](std::size_t i, halftone_tensor_info* info) {
        return halftone_plan_output(plan, i, info);
      });
  std::vector<halftone_input> in;
  std::vector<halftone_output> out;
  for (const auto& bytes : inputs) in.push_back({bytes.data(), bytes.size()});
  for (auto& bytes : outputs) out.push_back({bytes.data(), bytes.size()});
  halftone_session* session = nullptr;
  if (!succeeds(halftone_session_create(plan, &session))) return;
  halftone_session_profile(session, 1);
  for (int repeat = 0; repeat < 2; ++repeat) {
    succeeds(halftone_session_run(session, in.data(), in.size(), out.data(), out.size()));
  }
  halftone_session_destroy(session);
}

void plan_and_run(const halftone_model* model) {
  halftone_plan_options options{};
  options.struct_bytes = sizeof options;
  options.threads = 1;
  halftone_plan* plan = nullptr;
  if (!succeeds(halftone_plan_create(model, &options, &plan))) return;
  run(plan);
  halftone_plan_destroy(plan);
}

halftone_context* context() {
  static halftone_context* const shared = [] {
    halftone_context_options options{};
    options.struct_bytes = sizeof options;
    options.memory_bytes = std::size_t{1} << 26;
    halftone_context* made = nullptr;
    halftone_context_create(&options, &made);
    return made;
  }();
  return shared;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  halftone_load_options options{};
  options.struct_bytes = sizeof options;
  options.borrows = size % 2 == 0 ? 1 : 0;
  halftone_model* model = nullptr;
  if (succeeds(halftone_model_load_memory(context(), data, size, &options, &model))) {
    plan_and_run(model);
    halftone_model_destroy(model);
  }
  return 0;
}
