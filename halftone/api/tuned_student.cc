// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/tuned_student.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/gguf/gguf_writer.h"
#include "halftone/lm/model/gguf_keys.h"

namespace halftone {
namespace {

using formats::GgufFile;
using lm::ModelFile;

std::variant<GgufFile, ModelFile> open_student(const std::filesystem::path& path) {
  if (path.extension() == ".gguf") return GgufFile::open(path);
  if (path.extension() == ".safetensors") {
    auto container = formats::SafetensorsFile::open(path);
    if (ModelFile::is_model(container)) {
      return with_context(path.string(), [&] {
        ModelFile file = ModelFile::parse(std::move(container));
        if (!file.has_fourth_bits()) return file;
        fail(ErrorKind::kUnsupported, "codes of two precisions share their scales: not tuned");
      });
    }
  }
  fail(ErrorKind::kUsage, path.string() +
                              ": expected a student that `quantize --text` wrote, found another "
                              "file");
}

/// The bytes of the tensors of a file.
std::map<std::string, std::span<const std::byte>> tensors_of(
    const std::variant<GgufFile, ModelFile>& file) {
  std::map<std::string, std::span<const std::byte>> tensors;
  const auto add = [&](const auto& all) {
    for (const auto& each : all) tensors.emplace(each.name, each.bytes.bytes);
  };
  std::visit([&](const auto& source) { add(source.tensors()); }, file);
  return tensors;
}

bool is_float32(const lm::StorageType& type) {
  const auto* blocks = std::get_if<numerics::SharedBlockEncoding>(&type);
  return blocks != nullptr
             ? (*blocks)->name == "F32"
             : std::get<formats::SafetensorsType>(type) == formats::SafetensorsType::kF32;
}

/// Constants for a tensor, and where they are in it.
struct Change {
  std::size_t first = 0;  ///< byte
  float offset = 0;       ///< which the network adds to the numbers of the file
  const ir::Constant* constant = nullptr;
};
using Changes = std::map<std::string, std::vector<Change>>;  ///< by tensor

/// The bytes of a constant in a file.
std::vector<std::byte> stored_bytes(const ir::Constant& constant, float offset) {
  if (const auto* blocks = std::get_if<ir::BlockTensor>(&constant)) {
    return {blocks->bytes.bytes.begin(), blocks->bytes.bytes.end()};
  }
  const auto values = std::get<ir::Tensor>(constant).as<float>();
  std::vector<float> written(values.begin(), values.end());
  if (offset != 0) {
    for (float& value : written) value -= offset;
  }
  const auto bytes = std::as_bytes(std::span(written));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> changed(std::span<const std::byte> bytes,
                               const std::vector<Change>& changes) {
  std::vector<std::byte> result(bytes.begin(), bytes.end());
  for (const Change& change : changes) {
    std::ranges::copy(stored_bytes(*change.constant, change.offset),
                      result.begin() + static_cast<std::ptrdiff_t>(change.first));
  }
  return result;
}

void write_gguf(const std::filesystem::path& path, const GgufFile& file, Changes& changes) {
  std::vector<formats::NewGgufTensor> tensors;
  for (const formats::GgufTensor& tensor : file.tensors()) {
    const auto source = [&](const ByteSink& sink) {
      sink(changed(tensor.bytes.bytes, changes[tensor.name]));
    };
    tensors.push_back({tensor.name, tensor.shape, tensor.type, source});
  }
  formats::write_gguf(path, formats::GgufKeys(file), tensors);
}

void write_own(const std::filesystem::path& path, const ModelFile& file, Changes& changes) {
  std::vector<lm::ModelTensor> tensors;
  for (ModelFile::Entry& entry : file.tensors()) {
    const std::vector<Change>& here = changes[entry.name];
    if (!here.empty()) entry.bytes = own_bytes(changed(entry.bytes.bytes, here));
    lm::ModelTensor tensor{entry.name, entry.shape, {}};
    if (entry.encoding == nullptr) {
      entry.decode(tensor.elements.emplace<std::vector<float>>(entry.num_elements()));
    } else {
      // The encoding has the basis.
      tensor.elements = lm::EncodedMatrix{
          here.empty() ? entry.encoding : std::get<ir::BlockTensor>(*here[0].constant).encoding,
          entry.bytes};
    }
    tensors.push_back(std::move(tensor));
  }
  lm::write_model_file(path, file.description(), tensors, file.texts());
}

}  // namespace

TunedStudent::TunedStudent(const std::filesystem::path& path)
    : file_(open_student(path)),
      model_(with_context(path.string(), [&] { return model_of(file_); })),
      places_(places_of(file_, model_)) {}

lm::ModelParts TunedStudent::model_of(const File& file) {
  if (const auto* gguf = std::get_if<GgufFile>(&file)) {
    lm::Description description = lm::describe_gguf(*gguf);
    lm::Weights weights(description, *gguf);
    return {std::move(description), std::move(weights)};
  }
  const auto& own = std::get<ModelFile>(file);
  return {own.description(), lm::Weights(own.description(), own)};
}

std::map<std::string, TunedStudent::Place> TunedStudent::places_of(const File& file,
                                                                   const lm::ModelParts& model) {
  const auto tensors = tensors_of(file);
  std::map<std::string, Place> places;
  for (const lm::WeightId& id : lm::needed_weights(model.description)) {
    const bool is_expert = id.role >= lm::WeightRole::kExpertGate;
    if (is_expert && id.expert > 0) continue;
    const lm::Weight weight =
        is_expert ? model.weights.experts(id.role, id.block, id.part) : model.weights.at(id);
    if (weight.shape.size() == 1 && !is_float32(weight.type)) continue;
    const std::span<const std::byte> all = tensors.at(weight.tensor);
    const std::span<const std::byte> part = weight.bytes.bytes;
    // Experts may be a copy that is in no tensor.
    if (std::less<>()(part.data(), all.data())) continue;
    const auto first = static_cast<std::size_t>(part.data() - all.data());
    if (first > all.size() || part.size() > all.size() - first) continue;
    const double offset = lm::has_norm_offset(id) ? model.description.norm_offset : 0;
    places[weight.name] = {weight.tensor, first, static_cast<float>(offset)};
  }
  return places;
}

train::NamedConstants TunedStudent::tuned_of(const train::SequenceParts& parts) const {
  train::NamedConstants tuned;
  bool has_matrix = false;
  for (const ir::Graph& part : parts) {
    for (std::size_t i = 0; i < part.num_values(); ++i) {
      const ir::Value& value = part.value(static_cast<ir::ValueId>(i));
      if (value.constant == nullptr || !places_.contains(value.name)) continue;
      if (!train::can_be_tuned(*value.constant)) continue;
      tuned.emplace(value.name, value.constant);
      has_matrix = has_matrix || std::holds_alternative<ir::BlockTensor>(*value.constant);
    }
  }
  if (!has_matrix) {
    fail(ErrorKind::kUnsupported,
         "student: no matrix has scales that can be tuned, as those that `quantize` makes");
  }
  return tuned;
}

void TunedStudent::write(const std::filesystem::path& path,
                         const train::NamedConstants& tuned) const {
  Changes changes;
  for (const auto& [name, constant] : tuned) {
    const Place& place = places_.at(name);
    changes[place.tensor].push_back({place.first, place.offset, constant.get()});
  }
  if (const auto* gguf = std::get_if<GgufFile>(&file_)) {
    write_gguf(path, *gguf, changes);
  } else {
    write_own(path, std::get<ModelFile>(file_), changes);
  }
}

}  // namespace halftone
