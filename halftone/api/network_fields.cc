// SPDX-License-Identifier: Apache-2.0
// The fields of options for networks that are measured.
#include <utility>

#include "halftone/api/option_fields.h"

namespace halftone {
namespace {

using Range = FieldRange;

}  // namespace

std::vector<std::string> default_choices() { return {"1", "2", "3", "4", "5", "6", "8"}; }

Field choices_field(std::vector<std::string>& choices) {
  std::string usual;
  for (const std::string& each : default_choices()) usual += (usual.empty() ? "" : ",") + each;
  return Field{"choices", &choices,
               "What layers may get, with commas between: WEIGHTS[/INPUTS], each [SYSTEM:]BITS, as "
               "2, 4/8, 3/none or symmetric:8; or float; of a language model types, as Q4_K or 2x6"}
      .usually(usual + "; types of GGUF for a GGUF file, Halftone's own for others");
}

Fields choice_fields(std::vector<std::string>& choices, std::string& loss) {
  return {
      choices_field(choices),
      Field::word("loss", &loss,
                  "Loss to measure: kl (divergence of the probabilities), error (of the outputs, "
                  "squared and relative) or labels (cross entropy)",
                  {"kl", "error", "labels"})
          .usually("kl of classifiers, else error"),
  };
}

Field tries_field(std::size_t& tries) {
  return {"tries", &tries, "Networks to quantize, to meet a budget", Range::between(1, 100)};
}

Fields firmware_fields(std::string& core, std::optional<double>& instruction_pj) {
  return {
      {"core", &core,
       "Processor of the C program whose flash, RAM, instructions or energy the budget limits, as "
       "for export"},
      {"instruction_pj", &instruction_pj,
       "Picojoules of an instruction on it, for a limit on the energy", Range::above(0)},
  };
}

Fields fields_of(v0::DataOptions& o) {
  return {
      Field::word("split", &o.split, "Which part of a folder with IDX files", {"train", "test"}),
      {"limit", &o.limit, "Use only so many samples, from the front", Range::from(1)},
      Field{"scale", &o.scale, "Factor on uint8 pixels", Range::above(0)}.usually("1/255"),
  };
}

Field batch_field(std::size_t& batch) {
  return {"batch", &batch, "Samples per run", Range::between(1, 65536)};
}

Field memory_field(std::optional<std::uint64_t>& bytes) {
  return Field{"memory", &bytes,
               "Bytes for values of the samples between layers, in the program as 512M or 4G; less "
               "makes it slower, and changes no result"}
      .usually("a quarter of what is free");
}

Field state_field(std::filesystem::path& state) {
  return {"state", &state,
          "File that keeps what was measured and fitted, so that an interrupted run continues"};
}

Field run_batch_field(std::optional<std::size_t>& batch) {
  constexpr double kSampleLimit = 1099511627776;  // 2^40
  return Field{"batch", &batch, "Samples per run", Range::between(1, kSampleLimit)}.usually(
      "1, or that of the network");
}

Fields page_fields(std::optional<std::size_t>& samples_per_run, std::size_t& worst, bool& time,
                   bool& live) {
  Field samples = run_batch_field(samples_per_run).as("--samples-per-run");
  samples.name = "samples_per_run";
  return {
      {"time", &time, "Measure the time of every layer, as bench does"},
      {"live", &live,
       "Put the network itself on the page, to try it: as export --target wasm, at most 16 MB"},
      std::move(samples),
      {"worst", &worst, "Samples to show: those with the worst answers", Range::between(0, 1000)}};
}

Fields timing_fields(std::optional<std::size_t>& batch, double& seconds) {
  return {run_batch_field(batch),
          {"seconds", &seconds, "Measure at least so long", Range::between(0, 3600)}};
}

Fields window_fields(std::size_t& window, std::size_t& stride, std::size_t& max_windows,
                     bool& second_half) {
  return {
      Field{"window", &window, "Tokens of a window of the text", Range::from(2)}.as("--context"),
      Field{"stride", &stride, "Tokens from one window to the next", Range::from(1)}.usually(
          "a window, without overlap"),
      Field{"max_windows", &max_windows, "Use only so many windows, from the front", Range::from(1)}
          .usually("all")
          .as("--windows"),
      {"second_half", &second_half,
       "Count the tokens behind the middle of each window only, as llama.cpp does"},
  };
}

}  // namespace halftone
