// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/adapter.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/json/json_text.h"
#include "halftone/base/paths.h"
#include "halftone/base/printable.h"
#include "halftone/formats/gguf/gguf_file.h"
#include "halftone/formats/safetensors/safetensors_file.h"
#include "halftone/lm/model/architectures.h"
#include "halftone/lm/model/config_reader.h"
#include "halftone/lm/model/new_gguf.h"

namespace halftone::lm {
namespace {

using nlohmann::json;

/// A tensor of either kind of files.
struct Factor {
  std::vector<std::size_t> shape;
  std::vector<float> values;
};

/// The factors of a file, by name, and what is known of all.
struct AdapterFile {
  Naming naming = Naming::kHf;
  std::string prefix{};               ///< of names but the head's
  std::string head{};                 ///< prefix of the head's name
  std::array<std::string, 2> ends{};  ///< of the names of a and b, behind that of the matrix
  std::map<std::string, Factor> factors{};
  std::optional<double> alpha{};
  bool divides_by_root = false;  ///< alpha by the square root of the rank
};

/// Keys of adapter_config.json with other values than these are not followed.
void refuse_others(const ConfigReader& config) {
  const auto refuse = [&](const char* key, const std::string& why) {
    config.fail_key(key, why, ErrorKind::kUnsupported);
  };
  if (config.text({"peft_type"}) != "LORA") refuse("peft_type", "expected LORA");
  const std::string bias = config.text({"bias"});
  if (!bias.empty() && bias != "none") refuse("bias", "changed biases are not read");
  for (const char* key : {"use_dora", "use_qalora", "fan_in_fan_out", "lora_bias"}) {
    if (config.flag(key, false)) refuse(key, "changes of this kind are not read");
  }
  for (const char* key : {"alpha_pattern", "rank_pattern", "modules_to_save", "layer_replication",
                          "trainable_token_indices", "target_parameters"}) {
    const json* value = config.find({key}).value;
    if (value != nullptr && !value->empty()) refuse(key, "changes of this kind are not read");
  }
}

std::string_view text_of_file(const SharedBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.bytes.data()), bytes.bytes.size()};
}

AdapterFile read_folder(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "adapter_config.json";
  const SharedBytes text = map_file(path);
  const json object = with_context(path.string(), [&] {
    check_json(text_of_file(text), {.has_unique_keys = true});
    return json::parse(text_of_file(text));
  });
  if (!object.is_object()) fail(ErrorKind::kFormat, path.string() + ": is no JSON object");
  const ConfigReader config(object, path.string());
  refuse_others(config);
  AdapterFile file{.prefix = "base_model.model.model.",
                   .head = "base_model.model.",
                   .ends = {".lora_A.weight", ".lora_B.weight"}};
  file.alpha = config.needed_number({"lora_alpha"});
  file.divides_by_root = config.flag("use_rslora", false);
  const auto tensors = formats::SafetensorsFile::open(folder / "adapter_model.safetensors");
  for (const formats::SafetensorsTensor& tensor : tensors.tensors()) {
    Factor factor{tensor.shape, std::vector<float>(tensor.num_elements())};
    formats::decode_safetensors(tensor, factor.values);
    file.factors.emplace(tensor.name, std::move(factor));
  }
  return file;
}

AdapterFile read_gguf(const std::filesystem::path& path, const Description& d) {
  const auto gguf = formats::GgufFile::open(path);
  AdapterFile file{.naming = Naming::kGguf, .ends = {".weight.lora_a", ".weight.lora_b"}};
  with_context(path.string(), [&] {
    const auto expect = [&](const char* key, std::string_view expected) {
      const auto found = gguf.text(key).value_or("");
      if (found == expected) return;
      fail(ErrorKind::kUnsupported, "key '" + std::string(key) + "': expected '" +
                                        std::string(expected) + "', found '" + printable(found) +
                                        "'");
    };
    expect("general.type", "adapter");
    expect("adapter.type", "lora");
    expect("general.architecture", d.architecture);
    const formats::GgufValue* alpha = gguf.find("adapter.lora.alpha");
    const auto* number = alpha == nullptr ? nullptr : std::get_if<double>(alpha);
    if (number == nullptr) fail(ErrorKind::kFormat, "key 'adapter.lora.alpha': expected a number");
    file.alpha = *number;
    for (const formats::GgufTensor& tensor : gguf.tensors()) {
      Factor factor{tensor.shape, std::vector<float>(tensor.num_elements())};
      numerics::decode_blocks(*tensor.type, tensor.bytes.bytes, factor.values);
      file.factors.emplace(tensor.name, std::move(factor));
    }
  });
  return file;
}

/// The names that a file may have for a matrix, without what it puts behind them.
std::vector<std::string> names_of(const AdapterFile& file, const Description& d,
                                  const WeightId& id) {
  constexpr std::string_view kEnd = ".weight";
  std::vector<std::string> names;
  for (const Place& place : places_of(d, file.naming, id)) {
    const bool is_whole = place.begin == 0 && place.outputs == shape_of(d, id)[0];
    if (!is_whole || place.has_experts || !place.name.ends_with(kEnd)) continue;
    const std::string& prefix = id.role == WeightRole::kHead ? file.head : file.prefix;
    names.push_back(prefix + place.name.substr(0, place.name.size() - kEnd.size()));
  }
  return names;
}

/// Rows in the order of the model, where the adapter's file has them as folders of Hugging Face do.
std::vector<float> reordered(const std::vector<float>& b, std::size_t rank,
                             const std::vector<std::size_t>& rows) {
  if (rows.empty()) return b;
  std::vector<float> result;
  result.reserve(b.size());
  for (const std::size_t row : rows) {
    const auto first = b.begin() + static_cast<std::ptrdiff_t>(row * rank);
    result.insert(result.end(), first, first + static_cast<std::ptrdiff_t>(rank));
  }
  return result;
}

/// The order of a matrix's rows in the model, if it differs from that of the adapter's file.
std::vector<std::size_t> rows_in_model(const AdapterFile& file, const Description& d,
                                       const WeightId& id) {
  Description of_file = d;
  const bool is_folder_order = file.naming == Naming::kHf && d.pairing == Pairing::kNeighbours;
  if (is_folder_order && architecture_of_gguf(d.architecture).hf_pairing == Pairing::kHalves) {
    of_file.pairing = Pairing::kHalves;
    return new_gguf_rows(of_file, id);
  }
  const bool is_gguf_order = file.naming == Naming::kGguf &&
                             architecture_of_gguf(d.architecture).gguf_pairing != d.pairing;
  const bool is_rotated = id.role == WeightRole::kQuery || id.role == WeightRole::kKey;
  if (is_gguf_order && is_rotated) {
    fail(ErrorKind::kUnsupported,
         "an adapter in GGUF: expected a model in GGUF, whose rows have "
         "the same order, found a folder");
  }
  return {};
}

/// @return  nothing if the file does not change the matrix
std::optional<LowRankChange> change_of(const AdapterFile& file, const Description& d,
                                       const WeightId& id, std::set<std::string>& used) {
  const std::vector<std::size_t> shape = shape_of(d, id);
  for (const std::string& name : names_of(file, d, id)) {
    const auto a = file.factors.find(name + file.ends[0]);
    const auto b = file.factors.find(name + file.ends[1]);
    if (a == file.factors.end() || b == file.factors.end()) continue;
    const std::vector<std::size_t>& shape_a = a->second.shape;
    const std::vector<std::size_t>& shape_b = b->second.shape;
    const bool fits = shape_a.size() == 2 && shape_b.size() == 2 && shape_a[0] == shape_b[1] &&
                      shape_a[0] != 0 && shape_a[1] == shape[1] && shape_b[0] == shape[0];
    if (!fits) {
      fail(ErrorKind::kFormat, "tensor '" + printable(a->first) + "': does not fit the " +
                                   to_string(id) + ", [" + std::to_string(shape[0]) + ", " +
                                   std::to_string(shape[1]) + "]");
    }
    const std::size_t rank = shape_a[0];
    const auto real_rank = static_cast<double>(rank);
    const double scale = *file.alpha / (file.divides_by_root ? std::sqrt(real_rank) : real_rank);
    LowRankChange change{rank, a->second.values,
                         reordered(b->second.values, rank, rows_in_model(file, d, id))};
    for (float& value : change.b) value = static_cast<float>(value * scale);
    used.insert({a->first, b->first});
    return change;
  }
  return std::nullopt;
}

}  // namespace

Adapter Adapter::open(const std::filesystem::path& path, const Description& description) {
  const AdapterFile file = is_folder(path) ? read_folder(path) : read_gguf(path, description);
  Adapter adapter;
  std::set<std::string> used;
  with_context(path.string(), [&] {
    Description untied = description;
    untied.ties_embeddings = false;
    for (const WeightId& id : needed_weights(untied)) {
      const bool is_matrix = id.part == Part::kWeight && !is_norm(id.role) &&
                             id.role != WeightRole::kTokenEmbedding &&
                             id.role < WeightRole::kExpertGate;
      if (!is_matrix || shape_of(description, id).size() != 2) continue;
      if (auto change = change_of(file, description, id, used)) {
        adapter.changes_.emplace(id, std::move(*change));
      }
    }
    for (const auto& [name, factor] : file.factors) {
      if (used.contains(name)) continue;
      fail(ErrorKind::kUnsupported, "tensor '" + printable(name) +
                                        "': changes no matrix of this model that adapters change");
    }
    if (adapter.changes_.empty()) fail(ErrorKind::kFormat, "expected changes, found none");
  });
  return adapter;
}

const LowRankChange* Adapter::find(const WeightId& id) const {
  const auto found = changes_.find(id);
  return found == changes_.end() ? nullptr : &found->second;
}

}  // namespace halftone::lm
