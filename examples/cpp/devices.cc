// SPDX-License-Identifier: Apache-2.0
// Functions written for one device, mapped over several: the programs of docs/spmd.md.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <halftone/error.hpp>
#include <halftone/spmd.hpp>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace halftone::spmd;

namespace {

/// Prints a title and the rows along the last axis.
void print(const char* title, const Array& y) {
  std::printf("%s: %s\n", title, y.type().c_str());
  const std::span<const float> values = y.as<float>();
  const auto cols = static_cast<std::size_t>(y.shape().back());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::printf("%.6g%c", values[i], (i + 1) % cols == 0 ? '\n' : ' ');
  }
}

Array convolve(const Array& x, const Array& w) {
  const auto in = x.as<float>();
  const auto taps = w.as<float>();
  return Array::make<float>({x.shape()[0] - 2}, [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = in[i] * taps[0] + in[i + 1] * taps[1] + in[i + 2] * taps[2];
    }
  });
}

Array normalized_convolve(const Array& x, const Array& w) {
  const Array y = convolve(x, w);
  const Array total = psum(y, "shards");
  return Array::make<float>(y.shape(), [&](std::span<float> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = y.as<float>()[i] / total.as<float>()[i];
    }
  });
}

const Array xs = Array::range<float>({8, 5});
const Array w = Array::of({2.F, 3.F, 4.F});
const Array ws = stack(std::vector<Array>(8, w));

void run_on_one_device() {
  const Array y = convolve(Array::range<float>({5}), w);  // 11 20 29
  print("one device", y.reshaped({1, 3}));
}

void run_on_eight_devices() {
  const Devices devices = Devices::emulate(8);
  const auto pconvolve = pmap(convolve, {.devices = devices});
  const Sharded<Array> ys = pconvolve(xs, ws);
  const Array y = gather(ys);  // [8, 3]: 11 20 29, 56 65 74, ... 326 335 344
  print("eight devices", y);
}

void run_twice() {
  const auto pconvolve = pmap(convolve, {.devices = Devices::emulate(8)});
  const Array y = gather(pconvolve(xs, pconvolve(xs, ws)));  // 78 138 198, ... 36198 37203 38208
  print("twice", y);
}

void run_with_one_argument_for_all() {
  const MapOptions options{.in_axes = {0, none}, .devices = Devices::emulate(8)};
  const Array y = gather(pmap(convolve, options)(xs, w));
  print("one argument for all", y);
}

void run_lanes_that_add_up() {
  const MapOptions options{.axis_name = "shards", .devices = Devices::emulate(8)};
  const Array y = gather(pmap(normalized_convolve, options)(xs, ws));
  // 0.00816024 0.0140845 0.019437, ... 0.24184 0.235915 0.230563
  print("normalized", y);
}

void run_batches() {
  const auto vconvolve = vmap(convolve);
  const Array y = vconvolve(xs, ws);
  const Array twice = vconvolve(xs, vconvolve(xs, ws));
  const Array one_w = vmap(convolve, {.in_axes = {0, none}})(xs, w);
  const Array normalized = vmap(normalized_convolve, {.axis_name = "shards"})(xs, ws);
  print("batch", y);
  print("batch twice", twice);
  print("batch with one argument for all", one_w);
  print("batch normalized", normalized);
}

void run_nested_maps() {
  const Array x = Array::range<float>({2, 4, 3});
  const auto mean = [](const Array& v) { return pmean(v, {"devices", "batch"}); };
  const auto pmean_of_all = pmap(vmap(mean, {.axis_name = "batch"}),
                                 {.axis_name = "devices", .devices = Devices::emulate(2)});
  const Array y = gather(pmean_of_all(x));  // [2, 4, 3]; each row 10.5 11.5 12.5
  print("nested", y);
}

struct Line {
  Array slope = Array::scalar(0.F);
  Array offset = Array::scalar(0.F);
  static auto members(auto& self) { return std::tie(self.slope, self.offset); }
};

/// The gradient of the mean of (slope x + offset - y)^2 over the points of a shard.
Line gradient(const Line& line, const Array& x, const Array& y) {
  float by_slope = 0;
  float by_offset = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float error =
        line.slope.item<float>() * x.as<float>()[i] + line.offset.item<float>() - y.as<float>()[i];
    by_slope += 2 * error * x.as<float>()[i];
    by_offset += 2 * error;
  }
  const auto points = static_cast<float>(x.size());
  return {Array::scalar(by_slope / points), Array::scalar(by_offset / points)};
}

Line step(const Line& line, const Array& x, const Array& y) {
  constexpr float kRate = 0.005F;
  const Line mean = pmean(gradient(line, x, y), "devices");
  const auto moved = [](const Array& value, const Array& by) {
    return Array::scalar(value.item<float>() - kRate * by.item<float>());
  };
  return {moved(line.slope, mean.slope), moved(line.offset, mean.offset)};
}

/// y = 2 x - 1 plus noise, at 128 points of [-2, 2].
std::pair<Array, Array> noisy_line() {
  std::array<float, 128> x{};
  std::array<float, 128> y{};
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = (static_cast<float>(i) - 63.5F) / 32;
    y[i] = 2 * x[i] - 1 + 0.1F * std::sin(37 * static_cast<float>(i));
  }
  return {Array::from<float>({128}, x), Array::from<float>({128}, y)};
}

void run_regression() {
  const auto [x, y] = noisy_line();
  const Devices devices = Devices::emulate(4);
  const Array x_shards = x.reshaped({4, 32});
  const Array y_shards = y.reshaped({4, 32});
  const auto pstep = pmap(step, {.axis_name = "devices", .devices = devices});
  const auto begin = pmap([] { return Line(); }, {.axis_size = 4, .devices = devices});
  Sharded<Line> line = begin();
  for (int i = 0; i < 1000; ++i) line = pstep(line, x_shards, y_shards);
  for (std::size_t d = 0; d < line.size(); ++d) {
    std::printf("line of device %zu: %.3f x %+.3f\n", d, line.at(d).slope.item<float>(),
                line.at(d).offset.item<float>());
  }
}

void run_on_fewer_devices() {
  const Array rows = Array::range<float>({10, 3});
  const auto squares = [](const Array& v) {
    return Array::make<float>({3, 3}, [&](std::span<float> out) {
      const auto in = v.as<float>();
      for (std::size_t i = 0; i < 9; ++i) out[i] = in[i / 3] * in[i % 3] / 7;
    });
  };
  const Array on_one = spread_sum(squares, {.devices = Devices::emulate(1)})(rows);
  const Array on_four = spread_sum(squares, {.devices = Devices::emulate(4)})(rows);
  // the same bits
  const bool same = std::ranges::equal(on_one.bytes(), on_four.bytes());
  std::printf("on one device and on four: %s bits\n", same ? "the same" : "other");
}

void run_all() {
  run_on_one_device();
  run_on_eight_devices();
  run_twice();
  run_with_one_argument_for_all();
  run_lanes_that_add_up();
  run_batches();
  run_nested_maps();
  run_regression();
  run_on_fewer_devices();
}

}  // namespace

int main() {
  try {
    run_all();
  } catch (const halftone::Error& error) {
    std::fprintf(stderr, "devices: %s\n", error.what());
    return 1;
  }
}
