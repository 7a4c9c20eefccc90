// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/model_file.h"

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/gzip/gzip.h"
#include "halftone/base/printable.h"
#include "halftone/formats/gguf/block_types.h"
#include "halftone/formats/safetensors/safetensors_writer.h"
#include "halftone/lm/model/description_json.h"
#include "halftone/numerics/nested_encoding.h"
#include "halftone/numerics/system_encoding.h"
#include "halftone/numerics/vector_basis.h"

namespace halftone::lm {
namespace {

using formats::SafetensorsFile;
using formats::SafetensorsTensor;
using formats::SafetensorsType;
using nlohmann::json;
using numerics::SharedBlockEncoding;
using numerics::VectorBasis;
using numerics::VectorEncoding;

constexpr std::string_view kVersionKey = "halftone.model";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kDescriptionKey = "halftone.description";
constexpr std::string_view kEncodingsKey = "halftone.encodings";
constexpr std::string_view kBasisPrefix = "halftone.basis.";
constexpr std::string_view kTextPrefix = "halftone.text.";
constexpr std::string_view kFourthPrefix = "halftone.fourth.";
constexpr std::size_t kMaxNumbers = 16;  // of a vector basis: any bound that fits an int

[[noreturn]] void fail_tensor(const std::string& name, const std::string& message,
                              ErrorKind kind = ErrorKind::kFormat) {
  fail(kind, "tensor '" + printable(name) + "': " + message);
}

const std::string& metadata_of(const SafetensorsFile& file, std::string_view key) {
  const auto found = file.metadata().find(std::string(key));
  if (found != file.metadata().end()) return found->second;
  fail(ErrorKind::kFormat, "metadata: expected '" + std::string(key) + "', found none");
}

/// The bases of a file, by their rates.
class Bases {
 public:
  explicit Bases(const SafetensorsFile& file) : file_(file) {}

  /// Null if there is no such rate.
  std::shared_ptr<const VectorBasis> find(const std::string& rate) {
    const auto known = bases_.find(rate);
    if (known != bases_.end()) return known->second;
    const std::string name = std::string(kBasisPrefix) + rate;
    const SafetensorsTensor* tensor = file_.tensor(name);
    if (tensor == nullptr) return nullptr;
    if (tensor->type != SafetensorsType::kI8 || tensor->shape.size() != 2 ||
        tensor->shape[0] > kMaxNumbers) {
      fail_tensor(name, "expected a matrix of I8");
    }
    const auto* first = reinterpret_cast<const std::int8_t*>(tensor->bytes.bytes.data());
    auto basis = with_context(name, [&] {
      return std::make_shared<const VectorBasis>(static_cast<int>(tensor->shape[0]),
                                                 std::span(first, tensor->num_elements()));
    });
    if (basis->rate() != rate) fail_tensor(name, "has the rate " + basis->rate());
    return bases_.emplace(rate, std::move(basis)).first->second;
  }

 private:
  const SafetensorsFile& file_;
  std::map<std::string, std::shared_ptr<const VectorBasis>> bases_;
};

/// Whether a tensor belongs to others or to none.
bool is_beside(std::string_view name) {
  return name.starts_with(kBasisPrefix) || name.starts_with(kTextPrefix) ||
         name.starts_with(kFourthPrefix);
}

/// The number system of this name; null if there is none that blocks have.
const numerics::SystemEncoding* system_named(const std::string& name) {
  try {
    return numerics::system_encoding(name);
  } catch (const Error&) {
    return nullptr;
  }
}

SharedBlockEncoding encoding_named(const std::string& tensor, const json& entry, Bases& bases) {
  const auto name = entry.find("type");
  if (name == entry.end() || !name->is_string()) fail_tensor(tensor, "expected a type as a text");
  const auto type = name->get<std::string>();
  const auto* gguf = formats::gguf_type(type);
  if (gguf != nullptr && gguf->group > 0) return numerics::without_owner(*gguf);
  if (type == numerics::kNestedName) return numerics::without_owner(numerics::nested_encoding());
  const auto factor_of = [&] {
    const auto factor = entry.find("factor");
    if (factor == entry.end() || !factor->is_number()) fail_tensor(tensor, "has no factor");
    return factor->get<float>();
  };
  if (const numerics::SystemEncoding* system = system_named(type)) {
    if (!numerics::has_tensor_factor(system->scales)) return numerics::without_owner(*system);
    return with_context("tensor '" + printable(tensor) + "'",
                        [&] { return system->with_factor(factor_of()); });
  }
  const auto basis = bases.find(type);
  if (basis == nullptr) {
    fail_tensor(tensor, "unknown type '" + printable(type) + "'", ErrorKind::kUnsupported);
  }
  return with_context("tensor '" + printable(tensor) + "'",
                      [&] { return std::make_shared<const VectorEncoding>(basis, factor_of()); });
}

std::vector<std::size_t> extents_of(const std::string& tensor, const json& entry) {
  std::vector<std::size_t> shape;
  const auto found = entry.find("shape");
  const bool is_list = found != entry.end() && found->is_array();
  if (!is_list || found->size() < 2 || found->size() > 3) {
    fail_tensor(tensor, "expected a shape of two or three extents");
  }
  constexpr std::size_t kMaxExtent = std::size_t{1} << 24;  // the product of all fits 64 bits
  for (const json& extent : *found) {
    if (!extent.is_number_unsigned() || extent.get<std::size_t>() == 0 ||
        extent.get<std::size_t>() > kMaxExtent) {
      fail_tensor(tensor, "expected extents from 1 to 2^24");
    }
    shape.push_back(extent.get<std::size_t>());
  }
  return shape;
}

std::size_t rows_of(const std::vector<std::size_t>& shape) {
  return std::accumulate(shape.begin(), shape.end() - 1, std::size_t{1}, std::multiplies());
}

/// The types of tensors in blocks.
json encodings_to_json(const std::vector<ModelTensor>& tensors) {
  json encodings = json::object();
  for (const ModelTensor& tensor : tensors) {
    const auto* matrix = std::get_if<EncodedMatrix>(&tensor.elements);
    if (matrix == nullptr) continue;
    json& entry = encodings[tensor.name] = {{"shape", tensor.shape}};
    const numerics::BlockEncoding& encoding = *matrix->encoding;
    entry["type"] = encoding.basis != nullptr ? encoding.basis->rate() : std::string(encoding.name);
    if (numerics::has_tensor_factor(encoding.scales)) entry["factor"] = encoding.factor;
  }
  return encodings;
}

SharedBytes bytes_of_floats(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return own_bytes({bytes.begin(), bytes.end()});
}

bool is_nested(const numerics::BlockEncoding& encoding) {
  return encoding.name == numerics::kNestedName;
}

/// The two parts of a nested matrix.
struct NestedParts {
  std::vector<std::byte> first;
  std::vector<std::byte> fourth;

  explicit NestedParts(std::span<const std::byte> blocks) {
    const std::size_t count = blocks.size() / numerics::nested_encoding().block_bytes;
    first.resize(count * numerics::first_bits_encoding().block_bytes);
    fourth.resize(count * numerics::kFourthBitsBytes);
    numerics::split_nested(blocks, first, fourth);
  }
};

void add_nested(const ModelTensor& tensor, const EncodedMatrix& matrix,
                std::vector<formats::NewSafetensorsTensor>& to) {
  const std::size_t rows = rows_of(tensor.shape);
  const std::size_t blocks = tensor.shape.back() / matrix.encoding->block;
  to.push_back({tensor.name,
                SafetensorsType::kU8,
                {rows, blocks * numerics::first_bits_encoding().block_bytes},
                [&matrix](const ByteSink& sink) { sink(NestedParts(matrix.bytes.bytes).first); }});
  to.push_back({std::string(kFourthPrefix) + tensor.name,
                SafetensorsType::kU8,
                {rows, blocks * numerics::kFourthBitsBytes},
                [&matrix](const ByteSink& sink) { sink(NestedParts(matrix.bytes.bytes).fourth); }});
}

/// Adds what a file stores of a tensor, which lives as long.
void add_stored(const ModelTensor& tensor, std::vector<formats::NewSafetensorsTensor>& to) {
  if (const auto* values = std::get_if<std::vector<float>>(&tensor.elements)) {
    to.push_back(
        {tensor.name, SafetensorsType::kF32, tensor.shape, source_of(bytes_of_floats(*values))});
    return;
  }
  const auto& matrix = std::get<EncodedMatrix>(tensor.elements);
  if (is_nested(*matrix.encoding)) return add_nested(tensor, matrix, to);
  to.push_back({tensor.name,
                SafetensorsType::kU8,
                {rows_of(tensor.shape), matrix.encoding->bytes_of(tensor.shape.back())},
                source_of(matrix.bytes)});
}

/// The matrices of all bases that tensors have.
void add_bases(const std::vector<ModelTensor>& tensors,
               std::vector<formats::NewSafetensorsTensor>& to) {
  std::set<std::string> added;
  for (const ModelTensor& tensor : tensors) {
    const auto* matrix = std::get_if<EncodedMatrix>(&tensor.elements);
    if (matrix == nullptr || matrix->encoding->basis == nullptr) continue;
    const VectorBasis& basis = *matrix->encoding->basis;
    if (!added.insert(basis.rate()).second) continue;
    const auto bytes = std::as_bytes(basis.matrix());
    to.push_back(
        {std::string(kBasisPrefix) + basis.rate(),
         SafetensorsType::kI8,
         {static_cast<std::size_t>(basis.numbers()), static_cast<std::size_t>(basis.signs())},
         source_of(own_bytes({bytes.begin(), bytes.end()}))});
  }
}

SharedBytes unpacked_text(const SafetensorsTensor& tensor) {
  // Texts of tokenizers take 3 to 20 times the memory of their packed form; a damaged one may take
  // a thousand times.
  const std::size_t max_bytes = 64 * tensor.bytes.bytes.size() + (std::size_t{1} << 20);
  std::vector<std::byte> text = with_context("tensor '" + printable(tensor.name) + "'",
                                             [&] { return gunzip(tensor.bytes.bytes, max_bytes); });
  if (text.size() == max_bytes) {
    fail_tensor(tensor.name, "expected text of less than 64 times its packed bytes");
  }
  return own_bytes(std::move(text));
}

/// Makes codes of 4 bits of those of 3.
void join(const SharedBytes& fourth, ModelFile::Entry& entry) {
  entry.encoding = numerics::without_owner(numerics::nested_encoding());
  std::vector<std::byte> blocks(entry.encoding->bytes_of(entry.num_elements()));
  numerics::join_nested(entry.bytes.bytes, fourth.bytes, blocks);
  entry.bytes = own_bytes(std::move(blocks));
}

void check_bits(std::optional<std::size_t> bits, bool has_nested) {
  if (!bits) return;
  if (*bits != numerics::kFirstBits && *bits != numerics::kAllBits) {
    fail(ErrorKind::kUsage, "bits: expected 3 or 4, found " + std::to_string(*bits));
  }
  if (!has_nested) {
    fail(ErrorKind::kUsage,
         "bits: expected a file of two precisions, which quantize --nested 3,4 writes, found one "
         "without nested matrices");
  }
}

}  // namespace

bool ModelFile::is_model(const SafetensorsFile& file) {
  return file.metadata().contains(std::string(kVersionKey));
}

ModelFile ModelFile::parse(SafetensorsFile file, std::optional<std::size_t> bits) {
  const std::string& version = metadata_of(file, kVersionKey);
  if (version != kVersion) {
    fail(ErrorKind::kUnsupported,
         "model file: expected version " + std::string(kVersion) + ", found " + printable(version));
  }
  ModelFile model;
  model.description_ = description_from_json(metadata_of(file, kDescriptionKey));
  const json encodings = json::parse(metadata_of(file, kEncodingsKey), nullptr, false);
  if (!encodings.is_object()) fail(ErrorKind::kFormat, "encodings: expected a JSON object");
  model.file_ = std::move(file);
  Bases bases(model.file_);
  bool has_nested = false;
  for (const auto& [name, entry] : encodings.items()) {
    if (!entry.is_object()) fail_tensor(name, "expected a JSON object as encoding");
    Stored stored{encoding_named(name, entry, bases), extents_of(name, entry)};
    if (is_nested(*stored.encoding)) {
      has_nested = true;
      const SharedBytes fourth =
          model.part_of(std::string(kFourthPrefix) + name, stored, numerics::kFourthBitsBytes);
      stored.fourth = bits == numerics::kFirstBits ? SharedBytes() : fourth;
      stored.encoding = numerics::without_owner(numerics::first_bits_encoding());
    }
    (void)model.part_of(name, stored, stored.encoding->block_bytes);
    model.encodings_.emplace(name, std::move(stored));
  }
  check_bits(bits, has_nested);
  model.read_texts();
  return model;
}

SharedBytes ModelFile::part_of(const std::string& name, const Stored& stored,
                               std::size_t block_bytes) const {
  const SafetensorsTensor* tensor = file_.tensor(name);
  if (tensor == nullptr) fail_tensor(name, "is missing");
  const std::size_t blocks = stored.shape.back() / stored.encoding->block;
  const bool is_whole = stored.shape.back() % stored.encoding->block == 0;
  const std::vector<std::size_t> expected = {rows_of(stored.shape), blocks * block_bytes};
  if (tensor->type != SafetensorsType::kU8 || !is_whole || tensor->shape != expected) {
    fail_tensor(name, "its bytes do not fit its encoding");
  }
  return tensor->bytes;
}

void ModelFile::read_texts() {
  for (const SafetensorsTensor& tensor : file_.tensors()) {
    if (!tensor.name.starts_with(kTextPrefix)) continue;
    texts_.emplace(tensor.name.substr(kTextPrefix.size()), unpacked_text(tensor));
  }
}

std::vector<ModelFile::Entry> ModelFile::tensors() const {
  std::vector<Entry> entries;
  for (const SafetensorsTensor& tensor : file_.tensors()) {
    if (is_beside(tensor.name)) continue;
    Entry entry{tensor.name, tensor.shape, nullptr, tensor.type, tensor.bytes};
    const auto stored = encodings_.find(tensor.name);
    if (stored != encodings_.end()) {
      entry.encoding = stored->second.encoding;
      entry.shape = stored->second.shape;
      if (!stored->second.fourth.bytes.empty()) join(stored->second.fourth, entry);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

void ModelFile::Entry::decode(std::span<float> values) const {
  if (encoding != nullptr) return numerics::decode_blocks(*encoding, bytes.bytes, values);
  formats::decode_safetensors({name, type, shape, bytes}, values);
}

void write_model_file(const std::filesystem::path& path, const Description& description,
                      const std::vector<ModelTensor>& tensors, const TextFiles& texts) {
  std::vector<formats::NewSafetensorsTensor> stored;
  for (const ModelTensor& tensor : tensors) add_stored(tensor, stored);
  add_bases(tensors, stored);
  for (const auto& [name, bytes] : texts) {
    SharedBytes packed = own_bytes(gzip(bytes.bytes));
    stored.push_back({std::string(kTextPrefix) + name,
                      SafetensorsType::kU8,
                      {packed.bytes.size()},
                      source_of(packed)});
  }
  formats::write_safetensors(path,
                             {{std::string(kVersionKey), std::string(kVersion)},
                              {std::string(kDescriptionKey), description_to_json(description)},
                              {std::string(kEncodingsKey), encodings_to_json(tensors).dump()}},
                             stored);
}

}  // namespace halftone::lm
