// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

#include "halftone/report/json.h"
#include "halftone/report/report.h"
#include "halftone/report/table.h"

namespace halftone::report {
namespace {

std::string shape_text(const std::vector<std::size_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

double bits_of(std::size_t bytes, std::size_t elements) {
  return 8 * static_cast<double>(bytes) / static_cast<double>(elements);
}

/// The weights that a token is multiplied by or looks up.
std::size_t active_parameters(const ContainerInspection& inspection) {
  return inspection.parameters - std::min(inspection.parameters, inspection.model->idle_parameters);
}

std::string model_text(const ContainerInspection& inspection) {
  const LanguageModelSummary& model = *inspection.model;
  std::string text =
      fmt::format("{} blocks of width {}, {} heads", model.blocks, model.width, model.heads);
  if (model.kv_heads != model.heads) text += fmt::format(" on {} of keys", model.kv_heads);
  text += fmt::format(", feed-forward width {}", model.inner);
  if (model.experts != 0) {
    text += fmt::format(", {} of {} experts: {} weights for a token", model.active_experts,
                        model.experts, active_parameters(inspection));
  }
  return text + fmt::format(
                    "\n{} tokens in the vocabulary, context {}; a cache of float16 takes {} "
                    "per token, {} for the context\n",
                    model.vocabulary, model.context, format_bytes(model.cache_bytes),
                    format_bytes(model.context * model.cache_bytes));
}

Json model_json(const ContainerInspection& inspection) {
  const LanguageModelSummary& model = *inspection.model;
  return {{"blocks", model.blocks},
          {"width", model.width},
          {"heads", model.heads},
          {"kv_heads", model.kv_heads},
          {"inner", model.inner},
          {"experts", model.experts},
          {"active_experts", model.active_experts},
          {"active_parameters", active_parameters(inspection)},
          {"vocabulary", model.vocabulary},
          {"context", model.context},
          {"cache_bytes_per_token", model.cache_bytes}};
}

std::string unread_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 5;
  const std::size_t shown = std::min(names.size(), kMost);
  std::string text = fmt::format(
      "not read: {}",
      fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < names.size()) text += fmt::format(" and {} more tensors", names.size() - shown);
  return text + "\n";
}

}  // namespace

std::string to_text(const ContainerInspection& inspection) {
  std::string text =
      fmt::format("{} file, {}", inspection.format, format_bytes(inspection.file_bytes));
  if (!inspection.architecture.empty()) text += ", " + inspection.architecture;
  if (!inspection.name.empty()) text += ": " + inspection.name;
  text += fmt::format("\n{} weights, {} bits each with scales\n", inspection.parameters,
                      format_number(inspection.bits_per_weight, 3));
  if (inspection.model) text += model_text(inspection);
  if (!inspection.why_not_run.empty()) text += "not run: " + inspection.why_not_run + "\n";
  if (!inspection.unread_tensors.empty()) text += unread_text(inspection.unread_tensors);
  text += "\n";
  Table keys({{"key", Table::Align::kLeft}, {"value", Table::Align::kLeft}});
  for (const auto& [key, value] : inspection.keys) {
    const std::string line = value.substr(0, value.find('\n'));
    keys.add_row({key, line.size() <= 60 ? line : line.substr(0, 57) + "..."});
  }
  Table tensors({{"tensor", Table::Align::kLeft},
                 {"type", Table::Align::kLeft},
                 {"shape", Table::Align::kLeft},
                 {"bytes"}});
  for (const StoredTensor& tensor : inspection.tensors) {
    tensors.add_row(
        {tensor.name, tensor.type, shape_text(tensor.shape), format_bytes(tensor.bytes)});
  }
  Table types({{"type", Table::Align::kLeft}, {"tensors"}, {"weights"}, {"bytes"}, {"bits"}});
  for (const TensorTypeUse& use : inspection.types) {
    types.add_row({use.type, std::to_string(use.tensors), std::to_string(use.elements),
                   format_bytes(use.bytes), format_number(bits_of(use.bytes, use.elements), 3)});
  }
  if (!inspection.keys.empty()) text += keys.to_text() + "\n";
  return text + tensors.to_text() + "\n" + types.to_text();
}

std::string to_text(const StoredTensor& tensor) {
  return fmt::format("{}: {}{}\n", tensor.name, tensor.type, shape_text(tensor.shape));
}

std::string to_json(const StoredTensor& tensor) {
  return dump({{"name", tensor.name},
               {"type", tensor.type},
               {"shape", tensor.shape},
               {"bytes", tensor.bytes}});
}

std::string to_json(const ContainerInspection& inspection) {
  Json types = Json::array();
  for (const TensorTypeUse& use : inspection.types) {
    types.push_back({{"type", use.type},
                     {"tensors", use.tensors},
                     {"parameters", use.elements},
                     {"bytes", use.bytes}});
  }
  Json tensors = Json::array();
  for (const StoredTensor& tensor : inspection.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"type", tensor.type},
                       {"shape", tensor.shape},
                       {"bytes", tensor.bytes}});
  }
  // Keys are there once, and looking for one takes time in the number of them.
  Json keys = Json::object();
  auto& members = keys.get_ref<Json::object_t&>();
  for (const auto& [key, value] : inspection.keys) members.emplace_back(key, value);
  Json model = nullptr;
  if (inspection.model) model = model_json(inspection);
  return dump({{"format", inspection.format},
               {"architecture", inspection.architecture},
               {"name", inspection.name},
               {"parameters", inspection.parameters},
               {"bits_per_weight", inspection.bits_per_weight},
               {"bytes", inspection.file_bytes},
               {"types", types},
               {"keys", keys},
               {"tensors", tensors},
               {"model", model},
               {"why_not_run", inspection.why_not_run},
               {"unread_tensors", inspection.unread_tensors}});
}

}  // namespace halftone::report
