// SPDX-License-Identifier: Apache-2.0
// Classes of the module whose contents several of its parts use.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "halftone/compress/recipe.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/tensor.h"

namespace halftone::python {

/// A name, a type of NumPy, and extents as ir::Dim.
using Port = std::tuple<std::string, std::string, std::vector<std::int64_t>>;

Port port_of(const std::string& name, const ir::ValueType& type);

/// Samples that several jobs may read.
struct Samples {
  explicit Samples(data::Dataset samples) : dataset(std::move(samples)) {}
  Samples(Samples&&) = default;
  Samples& operator=(Samples&&) = default;
  ~Samples() = default;
  // A vector of inputs claims to be copyable, and nanobind would believe it.
  Samples(const Samples&) = delete;
  Samples& operator=(const Samples&) = delete;

  data::Dataset dataset;
};

struct RecipeHolder {
  compress::Recipe recipe;
};

}  // namespace halftone::python
