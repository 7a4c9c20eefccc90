// SPDX-License-Identifier: Apache-2.0
#include "halftone/data.hpp"

#include <memory>
#include <utility>

#include "halftone/cpp/internals.h"
#include "halftone/data/function_source.h"
#include "halftone/data/open_dataset.h"

namespace halftone::v0 {
namespace {

data::Scalar scalar_of(Type type) {
  using data::Scalar;
  switch (type) {
    case Type::kFloat32:
      return Scalar::kFloat32;
    case Type::kInt8:
      return Scalar::kInt8;
    case Type::kUint8:
      return Scalar::kUInt8;
    case Type::kInt32:
      return Scalar::kInt32;
    case Type::kInt64:
      return Scalar::kInt64;
    case Type::kBool:
      return Scalar::kBool;
    case Type::kInt16:
      return Scalar::kInt16;
    case Type::kUint16:
      return Scalar::kUInt16;
    case Type::kUint32:
      return Scalar::kUInt32;
    case Type::kUint64:
      return Scalar::kUInt64;
    case Type::kFloat64:
      return Scalar::kFloat64;
    case Type::kFloat16:
      return Scalar::kFloat16;
    case Type::kBfloat16:
      break;
  }
  fail(halftone::ErrorKind::kUnsupported,
       "samples: expected a type of NumPy, found " + std::string(to_string(type)));
}

/// A tensor as bytes that it keeps alive.
SharedBytes share(Tensor tensor) {
  const auto owner = std::make_shared<const Tensor>(std::move(tensor));
  return {owner, owner->bytes(), 0};
}

}  // namespace

Data::Data(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Data Data::open(const std::string& path, const DataOptions& options) {
  return open(std::vector{path}, options);
}

Data Data::open(const std::vector<std::string>& paths, const DataOptions& options) {
  return at_border([&] { return Internals::data(data::open_dataset(paths, options), nullptr); });
}

Data Data::from(std::vector<Tensor> inputs, std::vector<std::int64_t> labels,
                const DataOptions& options) {
  return at_border([&] {
    std::vector<data::SampleArray> arrays;
    for (Tensor& input : inputs) {
      data::SampleArray array{{}, scalar_of(input.type()), input.shape(), {}};
      array.bytes = share(std::move(input));
      arrays.push_back(std::move(array));
    }
    return Internals::data(
        data::dataset_from_arrays("samples", std::move(arrays), std::move(labels), options),
        nullptr);
  });
}

Data Data::from(std::size_t num_samples, std::vector<SampleFunction> inputs,
                std::vector<std::int64_t> labels, const DataOptions& options) {
  return at_border([&] {
    const auto raised = std::make_shared<CallerException>();
    std::vector<data::SampleReader> functions;
    for (SampleFunction& input : inputs) {
      data::SampleReader function{std::move(input.input), std::move(input.shape),
                                  scalar_of(input.type), nullptr};
      if (input.read) {
        function.read = [raised, read = std::move(input.read)](std::size_t first, std::size_t count,
                                                               void* elements) {
          raised->run([&] { read(first, count, elements); });
        };
      }
      functions.push_back(std::move(function));
    }
    return Internals::data(
        data::dataset_from_functions("samples", num_samples, std::move(functions),
                                     std::move(labels), options),
        raised);
  });
}

Data Data::joined(const std::vector<Data>& pieces, std::optional<std::size_t> limit) {
  return at_border([&] {
    std::vector<data::Dataset> datasets;
    std::shared_ptr<CallerException> raised;
    for (const Data& piece : pieces) {
      datasets.push_back(piece.state_->dataset);
      const std::shared_ptr<CallerException>& own = piece.state_->raised;
      if (own != nullptr && raised != nullptr && own != raised) {
        fail(halftone::ErrorKind::kUsage,
             "samples: expected functions in at most one of the data sets that are joined");
      }
      if (own != nullptr) raised = own;
    }
    return Internals::data(data::Dataset::joined("samples", datasets, limit), raised);
  });
}

std::size_t Data::size() const { return state_->dataset.size(); }

bool Data::has_labels() const { return state_->dataset.has_labels(); }

}  // namespace halftone::v0
