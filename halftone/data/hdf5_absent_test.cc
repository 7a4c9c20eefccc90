// SPDX-License-Identifier: Apache-2.0
// A program that is built without HDF5.
#include <filesystem>
#include <fstream>

#include "halftone/base/testing.h"
#include "halftone/data/hdf5.h"
#include "halftone/data/open_dataset.h"

namespace halftone::data {
namespace {

TEST(Hdf5Absent, FilesAreRefusedWithAWayOut) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "samples.h5";
  std::ofstream(path) << "\x89HDF";
  const std::string message =
      path.string() + ": this build reads no HDF5; save the samples as .npy";
  expect_error(ErrorKind::kUnsupported, message, [&] { open_dataset(path.string(), {}); });
  expect_error(ErrorKind::kUnsupported, "x.h5: this build reads no HDF5",
               [] { open_hdf5_image("x.h5", {}, {}); });
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace halftone::data
