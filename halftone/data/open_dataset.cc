// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/open_dataset.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/data/function_source.h"
#include "halftone/data/hdf5.h"
#include "halftone/data/idx.h"
#include "halftone/data/npy_dataset.h"

namespace halftone::data {
namespace {

namespace fs = std::filesystem;

std::vector<DatasetInput> one_input(SampleShape shape, DenseSamples samples) {
  const Scalar type = samples.type;
  std::vector<DatasetInput> inputs;
  inputs.push_back({"x", std::move(shape), type, make_dense_source(std::move(samples))});
  return inputs;
}

/// Finds the IDX file in the folder, plain or gzip, with either spelling of its extension.
std::optional<fs::path> find_idx(const fs::path& folder, const std::string& stem,
                                 const std::string& ending) {
  for (const char* between : {"-", "."}) {
    for (const char* packed : {"", ".gz"}) {
      const fs::path path = folder / (stem + between + ending + packed);
      std::error_code error;
      if (fs::exists(path, error)) return path;
    }
  }
  return std::nullopt;
}

Dataset open_folder(const fs::path& folder, const DatasetOptions& options) {
  const std::string prefix = options.split == "train" ? "train" : "t10k";
  const auto images = find_idx(folder, prefix + "-images", "idx3-ubyte");
  if (!images) {
    if (auto arrays = open_npy_folder(folder.string(), options)) return *std::move(arrays);
    fail(ErrorKind::kIo,
         folder.string() + ": expected the IDX file " + prefix +
             "-images-idx3-ubyte or .gz, or .npy files, in this folder, found none");
  }
  const auto labels = find_idx(folder, prefix + "-labels", "idx1-ubyte");
  std::optional<SharedBytes> label_bytes;
  if (labels) label_bytes = map_file(*labels);
  return dataset_from_idx(images->string(), map_file(*images), label_bytes, options);
}

}  // namespace

void check_options(const DatasetOptions& options) {
  if (options.split != "train" && options.split != "test") {
    fail(ErrorKind::kUsage, "split: expected train or test, found '" + options.split + "'");
  }
  if (options.limit == std::size_t{0})
    fail(ErrorKind::kUsage, "limit: expected at least 1, found 0");
  if (!std::isfinite(options.scale)) {
    fail(ErrorKind::kUsage,
         "scale: expected a finite number, found " + std::to_string(options.scale));
  }
}

Dataset dataset_from_idx(const std::string& name, const SharedBytes& images,
                         const std::optional<SharedBytes>& labels, const DatasetOptions& options) {
  const IdxArray pixels = with_context(name, [&] {
    IdxArray array = parse_idx(images, 3, options.limit);
    if (array.shape[0] == 0) fail(ErrorKind::kFormat, "expected samples, found none");
    return array;
  });
  std::vector<std::int64_t> classes;
  if (labels) {
    classes = with_context(name + ": labels", [&] {
      const IdxArray array = parse_idx(*labels, 1);
      if (array.shape[0] == 0) fail(ErrorKind::kFormat, "expected labels, found none");
      std::vector<std::int64_t> numbers(array.shape[0]);
      to_integers(Scalar::kUInt8, array.data.bytes, numbers);
      return numbers;
    });
  }
  const std::size_t bytes = pixels.shape[1] * pixels.shape[2];
  SampleShape shape{{pixels.shape[1], pixels.shape[2]}, SampleLayout::kPlain};
  return {name, pixels.shape[0],
          one_input(std::move(shape), {pixels.data, Scalar::kUInt8, bytes, bytes, options.scale}),
          std::move(classes), options.limit};
}

Dataset dataset_from_cifar(const std::string& name, const SharedBytes& file,
                           const DatasetOptions& options) {
  auto labels = with_context(name, [&] { return parse_cifar_labels(file.bytes); });
  const std::size_t num_samples = labels.size();
  DenseSamples samples{{file.owner, file.bytes.subspan(1)},
                       Scalar::kUInt8,
                       kCifarRecordBytes - 1,
                       kCifarRecordBytes,
                       options.scale};
  return {name, num_samples, one_input({{3, 32, 32}, SampleLayout::kChw}, std::move(samples)),
          std::move(labels), options.limit};
}

Dataset open_dataset(const std::string& path, const DatasetOptions& options) {
  check_options(options);
  std::error_code error;
  if (fs::is_directory(path, error)) return open_folder(path, options);
  if (auto arrays = open_npy_folder(path, options)) return *std::move(arrays);
  const std::string ending = fs::path(path).extension().string();
  if (ending == ".npz" || path.find(".npz,") != std::string::npos) return open_npz(path, options);
  if (ending == ".npy") return open_npy({&path, 1}, options);
  if (!fs::exists(path, error)) {
    const auto missing = std::make_error_code(std::errc::no_such_file_or_directory);
    fail(ErrorKind::kIo, path + ": cannot open: " + (error ? error : missing).message());
  }
  if (ending == ".bin") return dataset_from_cifar(path, map_file(path), options);
  if (ending == ".h5" || ending == ".hdf5") return open_hdf5(path, options);
  const std::string hint = ending == ".txt" ? "text files are not supported: " : "";
  fail(ErrorKind::kUnsupported, path + ": " + hint +
                                    "expected a folder of IDX files, or .bin (CIFAR-10), .npy, "
                                    ".npz, .h5 or .hdf5, found '" +
                                    ending + "'");
}

Dataset open_dataset(std::span<const std::string> paths, const DatasetOptions& options) {
  if (paths.empty()) fail(ErrorKind::kUsage, "expected samples, found no path");
  if (paths.size() == 1) return open_dataset(paths.front(), options);
  check_options(options);
  const auto is_archive = [](const std::string& path) {
    return fs::path(path.substr(0, path.find(".npz,") + 4)).extension() == ".npz";
  };
  if (std::ranges::all_of(paths, is_archive)) return open_archives(paths, options);
  for (const std::string& path : paths) {
    if (fs::path(path).extension() == ".npy" && !is_archive(path)) continue;
    fail(ErrorKind::kUsage, path + ": expected a .npy file, as there are several sources");
  }
  return open_npy(paths, options);
}

}  // namespace halftone::data
