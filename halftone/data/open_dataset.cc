// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/open_dataset.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/data/cifar.h"
#include "halftone/data/dense_source.h"
#include "halftone/data/hdf5.h"
#include "halftone/data/idx.h"
#include "halftone/data/npy.h"
#include "halftone/data/npy_header.h"

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
    fail(ErrorKind::kIo, folder.string() + ": expected the IDX file " + prefix +
                             "-images-idx3-ubyte or .gz in this folder, found none");
  }
  const auto labels = find_idx(folder, prefix + "-labels", "idx1-ubyte");
  std::optional<FileBytes> label_bytes;
  if (labels) label_bytes = map_file(*labels);
  return dataset_from_idx(images->string(), map_file(*images), label_bytes, options);
}

/// Splits "x.npy,y.npy" into its two paths, unless a file with this whole name exists.
std::pair<std::string, std::string> split_pair(const std::string& path) {
  std::error_code error;
  const std::size_t comma = path.rfind(".npy,");
  if (comma == std::string::npos || fs::exists(path, error)) return {path, ""};
  return {path.substr(0, comma + 4), path.substr(comma + 5)};
}

Dataset open_npy(const std::string& path, const DatasetOptions& options) {
  const auto [x, y] = split_pair(path);
  std::optional<FileBytes> labels;
  if (!y.empty()) labels = map_file(y);
  return dataset_from_npy(path, map_file(x), labels, options);
}

std::vector<std::int64_t> npy_labels(const FileBytes& file) {
  const NpyArray array = parse_npy(file.bytes);
  const bool column = array.shape.size() == 2 && array.shape[1] == 1;
  if (array.shape.size() != 1 && !column) {
    fail(ErrorKind::kFormat, "expected shape [N] or [N, 1], found " +
                                 SampleShape{array.shape, SampleLayout::kPlain}.text());
  }
  if (array.shape[0] == 0) fail(ErrorKind::kFormat, "expected labels, found none");
  return array.integers();
}

NpyHeader npy_samples_header(const FileBytes& file) {
  NpyHeader header = parse_npy_header(file.bytes);
  if (header.shape.empty() || header.num_elements == 0) {
    fail(ErrorKind::kFormat, "expected an array of samples [N, ...], found shape " +
                                 SampleShape{header.shape, SampleLayout::kPlain}.text());
  }
  return header;
}

/// The samples of a .npy file: a view of the file, or a converted copy if their order differs.
DenseSamples npy_samples(const FileBytes& file, const NpyHeader& header) {
  DenseSamples samples;
  samples.type = header.type;
  samples.sample_elements = header.num_elements / header.shape[0];
  samples.stride_bytes = samples.sample_elements * size_bytes(header.type);
  const bool as_is = !header.swapped && (!header.fortran_order || header.shape.size() == 1);
  samples.data = as_is ? FileBytes{file.owner, file.bytes.subspan(header.data_offset)}
                       : own_bytes(parse_npy(file.bytes).data);
  return samples;
}

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

}  // namespace

Dataset dataset_from_idx(const std::string& name, const FileBytes& images,
                         const std::optional<FileBytes>& labels, const DatasetOptions& options) {
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

Dataset dataset_from_cifar(const std::string& name, const FileBytes& file,
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

Dataset dataset_from_npy(const std::string& name, const FileBytes& x,
                         const std::optional<FileBytes>& y, const DatasetOptions& options) {
  const NpyHeader header = with_context(name, [&] { return npy_samples_header(x); });
  DenseSamples samples = npy_samples(x, header);
  samples.scale = options.scale;
  SampleShape shape = image_shape({header.shape.begin() + 1, header.shape.end()});
  std::vector<std::int64_t> labels;
  if (y) labels = with_context(name + ": labels", [&] { return npy_labels(*y); });
  return {name, header.shape[0], one_input(std::move(shape), std::move(samples)), std::move(labels),
          options.limit};
}

Dataset open_dataset(const std::string& path, const DatasetOptions& options) {
  check_options(options);
  std::error_code error;
  if (fs::is_directory(path, error)) return open_folder(path, options);
  const std::string ending = fs::path(path).extension().string();
  if (ending == ".npy") return open_npy(path, options);
  if (!fs::exists(path, error)) {
    fail(ErrorKind::kIo, path + ": cannot open: No such file or directory");
  }
  if (ending == ".bin") return dataset_from_cifar(path, map_file(path), options);
  if (ending == ".h5" || ending == ".hdf5") return open_hdf5(path, options);
  const std::string hint = ending == ".txt" ? "text files are not supported: " : "";
  fail(ErrorKind::kUnsupported, path + ": " + hint +
                                    "expected a folder of IDX files, or .bin (CIFAR-10), .npy, .h5 "
                                    "or .hdf5, found '" +
                                    ending + "'");
}

}  // namespace halftone::data
