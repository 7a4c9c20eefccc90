// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/hdf5.h"

#include <functional>
#include <memory>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/shared_bytes.h"
#include "halftone/data/function_source.h"
#include "halftone/data/hdf5_reader.h"
#include "halftone/data/hdf5_worker.h"

namespace halftone::data {
namespace {

/// One input, read by the child process that all inputs of a file share.
class Hdf5Source : public SampleSource {
 public:
  Hdf5Source(std::shared_ptr<Hdf5Worker> worker, std::size_t input, double scale)
      : worker_(std::move(worker)), input_(input), scale_(scale) {
    const Hdf5Contents::Input& facts = worker_->contents().inputs.at(input);
    type_ = facts.type;
    sample_bytes_ =
        SampleShape{facts.extents, SampleLayout::kPlain}.num_elements() * size_bytes(type_);
  }

  void read_floats(std::size_t first, std::size_t count, std::span<float> dst) const override {
    to_scaled_floats(type_, read_bytes(first, count), scale_, dst);
  }
  void read_integers(std::size_t first, std::size_t count,
                     std::span<std::int64_t> dst) const override {
    to_integers(type_, read_bytes(first, count), dst);
  }

 private:
  [[nodiscard]] std::vector<std::byte> read_bytes(std::size_t first, std::size_t count) const {
    std::vector<std::byte> bytes(count * sample_bytes_);
    worker_->read({input_, first, count}, bytes);
    return bytes;
  }

  std::shared_ptr<Hdf5Worker> worker_;
  std::size_t input_;
  double scale_;
  Scalar type_ = Scalar::kFloat32;
  std::size_t sample_bytes_ = 0;
};

/// @param open  opens the file; called in the child
Dataset open_isolated(const std::string& name, const DatasetOptions& options,
                      const std::function<Hdf5Handle()>& open) {
  const auto worker = with_context(name, [&] {
    return std::make_shared<Hdf5Worker>([&] { return std::make_unique<Hdf5Reader>(open()); });
  });
  const Hdf5Contents& contents = worker->contents();
  std::vector<DatasetInput> inputs;
  for (std::size_t i = 0; i < contents.inputs.size(); ++i) {
    const auto& [type, extents] = contents.inputs[i];
    DatasetInput input;
    input.name = contents.records ? std::to_string(i) : "x";
    input.shape =
        contents.records ? SampleShape{extents, SampleLayout::kPlain} : image_shape(extents);
    input.type = type;
    input.source = std::make_unique<Hdf5Source>(worker, i, contents.records ? 1 : options.scale);
    inputs.push_back(std::move(input));
  }
  return {name, contents.num_samples, std::move(inputs), contents.labels, options.limit};
}

}  // namespace

Dataset open_hdf5(const std::filesystem::path& path, const DatasetOptions& options) {
  map_file(path);  // reports why a file cannot be read; the HDF5 library does not
  return open_isolated(path.string(), options, [&] { return open_hdf5_file(path); });
}

Dataset open_hdf5_image(const std::string& name, std::span<const std::byte> image,
                        const DatasetOptions& options) {
  return open_isolated(name, options, [=] { return open_hdf5_bytes(image); });
}

}  // namespace halftone::data
