// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/run/checkpoint.h"

#include <ATen/ATen.h>
#include <torch/serialize/archive.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "halftone/base/byte_reader.h"
#include "halftone/base/error.h"
#include "halftone/base/hash.h"

namespace halftone::train {
namespace {

constexpr std::string_view kCheckpointMagic = "halftone run 1\r\n";
constexpr std::int64_t kNumbersPerEpoch = 5;

using Texts = c10::List<std::string>;
using Tensors = c10::Dict<std::string, at::Tensor>;

/// float64 [epochs, 5]; NaN represents a missing validation accuracy.
at::Tensor to_tensor(const std::vector<EpochResult>& epochs) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> numbers;
  for (const EpochResult& each : epochs) {
    numbers.insert(numbers.end(),
                   {each.loss, each.agreement, each.validation_accuracy.value_or(kNone), each.rate,
                    each.seconds});
  }
  return at::tensor(numbers, at::TensorOptions(at::kDouble)).reshape({-1, kNumbersPerEpoch});
}

std::vector<EpochResult> to_epochs(const at::Tensor& tensor) {
  const at::Tensor rows = tensor.to(at::kDouble).reshape({-1, kNumbersPerEpoch}).contiguous();
  std::vector<EpochResult> epochs;
  for (std::int64_t e = 0; e < rows.size(0); ++e) {
    const double* numbers = rows.data_ptr<double>() + e * kNumbersPerEpoch;
    EpochResult epoch{numbers[0], numbers[1], {}, numbers[3], numbers[4]};
    if (numbers[2] == numbers[2]) epoch.validation_accuracy = numbers[2];
    epochs.push_back(epoch);
  }
  return epochs;
}

std::string to_archive(const Checkpoint& checkpoint) {
  Texts names;
  Texts values;
  for (const Setting& setting : checkpoint.settings) {
    names.push_back(setting.name);
    values.push_back(setting.value);
  }
  Tensors tensors;
  for (const NamedTensor& each : checkpoint.tensors) {
    tensors.insert(each.name, each.tensor.detach().contiguous());
  }
  torch::serialize::OutputArchive archive;
  archive.write("names", c10::IValue(names));
  archive.write("values", c10::IValue(values));
  archive.write("steps", c10::IValue(static_cast<std::int64_t>(checkpoint.steps)));
  archive.write("epochs", c10::IValue(to_tensor(checkpoint.epochs)));
  archive.write("unfinished", c10::IValue(to_tensor({checkpoint.unfinished})));
  archive.write("tensors", c10::IValue(tensors));
  std::string bytes;
  archive.save_to([&bytes](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  return bytes;
}

Checkpoint from_archive(std::span<const std::byte> bytes) {
  torch::serialize::InputArchive archive;
  archive.load_from(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto read = [&archive](const char* key) {
    c10::IValue value;
    archive.read(key, value);
    return value;
  };
  Checkpoint checkpoint;
  const c10::List<c10::IValue> names = read("names").toList();
  const c10::List<c10::IValue> values = read("values").toList();
  for (std::size_t i = 0; i < std::min(names.size(), values.size()); ++i) {
    checkpoint.settings.push_back({names.get(i).toStringRef(), values.get(i).toStringRef()});
  }
  checkpoint.steps = static_cast<std::size_t>(read("steps").toInt());
  checkpoint.epochs = to_epochs(read("epochs").toTensor());
  checkpoint.unfinished = to_epochs(read("unfinished").toTensor()).at(0);
  for (const auto& entry : read("tensors").toGenericDict()) {
    checkpoint.tensors.push_back({entry.key().toStringRef(), entry.value().toTensor()});
  }
  return checkpoint;
}

void append(std::vector<std::byte>& bytes, std::string_view text) {
  const auto more = std::as_bytes(std::span(text));
  bytes.insert(bytes.end(), more.begin(), more.end());
}

void append(std::vector<std::byte>& bytes, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) {
    bytes.push_back(static_cast<std::byte>(number >> shift & 255));
  }
}

/// The archive after the header. @throws Error kFormat if its size or hash differs
std::span<const std::byte> checked_archive(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const auto magic = std::as_bytes(std::span(kCheckpointMagic));
  const std::size_t num_known = std::min(magic.size(), reader.remaining());
  if (num_known == 0 || !std::ranges::equal(reader.take(num_known), magic.first(num_known))) {
    fail(ErrorKind::kFormat, "expected a checkpoint of a run, found something else");
  }
  constexpr std::size_t kHeadBytes = kCheckpointMagic.size() + 2 * sizeof(std::uint64_t);
  if (bytes.size() < kHeadBytes) {
    fail(ErrorKind::kFormat, "truncated: expected at least " + std::to_string(kHeadBytes) +
                                 " bytes, found " + std::to_string(bytes.size()));
  }
  const auto size = reader.little_endian<std::uint64_t>();
  const auto wanted = reader.little_endian<std::uint64_t>();
  if (reader.remaining() != size) {
    fail(ErrorKind::kFormat, "truncated or extended: expected " + std::to_string(size) +
                                 " bytes after the header, found " +
                                 std::to_string(reader.remaining()));
  }
  const std::span<const std::byte> archive = reader.take(size);
  Hash hash;
  hash.add(archive);
  if (hash.value() != wanted) {
    fail(ErrorKind::kFormat, "damaged: the hash of its contents differs");
  }
  return archive;
}

}  // namespace

void check_run_settings(const RunSettings& found, const RunSettings& expected) {
  const auto differs = [](const std::string& name, const std::string& was, const std::string& is) {
    fail(ErrorKind::kUsage, "belongs to another run: " + name + " was " + was + ", is " + is);
  };
  for (const Setting& setting : expected) {
    const auto other = std::ranges::find(found, setting.name, &Setting::name);
    if (other == found.end()) differs(setting.name, "unknown", setting.value);
    if (other->value != setting.value) differs(setting.name, other->value, setting.value);
  }
}

std::vector<std::byte> to_bytes(const Checkpoint& checkpoint) {
  const std::string archive = to_archive(checkpoint);
  Hash hash;
  hash.add(archive);
  std::vector<std::byte> bytes;
  append(bytes, kCheckpointMagic);
  append(bytes, archive.size());
  append(bytes, hash.value());
  append(bytes, archive);
  return bytes;
}

Checkpoint checkpoint_from(std::span<const std::byte> bytes) {
  const std::span<const std::byte> archive = checked_archive(bytes);
  try {
    return from_archive(archive);
  } catch (const std::exception&) {
    fail(ErrorKind::kFormat, "expected the archive of a run, found a different one");
  }
}

}  // namespace halftone::train
