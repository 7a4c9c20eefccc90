// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/adapter.h"

#include <algorithm>
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
  std::map<std::string, double> alphas{};  ///< of layers, by the last parts of their names
  bool divides_by_root = false;            ///< alpha by the square root of the rank
};

/// Keys of adapter_config.json with other values than these are not followed.
void refuse_others(const ConfigReader& config) {
  const auto refuse = [&](const char* key, const std::string& why) {
    config.fail_key(key, why, ErrorKind::kUnsupported);
  };
  if (config.text({"peft_type"}) != "LORA") refuse("peft_type", "expected LORA");
  const std::string bias = config.text({"bias"});
  if (!bias.empty() && bias != "none") refuse("bias", "changed biases are not read");
  for (const char* key : {"use_dora", "use_qalora", "lora_bias"}) {
    if (config.flag(key, false)) refuse(key, "changes of this kind are not read");
  }
  // rank_pattern says what the shapes of tensors say.
  for (const char* key :
       {"modules_to_save", "layer_replication", "trainable_token_indices", "target_parameters"}) {
    const json* value = config.find({key}).value;
    if (value != nullptr && !value->empty()) refuse(key, "changes of this kind are not read");
  }
}

/// The alphas of alpha_pattern, whose keys are regular expressions for the last parts of names.
std::map<std::string, double> read_alphas(const ConfigReader& config) {
  constexpr const char* kKey = "alpha_pattern";
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  std::map<std::string, double> alphas;
  const json* value = config.find({kKey}).value;
  if (value == nullptr || value->empty()) return alphas;
  if (!value->is_object()) config.fail_key(kKey, "expected an object", ErrorKind::kFormat);
  for (const auto& [name, alpha] : value->items()) {
    if (!alpha.is_number()) config.fail_key(kKey, "expected numbers", ErrorKind::kFormat);
    if (name.empty() || name.find_first_not_of(kPlain) != std::string::npos) {
      config.fail_key(kKey, "expected names of layers, found '" + printable(name) + "'",
                      ErrorKind::kUnsupported);
    }
    alphas.emplace(name, alpha.get<double>());
  }
  return alphas;
}

std::string_view text_of_file(const SharedBytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.bytes.data()), bytes.bytes.size()};
}

AdapterFile read_folder(const std::filesystem::path& folder, const Description& d) {
  const std::filesystem::path path = folder / "adapter_config.json";
  const SharedBytes text = map_file(path);
  const json object = with_context(path.string(), [&] {
    check_json(text_of_file(text), {.has_unique_keys = true});
    return json::parse(text_of_file(text));
  });
  if (!object.is_object()) fail(ErrorKind::kFormat, path.string() + ": is no JSON object");
  const ConfigReader config(object, path.string());
  refuse_others(config);
  const bool is_transposed = architecture_of_gguf(d.architecture).hf_transposes;
  // Conv1D keeps its matrix as [inputs, outputs], for which peft sets the flag by itself.
  if (!is_transposed && config.flag("fan_in_fan_out", false)) {
    config.fail_key("fan_in_fan_out", "changes of this kind are not read", ErrorKind::kUnsupported);
  }
  AdapterFile file{
      .naming = is_transposed ? Naming::kHfGpt2 : Naming::kHf,
      .prefix = is_transposed ? "base_model.model.transformer." : "base_model.model.model.",
      .head = "base_model.model.",
      .ends = {".lora_A.weight", ".lora_B.weight"}};
  file.alpha = config.needed_number({"lora_alpha"});
  file.alphas = read_alphas(config);
  file.divides_by_root = config.flag("use_rslora", false);
  const auto tensors = formats::SafetensorsFile::open(folder / "adapter_model.safetensors");
  for (const formats::SafetensorsTensor& tensor : tensors.tensors()) {
    Factor factor{tensor.shape, std::vector<float>(tensor.num_elements())};
    formats::decode_safetensors(tensor, factor.values);
    file.factors.emplace(tensor.name, std::move(factor));
  }
  // Of classes of Nemotron-H that are older than those of transformers.
  constexpr const char* kOlder = "base_model.model.backbone.";
  const auto first = file.factors.lower_bound(kOlder);
  if (first != file.factors.end() && first->first.starts_with(kOlder)) file.prefix = kOlder;
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

/// A tensor that an adapter may change: its name without an end, and the part that a matrix is.
struct ChangedPlace {
  std::string name;
  std::size_t begin = 0;    ///< first output of the matrix
  std::size_t outputs = 0;  ///< of the whole tensor
};

std::vector<ChangedPlace> changed_places(const AdapterFile& file, const Description& d,
                                         const WeightId& id) {
  constexpr std::string_view kEnd = ".weight";
  std::vector<ChangedPlace> places;
  for (const TensorPlace& place : places_of(d, file.naming, id)) {
    if (place.stacked != 0 || !place.name.ends_with(kEnd)) continue;
    const std::string& prefix = id.role == WeightRole::kHead ? file.head : file.prefix;
    places.push_back({prefix + place.name.substr(0, place.name.size() - kEnd.size()), place.begin,
                      place.outputs});
  }
  return places;
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
  const bool is_folder_order = file.naming != Naming::kGguf && d.pairing == Pairing::kInterleaved;
  if (is_folder_order && architecture_of_gguf(d.architecture).hf_pairing == Pairing::kNeox) {
    of_file.pairing = Pairing::kNeox;
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

/// The factor of a change. @param layer  its name
double scale_of(const AdapterFile& file, const std::string& layer, std::size_t rank) {
  double alpha = *file.alpha;
  bool is_found = false;
  for (const auto& [end, own] : file.alphas) {
    if (!("." + layer).ends_with("." + end)) continue;
    if (is_found && own != alpha) {
      fail(ErrorKind::kUnsupported,
           "key 'alpha_pattern': expected one for '" + printable(layer) + "', found several");
    }
    alpha = own;
    is_found = true;
  }
  const auto real_rank = static_cast<double>(rank);
  return alpha / (file.divides_by_root ? std::sqrt(real_rank) : real_rank);
}

/// Of the rows of b, those of a matrix, times a factor.
std::vector<float> rows_of_matrix(const Factor& b, std::size_t begin, std::size_t count,
                                  double scale) {
  const std::size_t rank = b.shape[1];
  std::vector<float> rows;
  rows.reserve(count * rank);
  for (const float value : std::span(b.values).subspan(begin * rank, count * rank)) {
    rows.push_back(static_cast<float>(value * scale));
  }
  return rows;
}

/// What became of the tensors of an adapter.
struct UsedFactors {
  std::set<std::string> names;
  std::map<std::string, std::string> misfits;  ///< tensors that do not fit a matrix: which
};

/// @return  nothing if the file does not change the matrix
std::optional<LowRankChange> change_of(const AdapterFile& file, const Description& d,
                                       const WeightId& id, UsedFactors& used) {
  const std::vector<std::size_t> shape = shape_of(d, id);
  for (const ChangedPlace& place : changed_places(file, d, id)) {
    const auto a = file.factors.find(place.name + file.ends[0]);
    const auto b = file.factors.find(place.name + file.ends[1]);
    if (a == file.factors.end() || b == file.factors.end()) continue;
    const std::vector<std::size_t>& shape_a = a->second.shape;
    const std::vector<std::size_t>& shape_b = b->second.shape;
    const bool fits = shape_a.size() == 2 && shape_b.size() == 2 && shape_a[0] == shape_b[1] &&
                      shape_a[0] != 0 && shape_a[1] == shape[1] && shape_b[0] == place.outputs;
    if (!fits) {
      const std::string what = to_string(id) + ", of " + std::to_string(place.outputs) +
                               " outputs and " + std::to_string(shape[1]) + " inputs";
      for (const auto& factor : {a, b}) used.misfits[factor->first] = what;
      continue;
    }
    used.names.insert({a->first, b->first});
    const std::size_t rank = shape_a[0];
    const auto rows =
        rows_of_matrix(b->second, place.begin, shape[0], scale_of(file, place.name, rank));
    return LowRankChange{rank, a->second.values, reordered(rows, rank, rows_in_model(file, d, id))};
  }
  return std::nullopt;
}

/// @throws Error for a tensor that changes nothing
void check_all_are_used(const AdapterFile& file, const UsedFactors& used) {
  for (const auto& [name, factor] : file.factors) {
    if (used.names.contains(name)) continue;
    const auto misfit = used.misfits.find(name);
    if (misfit != used.misfits.end()) {
      fail(ErrorKind::kFormat,
           "tensor '" + printable(name) + "': does not fit the " + misfit->second);
    }
    fail(ErrorKind::kUnsupported,
         "tensor '" + printable(name) + "': changes no matrix of this model that adapters change");
  }
}

}  // namespace

bool is_changeable(const Description& description, const WeightId& id) {
  constexpr std::array kOthers = {WeightRole::kTokenEmbedding, WeightRole::kPositionEmbedding,
                                  WeightRole::kBlockInputTable, WeightRole::kMixerKernel,
                                  WeightRole::kChannelDecay};
  const bool is_other = std::ranges::find(kOthers, id.role) != kOthers.end();
  return id.part == Part::kWeight && !is_other && id.role < WeightRole::kExpertGate &&
         shape_of(description, id).size() == 2;
}

Adapter Adapter::open(const std::filesystem::path& path, const Description& description) {
  const AdapterFile file =
      is_folder(path) ? read_folder(path, description) : read_gguf(path, description);
  Adapter adapter;
  UsedFactors used;
  with_context(path.string(), [&] {
    Description untied = description;
    untied.ties_embeddings = false;
    for (const WeightId& id : needed_weights(untied)) {
      if (!is_changeable(description, id)) continue;
      if (auto change = change_of(file, description, id, used)) {
        adapter.changes_.emplace(id, std::move(*change));
      }
    }
    check_all_are_used(file, used);
    if (adapter.changes_.empty()) fail(ErrorKind::kFormat, "expected changes, found none");
  });
  return adapter;
}

const LowRankChange* Adapter::find(const WeightId& id) const {
  const auto found = changes_.find(id);
  return found == changes_.end() ? nullptr : &found->second;
}

}  // namespace halftone::lm
