// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/graph/torch_memory.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "halftone/base/memory_testing.h"
#include "halftone/base/testing.h"

namespace halftone::train {
namespace {

TEST(TorchMemory, IsReportedWhereItIsMissing) {
  expect_error(ErrorKind::kMemory, "training: out of memory; a smaller batch needs less",
               [] { with_torch_memory([] { return at::empty({std::int64_t{1} << 46}); }); });
}

TEST(TorchMemory, LeavesOtherErrorsAsTheyAre) {
  try {
    with_torch_memory([] { return at::zeros({2}).matmul(at::zeros({3})); });
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    ADD_FAILURE() << error.what();
  } catch (const std::exception& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("size"));
  }
  EXPECT_EQ(with_torch_memory([] { return 5; }), 5);
}

TEST(Torch, ComputesOnTheCallingThreadWhateverTheEnvironmentSays) {
  ASSERT_EQ(setenv("OMP_NUM_THREADS", "3", 1), 0);
  prepare_torch(2);
  int num_threads = 0;
  std::thread([&] { num_threads = at::get_num_threads(); }).join();
  EXPECT_EQ(num_threads, 1);
  EXPECT_EQ(unsetenv("OMP_NUM_THREADS"), 0);
}

TEST(Blas, ComputesOnTheCallingThread) {
  const auto num_threads =
      reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "openblas_get_num_threads"));
  if (num_threads == nullptr) GTEST_SKIP() << "another BLAS library than OpenBLAS";
  prepare_torch(2);
  EXPECT_EQ(num_threads(), 1);
}

TEST(Blas, MapsItsBuffersBeforeTheWorkOrFails) {
  if (dlsym(RTLD_DEFAULT, "blas_memory_alloc") == nullptr) GTEST_SKIP() << "not OpenBLAS";
  {
    const AddressSpaceLimit limit(std::uint64_t{300} << 20);
    ASSERT_TRUE(limit.holds());
    expect_error(ErrorKind::kMemory,
                 "training: buffers of OpenBLAS for 20 devices: ", [] { prepare_torch(20); });
  }
  prepare_torch(2);
}

}  // namespace
}  // namespace halftone::train
