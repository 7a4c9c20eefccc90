// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/npy_dataset.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/paths.h"
#include "halftone/data/function_source.h"
#include "halftone/data/npy.h"
#include "halftone/data/zip.h"

namespace halftone::data {
namespace {

namespace fs = std::filesystem;

std::vector<std::int64_t> npy_labels(const SharedBytes& file) {
  const NpyArray array = parse_npy(file.bytes);
  const bool column = array.shape.size() == 2 && array.shape[1] == 1;
  if (array.shape.size() != 1 && !column) {
    fail(ErrorKind::kFormat, "expected shape [N] or [N, 1], found " +
                                 SampleShape{array.shape, SampleLayout::kPlain}.text());
  }
  if (array.shape[0] == 0) fail(ErrorKind::kFormat, "expected labels, found none");
  return array.integers();
}

/// The samples of one network input.
struct ArrayInput {
  std::size_t num_samples = 0;
  DatasetInput facts;
};

ArrayInput array_input(SampleArray array, double scale) {
  const SampleShape whole{array.shape, SampleLayout::kPlain};
  if (array.shape.empty() || whole.num_elements() == 0) {
    fail(ErrorKind::kFormat, "expected an array of samples [N, ...], found shape " + whole.text());
  }
  ArrayInput input;
  input.num_samples = array.shape[0];
  input.facts.is_named = !array.input.empty();
  input.facts.name = input.facts.is_named ? std::move(array.input) : "x";
  input.facts.shape = image_shape({array.shape.begin() + 1, array.shape.end()});
  input.facts.type = array.type;
  DenseSamples samples;
  samples.data = std::move(array.bytes);
  samples.type = array.type;
  samples.sample_elements = whole.num_elements() / input.num_samples;
  samples.stride_bytes = samples.sample_elements * size_bytes(array.type);
  samples.scale = scale;
  input.facts.source = make_dense_source(std::move(samples));
  return input;
}

/// The array of a .npy file: a view of the file, or a converted copy if its order differs.
ArrayInput npy_input(const SharedBytes& file, const DatasetOptions& options) {
  const NpyHeader header = parse_npy_header(file.bytes);
  const bool as_is = !header.swapped && (!header.fortran_order || header.shape.size() == 1);
  SharedBytes bytes = as_is ? SharedBytes{file.owner, file.bytes.subspan(header.data_offset)}
                            : own_bytes(parse_npy(file.bytes).data);
  return array_input({{}, header.type, header.shape, std::move(bytes)}, options.scale);
}

/// Combines inputs that have equally many samples.
Dataset combine(const std::string& name, std::vector<ArrayInput> inputs,
                std::vector<std::int64_t> labels, const DatasetOptions& options) {
  std::vector<DatasetInput> facts;
  for (ArrayInput& input : inputs) {
    if (input.num_samples != inputs.front().num_samples) {
      fail(ErrorKind::kFormat,
           name + ": expected equally many samples of every input, found " +
               std::to_string(inputs.front().num_samples) + " of '" + facts.front().name +
               "' and " + std::to_string(input.num_samples) + " of '" + input.facts.name + "'");
    }
    facts.push_back(std::move(input.facts));
  }
  const std::size_t num_samples = inputs.empty() ? 0 : inputs.front().num_samples;
  return {name, num_samples, std::move(facts), std::move(labels), options.limit};
}

/// The parts of "[NAME=]x.npy[,y.npy]".
struct Source {
  std::string name;
  std::string samples;
  std::string labels;
};

/// @param ending  of the file of samples, with its dot
Source parse_source(const std::string& text, const std::string& ending) {
  Source source{"", text, ""};
  std::error_code error;
  if (fs::exists(text, error)) return source;
  if (const std::size_t comma = text.rfind(ending + ","); comma != std::string::npos) {
    source.samples = text.substr(0, comma + ending.size());
    source.labels = text.substr(comma + ending.size() + 1);
  }
  const std::size_t equals = source.samples.find('=');
  if (equals != std::string::npos && !fs::exists(source.samples, error)) {
    source.name = source.samples.substr(0, equals);
    source.samples.erase(0, equals + 1);
  }
  return source;
}

std::vector<std::int64_t> read_labels(const std::string& name, const SharedBytes& file) {
  return with_context(name + ": labels", [&] { return npy_labels(file); });
}

/// Whether an array of an archive holds labels rather than samples.
bool holds_labels(std::string_view name, const NpyHeader& header) {
  const bool is_column = header.shape.size() == 2 && header.shape[1] == 1;
  return name == "y" && is_integer(header.type) && (header.shape.size() == 1 || is_column);
}

/// The number in "arr_3", which NumPy calls an array without a name.
std::optional<std::size_t> order_of(std::string_view name) {
  constexpr std::string_view kPrefix = "arr_";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::size_t order = 0;
  const auto [rest, error] =
      std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), order);
  if (error != std::errc() || rest != name.data() + name.size()) return std::nullopt;
  return order;
}

/// Puts arrays without names in order; all others have names.
void sort_inputs(std::vector<ArrayInput>& inputs) {
  const auto order = [](const ArrayInput& input) { return order_of(input.facts.name); };
  const bool in_order = std::ranges::all_of(
      inputs, [&](const ArrayInput& input) { return order(input).has_value(); });
  if (in_order) std::ranges::sort(inputs, {}, order);
  for (ArrayInput& input : inputs) input.facts.is_named = !in_order;
}

}  // namespace

void check_names(const std::string& name, std::size_t num_named, std::size_t num_inputs) {
  if (num_named == 0 || num_named == num_inputs) return;
  fail(ErrorKind::kUsage, name + ": expected a name for every input or for none, found " +
                              std::to_string(num_named) + " names");
}

Dataset dataset_from_npy(const std::string& name, const SharedBytes& x,
                         const std::optional<SharedBytes>& y, const DatasetOptions& options) {
  std::vector<ArrayInput> inputs;
  inputs.push_back(with_context(name, [&] { return npy_input(x, options); }));
  std::vector<std::int64_t> labels;
  if (y) labels = read_labels(name, *y);
  return combine(name, std::move(inputs), std::move(labels), options);
}

Dataset dataset_from_npz(const std::string& name, const SharedBytes& file,
                         const std::optional<SharedBytes>& y, const DatasetOptions& options) {
  std::vector<std::int64_t> labels;
  if (y) labels = read_labels(name, *y);
  std::vector<ArrayInput> inputs;
  for (const ZipEntry& entry : with_context(name, [&] { return read_zip(file); })) {
    const std::string array = fs::path(entry.name).replace_extension().string();
    with_context(name + ": array '" + array + "'", [&] {
      if (!y && holds_labels(array, parse_npy_header(entry.bytes.bytes))) {
        labels = npy_labels(entry.bytes);
        return;
      }
      inputs.push_back(npy_input(entry.bytes, options));
      inputs.back().facts.name = array;
    });
  }
  sort_inputs(inputs);
  return combine(name, std::move(inputs), std::move(labels), options);
}

Dataset dataset_from_arrays(const std::string& name, std::vector<SampleArray> arrays,
                            std::vector<std::int64_t> labels, const DatasetOptions& options) {
  check_options(options);
  if (arrays.empty()) fail(ErrorKind::kUsage, name + ": expected at least one array, found none");
  std::vector<ArrayInput> inputs;
  std::size_t num_named = 0;
  for (SampleArray& array : arrays) {
    inputs.push_back(
        with_context(name, [&] { return array_input(std::move(array), options.scale); }));
    if (inputs.back().facts.is_named) ++num_named;
  }
  check_names(name, num_named, inputs.size());
  return combine(name, std::move(inputs), std::move(labels), options);
}

namespace {

/// One file for each network input.
Dataset open_inputs(std::span<const std::string> paths, const DatasetOptions& options) {
  std::vector<ArrayInput> inputs;
  std::vector<std::int64_t> labels;
  std::string name;
  std::size_t num_named = 0;
  for (const std::string& path : paths) {
    const Source source = parse_source(path, ".npy");
    const SharedBytes file = map_file(source.samples);
    inputs.push_back(with_context(path, [&] { return npy_input(file, options); }));
    if (!source.name.empty()) {
      ++num_named;
      inputs.back().facts.name = source.name;
      inputs.back().facts.is_named = true;
    }
    if (!source.labels.empty()) {
      if (!labels.empty())
        fail(ErrorKind::kUsage, path + ": expected labels once, found them twice");
      labels = read_labels(path, map_file(source.labels));
    }
    name += (name.empty() ? "" : " ") + path;
  }
  check_names(name, num_named, paths.size());
  return combine(name, std::move(inputs), std::move(labels), options);
}

/// The first files of all names, the second ones, and so on; files without names are one list.
std::vector<std::vector<std::string>> rounds_of(std::span<const std::string> paths) {
  std::vector<std::vector<std::string>> rounds;
  std::map<std::string, std::size_t> found;
  for (const std::string& path : paths) {
    const std::string name = parse_source(path, ".npy").name;
    const std::size_t round = name.empty() ? 0 : found[name]++;
    if (round == rounds.size()) rounds.emplace_back();
    rounds[round].push_back(path);
  }
  return rounds;
}

std::string listed(std::span<const std::string> paths) {
  std::string text;
  for (const std::string& path : paths) text += (text.empty() ? "" : " ") + path;
  return text;
}

std::vector<std::string> files_of(const fs::path& folder) {
  std::vector<std::string> files;
  for (const fs::path& file : files_in(folder)) {
    if (file.extension() == ".npy" || file.extension() == ".npz") files.push_back(file.string());
  }
  return files;
}

/// Gives each piece its part of some labels.
/// @throws Error kFormat unless there is one for each sample
void add_labels(const std::string& name, std::vector<Dataset>& pieces,
                const std::vector<std::int64_t>& labels) {
  std::size_t count = 0;
  for (const Dataset& piece : pieces) count += piece.size();
  if (labels.size() != count) {
    fail(ErrorKind::kFormat, name + ": expected as many labels as samples (" +
                                 std::to_string(count) + "), found " +
                                 std::to_string(labels.size()));
  }
  auto next = labels.begin();
  for (Dataset& piece : pieces) {
    const auto end = next + static_cast<std::ptrdiff_t>(piece.size());
    piece = Dataset(piece.name(), piece.size(), {piece.inputs().begin(), piece.inputs().end()},
                    {next, end}, std::nullopt);
    next = end;
  }
}

DatasetOptions without_limit(DatasetOptions options) {
  options.limit.reset();
  return options;
}

}  // namespace

Dataset open_npy(std::span<const std::string> paths, const DatasetOptions& options) {
  const std::vector<std::vector<std::string>> rounds = rounds_of(paths);
  if (rounds.size() <= 1) return open_inputs(paths, options);
  std::vector<Dataset> pieces;
  for (const std::vector<std::string>& round : rounds) {
    pieces.push_back(open_inputs(round, without_limit(options)));
  }
  return Dataset::joined(listed(paths), pieces, options.limit);
}

Dataset open_archives(std::span<const std::string> paths, const DatasetOptions& options) {
  std::vector<Dataset> pieces;
  for (const std::string& path : paths) pieces.push_back(open_npz(path, without_limit(options)));
  return Dataset::joined(listed(paths), pieces, options.limit);
}

std::optional<Dataset> open_npy_folder(const std::string& path, const DatasetOptions& options) {
  const std::size_t comma = path.rfind(',');
  std::error_code error;
  const bool has_labels = !fs::is_directory(path, error) && comma != std::string::npos;
  const std::string folder = has_labels ? path.substr(0, comma) : path;
  if (!fs::is_directory(folder, error)) return std::nullopt;
  std::vector<Dataset> pieces;
  for (const std::string& file : files_of(folder)) {
    const bool is_archive = fs::path(file).extension() == ".npz";
    pieces.push_back(is_archive ? open_npz(file, without_limit(options))
                                : open_inputs({&file, 1}, without_limit(options)));
  }
  if (pieces.empty()) return std::nullopt;
  if (has_labels) add_labels(path, pieces, read_labels(path, map_file(path.substr(comma + 1))));
  return Dataset::joined(path, pieces, options.limit);
}

Dataset open_npz(const std::string& path, const DatasetOptions& options) {
  const Source source = parse_source(path, ".npz");
  std::optional<SharedBytes> labels;
  if (!source.labels.empty()) labels = map_file(source.labels);
  return dataset_from_npz(path, map_file(source.samples), labels, options);
}

}  // namespace halftone::data
