// SPDX-License-Identifier: Apache-2.0
// Results of other verbs that a page shows: sensitivities, a search, a training.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace halftone::report::page {

/// What another verb has printed as JSON.
struct SideFile {
  std::string name;  ///< of the file, without folders; or what else tells it apart
  std::string json;
};
/// @throws Error as read_file()
SideFile read_side_file(const std::filesystem::path& path);

/// All that a page shows.
struct SideFiles {
  std::vector<SideFile> sensitivities{};
  std::vector<SideFile> searches{};
  std::vector<SideFile> trainings{};
};

/// A choice of codes for all layers.
struct SearchPoint {
  double bytes = 0;
  double loss = 0;
  std::optional<double> us{};  ///< time and energy, if the search knew them
  std::optional<double> pj{};
};

/// The result of a search.
struct SearchFront {
  std::string file;                     ///< its name, without folders
  std::vector<SearchPoint> front;       ///< as predicted
  std::optional<SearchPoint> chosen{};  ///< as measured
};

/// From what `quantize --budget --json` prints: "front", a list of objects with "bytes", "loss" and
/// perhaps "us" and "pj", and "chosen", one such object.
/// @throws Error kFormat if it is something else
SearchFront search_of(const SideFile& file);

/// What each choice of codes costs.
struct SensitivityTable {
  std::string file;                  ///< its name, without folders
  std::string loss;                  ///< what is measured: "kl", "error", "labels"
  std::vector<std::string> choices;  ///< names
  /// Layers that share a choice, and what they cost, by choice.
  struct Unit {
    std::string name;            ///< of its layers
    std::vector<double> losses;  ///< NaN where it has no such choice
    std::vector<double> bytes;   ///< likewise
  };
  std::vector<Unit> units;
};

/// From what `sensitivity --json` prints: "layers" with names, "units" with indices of layers, and
/// "choices", each with the "loss" and "bytes" of every unit, or null where it does not have the
/// choice. What `quantize --budget --json` prints has this as "sensitivity".
/// @throws Error kFormat if it is something else
SensitivityTable sensitivity_of(const SideFile& file);

/// What a training reported, row by row.
struct TrainingCourse {
  std::string unit;                  ///< of a row: "epoch", "step"
  std::vector<std::string> columns;  ///< "loss", "accuracy", ...
  struct Row {
    std::size_t number = 0;  ///< epochs or steps until then, from 1
    std::vector<std::optional<double>> values;
  };
  std::vector<Row> rows;
};

struct Training {
  std::string file;  ///< its name, without folders
  std::vector<TrainingCourse> courses;
};

/// From what `train --json` and `distill --json` print. Of many rows it keeps 200 at equal
/// distances, and the last.
/// @throws Error kFormat if it is something else
Training training_of(const SideFile& file);

}  // namespace halftone::report::page
