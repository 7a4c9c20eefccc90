// SPDX-License-Identifier: Apache-2.0
// The program that mpi_test.cc runs under mpirun: rank_scenes SCENE [FILE]. Exits with 0, or prints
// the error and exits with 1.
#include <csignal>
#include <cstdio>
#include <string>

#include "halftone/base/file.h"
#include "halftone/spmd.hpp"
#include "halftone/spmd/agreement.h"
#include "halftone/spmd/mpi.h"
#include "halftone/spmd/testing.h"

namespace halftone::spmd {
namespace {

std::uint64_t hash_of(const Array& array) {
  return internal::hash(
      {reinterpret_cast<const char*>(array.bytes().data()), array.bytes().size()});
}

/// Prints a hash of the results of every collective, which does not depend on the number of ranks.
void all_collectives(const Devices& devices) {
  const Array x = random_array<double>({12, 12, 50}, 7);
  const auto f = [](const Array& v) {
    return std::tuple(psum(v, "i"), pmean(v.slice(0, 0), "i"), pmax(v, "i"),
                      all_gather(v.slice(0, 1), "i", {.axis = 1}), psum_scatter(v, "i"),
                      all_to_all(v, "i", {.concat_axis = 1}), ppermute(v, "i", {{0, 11}, {5, 2}}),
                      psum(v, "i", {{0, 2, 4, 6, 8, 10}, {1, 3, 5, 7, 9, 11}}));
  };
  const MapOptions options{.axis_name = "i", .devices = devices};
  const Flat results = flatten(gather(spread(f, options)(x)));
  std::string hashes;
  for (const Array& leaf : results.leaves) hashes += std::to_string(hash_of(leaf)) + " ";
  hashes += std::to_string(hash_of(spread_sum([](const Array& v) { return v; }, options)(x)));
  const Array large = random_array<float>({12, 100'000}, 8);
  const auto sum = [](const Array& v) { return psum(v, "i"); };
  hashes += " " + std::to_string(hash_of(gather(spread(sum, options)(large)).slice(0, 11)));
  if (devices.rank() == 0) std::printf("%s\n", hashes.c_str());
}

/// Sums repeatedly; after some rounds, rank 1 runs the scene.
template <typename Scene>
void rounds(const Devices& devices, Scene scene) {
  const std::size_t rank = devices.rank();
  const auto f = pmap(
      [&](const Array& x) {
        Array sum = x;
        for (int round = 0; round < 1000; ++round) {
          sum = pmean(sum, "i");
          if (round == 20 && rank == 1) scene();
        }
        return sum;
      },
      {.axis_name = "i", .axis_size = devices.size(), .devices = devices});
  gather(f(Array::range<float>({static_cast<std::int64_t>(devices.size()), 50'000})));
}

void run(const std::string& scene, const std::string& file, const Devices& devices) {
  if (scene == "collectives") return all_collectives(devices);
  if (scene == "kill") {
    rounds(devices, [] { static_cast<void>(std::raise(SIGKILL)); });
  } else if (scene == "throw") {
    rounds(devices, [] { fail(ErrorKind::kIo, "no such sample"); });
  } else if (scene == "return") {
    const auto f = [&](const Array& x) { return devices.rank() == 1 ? x : psum(x, "i"); };
    pmap(f, {.axis_name = "i", .devices = devices})(
        Array::range<float>({static_cast<std::int64_t>(devices.size())}));
  } else if (scene == "leave") {
    if (devices.rank() == 1) fail(ErrorKind::kIo, "x.npy is missing");
    rounds(devices, [] {});
  } else {
    fail(ErrorKind::kUsage, "unknown scene " + scene);
  }
  if (devices.rank() == 0) write_file(file, std::string_view("whole"));
}

int run_scene(const std::string& scene, const std::string& file) {
  MpiSession session;
  try {
    run(scene, file, Devices::over(session.transport()));
    return 0;
  } catch (const Error& error) {
    static_cast<void>(std::fprintf(stderr, "%s\n", error.what()));
    session.end(error.what());
    return 1;
  }
}

}  // namespace
}  // namespace halftone::spmd

int main(int argc, char** argv) {
  return halftone::spmd::run_scene(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "");
}
