// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/speeds.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "halftone/gpu/attention.h"
#include "halftone/gpu/groups.h"
#include "halftone/gpu/launches.h"
#include "halftone/gpu/rows.h"

namespace halftone::gpu {
namespace {

constexpr int kWidths[] = {2, 4, 6, 8};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Measures work of a device.
class Stopwatch {
 public:
  Stopwatch(Programs& programs, double seconds) : programs_(programs), seconds_(seconds) {}

  [[nodiscard]] Programs& programs() const { return programs_; }
  [[nodiscard]] GpuDevice& device() const { return programs_.device(); }

  /// The mean of so many repetitions as take the time that was asked for, and are at least `least`.
  template <typename Body>
  double repeated(const Body& body, int least) const {
    body();
    device().finish();
    for (int count = least;; count *= 2) {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < count; ++i) body();
      device().finish();
      const double taken = seconds_since(begin);
      if (taken >= seconds_) return taken / count;
    }
  }
  /// Of a launch among several of the same.
  [[nodiscard]] double of(const Launch& launch) const {
    return repeated([&] { device().launch(launch); }, 1);
  }

 private:
  Programs& programs_;
  double seconds_;
};

/// Memory of a device whose bytes are zero.
std::unique_ptr<Buffer> zeros(GpuDevice& device, std::size_t bytes) {
  return upload(device, std::span<const std::byte>(std::vector<std::byte>(bytes)));
}

void measure_memory(const Stopwatch& watch, DeviceSpeeds& speeds) {
  GpuDevice& device = watch.device();
  const auto one = zeros(device, sizeof(float));
  const Launch tiny = apply(watch.programs(), Function::kNone, *one, *one, 1);
  std::vector<std::byte> number(sizeof(float));
  constexpr int kLaunches = 64;
  speeds.launch_s = watch.repeated([&] { device.launch(tiny); }, kLaunches);
  speeds.round_trip_s = watch.repeated(
      [&] {
        device.launch(tiny);
        device.finish();
      },
      1);
  speeds.host_s = watch.repeated([&] { device.read(*one, 0, number); }, 1);
  // More than the caches hold, of cards up to 64 MiB.
  constexpr std::size_t kCopied = std::size_t{64} << 20;
  constexpr std::size_t kFloats = kCopied / sizeof(float);
  const std::vector<std::byte> bytes(kCopied);
  const auto x = device.allocate(kCopied);
  const auto y = device.allocate(kCopied);
  const double written_s = watch.repeated([&] { device.write(*x, 0, bytes); }, 1);
  speeds.host_bytes_per_second = static_cast<double>(kCopied) / written_s;
  const double copied_s = watch.of(apply(watch.programs(), Function::kNone, *x, *y, kFloats));
  speeds.copy_bytes_per_second = 2 * static_cast<double>(kCopied) / copied_s;
  // Few enough to stay in the caches.
  constexpr std::size_t kFew = std::size_t{1} << 20;
  const double function_s = watch.of(apply(watch.programs(), Function::kTanh, *x, *y, kFew));
  speeds.operations_per_second = kFunctionCost * static_cast<double>(kFew) / function_s;
}

/// Weights whose bits are all zero: what they are changes no time.
kernels::PackedGroups weights_of(int bits, std::size_t outputs, std::size_t cols) {
  kernels::GroupCodes format{.levels = {bits, -(1 << (bits - 1))}, .group = 32};
  return {outputs, cols, format};
}

ProductSpeed measure_products(const Stopwatch& watch, int bits, double launch_s) {
  constexpr std::size_t kSide = 4096;
  constexpr std::size_t kRows = 64;
  const GroupMatrix w(watch.programs(), weights_of(bits, kSide, kSide));
  const auto seconds = [&](std::size_t rows) {
    const GroupInputs x(watch.programs(), rows, w.extents());
    const auto y = watch.device().allocate(rows * kSide * sizeof(float));
    watch.device().launch(x.encode(*zeros(watch.device(), rows * kSide * sizeof(float))));
    watch.device().finish();
    return watch.of(multiply_groups(w, x, *y));
  };
  const double products = static_cast<double>(kSide * kSide);
  const LinearCost cost = linear_cost(products, seconds(1), kRows * products, seconds(kRows));
  const double decoding_s = std::max(0.0, cost.fixed_s - launch_s);
  return {bits, cost.per_second, decoding_s / static_cast<double>(w.size_bytes())};
}

/// One token that sees 512, and 64 of them.
LinearCost measure_attention(const Stopwatch& watch) {
  constexpr std::size_t kContext = 512;
  constexpr std::size_t kHeads = 8;
  constexpr std::size_t kSize = 64;
  constexpr std::size_t kRows = 64;
  GpuDevice& device = watch.device();
  const kernels::CacheShape cache{1, kContext, kHeads, kSize, kernels::CacheType::kFloat16};
  const auto keys = zeros(device, kHeads * cache.bytes_of_head());
  const auto values = zeros(device, kHeads * cache.bytes_of_head());
  const kernels::AttentionShape shape{kHeads, kHeads, kSize, kSize};
  const auto seconds = [&](std::size_t rows) {
    const auto slots = zeros(device, rows * sizeof(std::int32_t));
    const auto positions = upload(device, std::span<const std::int32_t>(std::vector<std::int32_t>(
                                              rows, static_cast<int>(kContext) - 1)));
    const auto x = zeros(device, rows * kHeads * kSize * sizeof(float));
    const auto scores = device.allocate(rows * kHeads * score_size(kContext) * sizeof(float));
    const auto y = device.allocate(rows * kHeads * kSize * sizeof(float));
    return watch.of(attend(watch.programs(), shape, {{cache, true, *keys}, {cache, false, *values}},
                           {rows, *slots, *positions}, {*x, nullptr, *scores, *y}));
  };
  constexpr double kProducts = 2.0 * kHeads * kContext * kSize;
  return linear_cost(kProducts, seconds(1), kRows * kProducts, seconds(kRows));
}

}  // namespace

LinearCost linear_cost(double small_work, double small_s, double large_work, double large_s) {
  if (large_s <= small_s) return {0, large_work / large_s};
  const double slope = (large_s - small_s) / (large_work - small_work);
  const double fixed = small_s - slope * small_work;
  if (fixed < 0) return {0, large_work / large_s};
  return {fixed, 1 / slope};
}

DeviceSpeeds measure_speeds(Programs& programs, const SpeedOptions& options) {
  const Stopwatch watch(programs, options.seconds);
  constexpr double kParts = std::size(kWidths) + 2;
  double done = 0;
  const auto step = [&] {
    if (options.progress) options.progress(done / kParts);
    ++done;
  };
  DeviceSpeeds speeds;
  speeds.info = programs.device().info();
  step();
  measure_memory(watch, speeds);
  for (const int bits : kWidths) {
    step();
    speeds.products.push_back(measure_products(watch, bits, speeds.launch_s));
  }
  step();
  speeds.attention = measure_attention(watch);
  return speeds;
}

}  // namespace halftone::gpu
